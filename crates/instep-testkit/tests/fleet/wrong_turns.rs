//! Wrong usage: one clear line, the documented exit code, and nothing is started.

use std::fs;

use instep_testkit::{PostgresServer, Run, free_port, peers};

use crate::support::FleetFolder;

#[test]
fn a_configuration_that_cannot_be_used_is_one_line_with_its_place() {
    let fleet = FleetFolder::new();
    let one = "[[source]]\nname = \"a\"\nurl = \"https://a.example/\"\n";
    for (rest, part) in [
        (one.to_owned(), "line 5: two Sources have the name a; the first is in line 2"),
        ("[[source]]\nname = \"b\"\nurl = \"ftp://b.example/\"\n".to_owned(), "line 6: url:"),
        (
            "[[source]]\nname = \"b\"\nurl = \"https://b.example/\"\nevry = \"1h\"\n".to_owned(),
            "line 7: [[source]]: unknown field `evry`",
        ),
        (
            "[[source]]\nname = \"b\"\nurl = \"https://b.example/\"\ninclude = [\"[a\"]\n".to_owned(),
            "line 4: Source b: \"[a\" is not a pattern",
        ),
    ] {
        fleet.configure(&format!("{one}{rest}"));
        let run = Run::of(&mut fleet.command(&["run"]));
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains(part) && run.stderr.trim().lines().count() == 1, "{}", run.stderr);
        assert!(!fleet.path("fleet").exists(), "nothing is started");
    }
}

#[test]
fn o111_a_single_table_of_a_source_is_not_passed_over() {
    let fleet = FleetFolder::new();
    fleet.configure("[source]\nname = \"a\"\nurl = \"https://a.example/\"\n");
    let run = Run::of(&mut fleet.command(&["run"])).with_code(2);
    assert!(run.stderr.contains("write [[source]], with two brackets"), "{}", run.stderr);
    assert!(!fleet.path("fleet").exists(), "nothing is started");
}

#[test]
fn a_source_is_named_once_over_file_and_commands() {
    let fleet = FleetFolder::new();
    fleet.ends(&["add", "https://a.example/", "--name", "a"], 0);
    let twice = fleet.source(&["add", "https://b.example/", "--name", "a"]).with_code(2);
    assert!(twice.stderr.contains("There is a Source a already"), "{}", twice.stderr);
    fleet.configure("[[source]]\nname = \"a\"\nurl = \"https://a.example/\"\n");
    let run = Run::of(&mut fleet.command(&["run"])).with_code(2);
    assert!(run.stderr.contains("it was added by instep source"), "{}", run.stderr);
    for words in [["show", "b"], ["pause", "b"], ["add", "nonsense://x"]] {
        fleet.ends(&words, 2);
    }
    // A pattern that can never be used is no Source that fails later (O104), and another spelling no second copy (O103).
    fleet.ends(&["add", "https://b.example/", "--include", "[a"], 2);
    fleet.ends(&["add", "HTTPS://A.example:443"], 2);
    fs::write(fleet.path("list"), "https://c.example/\nnonsense\n").unwrap();
    let import = fleet.source(&["import", "list"]).with_code(3);
    assert!(import.stderr.contains("! list, line 2: "), "{}", import.stderr);
    assert!(import.stdout.contains("1 Source added; 1 line left out"), "{}", import.stdout);
    let named = fleet.source(&["list"]).stdout;
    assert!(named.contains("https://c.example/"), "{named}");
    fs::write(fleet.path("nothing"), "nonsense\n").unwrap();
    let import = fleet.source(&["import", "nothing"]).with_code(2);
    assert!(import.stderr.contains("nothing lists no Source: line 1: "), "{}", import.stderr);
}

#[test]
fn a_fleet_has_one_process_and_a_newer_record_is_left_alone() {
    let fleet = FleetFolder::new();
    let run = fleet.start(&[]);
    let second = Run::of(&mut fleet.command(&["run"])).with_code(7);
    assert!(second.stderr.contains("is kept by process"), "{}", second.stderr);
    drop(run);
    let record = fleet.path("fleet/.instep/fleet.sqlite");
    rusqlite::Connection::open(&record).unwrap().pragma_update(None, "user_version", 99).unwrap();
    drop(Run::of(&mut fleet.command(&["run"])).with_code(10));
    fleet.ends(&["list"], 10);
    let nowhere = FleetFolder::new();
    nowhere.ends(&["list"], 2);
}

#[test]
fn o1130_a_second_process_names_the_first_one_also_if_both_listen_at_the_same_addresses() {
    let fleet = FleetFolder::new();
    let callbacks = format!("http://127.0.0.1:{}/hooks/", free_port().unwrap());
    let run = fleet.start(&["--callback-url", &callbacks]);
    let listen = run.url.trim_start_matches("http://").trim_end_matches('/');
    for words in [["--callback-url", &callbacks], ["--listen", listen]] {
        let second = Run::of(&mut fleet.command(&[&["run"], &words[..]].concat())).with_code(7);
        assert!(second.stderr.contains("is kept by process"), "{}", second.stderr);
    }
}

#[test]
fn a_database_that_cannot_be_used_is_one_line_and_nothing_is_started() {
    let Some([psql]) = peers::find(["psql"]) else { return };
    let Some(server) = PostgresServer::start() else { return };
    let (fleet, url) = (FleetFolder::new(), server.url());
    let run = |state: &str| Run::of(&mut fleet.command(&["run", "--state", state]));
    let closed = format!("postgres://instep@127.0.0.1:{}/copies", free_port().unwrap());
    for (state, code, part) in [
        ("sqlite://x", 2, "not with \"postgres://\""),
        (&*url.replace("/copies", "/nothing"), 2, "does not exist"),
        (&*closed, 8, "Cannot reach the database"),
    ] {
        let run = run(state).with_code(code);
        assert!(run.stderr.contains(part) && run.stderr.trim().lines().count() == 1, "{}", run.stderr);
        assert!(!fleet.path("fleet").exists(), "nothing is started");
    }
    let none = fleet.source(&["list", "--state", &url]).with_code(2);
    assert!(none.stderr.contains("There is no fleet in postgres://"), "{}", none.stderr);
    // A copy that only one worker could find.
    fleet.configure("[[source]]\nname = \"a\"\nurl = \"https://a.example/\"\n");
    let alone = run(&url).with_code(2);
    assert!(alone.stderr.contains("Source a: its state is shared and its bytes are not"), "{}", alone.stderr);
    assert!(!fleet.path("fleet").exists(), "nothing is started");
    let add = ["add", "https://a.example/", "--name", "a", "--state", &url];
    fleet.ends(&add, 0);
    let twice = fleet.source(&["add", "https://b.example/", "--name", "a", "--state", &url]).with_code(2);
    assert!(twice.stderr.contains("There is a Source a already"), "{}", twice.stderr);
    let newer = Run::of(std::process::Command::new(psql).args([
        "-c",
        "UPDATE instep_fleet.version SET version = 99",
        &url,
    ]));
    drop(newer.with_code(0));
    fleet.configure("");
    assert!(run(&url).with_code(10).stderr.contains("have version 99"));
    fleet.ends(&["list", "--state", &url], 10);
}

#[test]
fn o304_a_fleet_that_cannot_listen_or_use_its_certificates_leaves_nothing_behind() {
    let fleet = FleetFolder::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let outside = format!("0.0.0.0:{}", free_port().unwrap());
    for (words, part) in [
        (&["--listen", &address][..], "Cannot listen on"),
        (&["--listen", &outside, "--operator-header", "X-User"], "trusts every client"),
        (&["--ca-file", "none.pem"], "Cannot use the certificates in none.pem"),
    ] {
        let run = Run::of(&mut fleet.command(&[&["run"], words].concat())).with_code(2);
        assert!(run.stderr.contains(part), "{}", run.stderr);
        assert!(!fleet.path("fleet").exists(), "{words:?}");
    }
}

#[test]
fn o309_a_schedule_that_contradicts_itself_is_refused() {
    let fleet = FleetFolder::new();
    for words in
        [&["--shortest", "2h", "--longest", "1h"][..], &["--quarantine-after", "0"], &["--alert-after", "0"]]
    {
        let run = Run::of(&mut fleet.command(&[&["run"], words].concat())).with_code(2);
        assert!(run.stderr.contains(words[0]), "{}", run.stderr);
    }
}

#[test]
fn o314_a_list_in_another_encoding_or_from_a_pipe_is_named_as_what_it_is() {
    let fleet = FleetFolder::new();
    fs::write(fleet.path("list.csv"), [0xff, 0xfe, b'u', 0, b'r', 0, b'l', 0]).unwrap();
    let import = fleet.source(&["import", "list.csv"]).with_code(2);
    assert!(import.stderr.contains("list.csv is in UTF-16; save it as UTF-8"), "{}", import.stderr);
    let import = fleet.source(&["import", "-"]).with_code(2);
    assert!(import.stderr.contains("standard input lists no Source"), "{}", import.stderr);
}
