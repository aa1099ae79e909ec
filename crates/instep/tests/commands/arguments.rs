//! Wrong options, addresses and places: each is refused, and the message says what to write.

use std::fs;

use instep_testkit::{FakeSource, ReceivedRequest};

use crate::support::{BASE, folder, instep, output_of, run};

#[test]
fn p4_a_url_is_refused_as_a_folder() {
    let folder = folder(&[("data/a.txt", "a")]);
    let refused = run(folder.path(), &["publish", "data", "--base-url", BASE, "--state", "s3://bucket/x"], 2);
    assert!(refused.contains("is not a folder"), "{refused}");
    run(folder.path(), &["sync", "http://127.0.0.1:1/", "s3://bucket/copy"], 2);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert_eq!(names, ["data"]);
}

#[test]
fn o422_a_variable_of_the_asynchronous_library_ends_no_command() {
    let folder = folder(&[]);
    for value in ["0", "x", ""] {
        let mut command = instep(folder.path(), &["sync", "http://127.0.0.1:1/", "copy", "--retries", "0"]);
        command.env("TOKIO_WORKER_THREADS", value);
        let said = output_of(command, 4);
        assert!(said.contains("Cannot reach http://127.0.0.1:1/"), "{value}: {said}");
    }
}

#[test]
fn o320_a_number_that_cannot_be_0_says_what_to_write() {
    let folder = folder(&[("data/a.txt", "a")]);
    for arguments in [
        &["publish", "data", "--base-url", BASE, "--rotate-entries", "0"][..],
        &["simulate", "--list-entries", "0"],
        &["sync", "http://127.0.0.1:1/", "copy", "--limit", "0"],
    ] {
        let said = run(folder.path(), arguments, 2);
        assert!(said.contains("\"0\" cannot be used; write a whole number from 1"), "{said}");
    }
}

#[test]
fn o333_an_empty_secret_and_a_missing_file_of_certificates_are_refused_before_the_run() {
    let folder = folder(&[("empty", "\n")]);
    let sync = ["sync", "http://127.0.0.1:1/", "copy", "--retries", "0"];
    for (option, file, part) in [
        ("--bearer-file", "empty", "empty is empty; write the secret into it"),
        ("--ca-file", "none.pem", "Cannot use the certificates in none.pem"),
        ("--proxy", "proxy", "The proxy cannot be used: its URL must begin with http://"),
    ] {
        let said = run(folder.path(), &[&sync[..], &[option, file]].concat(), 2);
        assert!(said.contains(part), "{said}");
    }
    // An empty list of logins is not a fault.
    run(folder.path(), &[&sync[..], &["--netrc-file", "empty"]].concat(), 4);
}

#[test]
fn p20_a_wrong_number_address_or_place_says_what_to_write() {
    let folder = folder(&[("data/a.txt", "one")]);
    for (arguments, said) in [
        (&["sync", "http://a.example/", "--transfers", "0"][..], "write a whole number from 1"),
        (&["sync", "http://a.example/", "--retries", "x"], "\"x\" is not a whole number"),
        (&["validate", "data", "--samples", "x"], "is not a whole number"),
        (&["serve", "data", "--listen", "8077"], "8077 is a port without a host; write 127.0.0.1:8077"),
        (&["run", "--listen", "8077"], "8077 is a port without a host"),
        (&["status", "--listen", "here"], "\"here\" has no port; write HOST:PORT"),
        (&["serve", "data", "--listen", "127.0.0.1:99999"], "has no port from 0 to 65535"),
        (&["sync", "http://a.example/", "s3://bucket/x"], "sync --store"),
        (&["audit", "copy", "http://a.example/"], "is a URL (http); name a folder of this machine"),
        (&["sync", "http://a.example/", "--as-of", "yesterday"], "\"yesterday\" is not a time; write 2026"),
        (&["validate", "a.example"], "a URL begins with https://"),
    ] {
        let wrong = run(folder.path(), arguments, 2);
        assert!(wrong.contains(said), "{arguments:?}: {wrong}");
        let is_once = |quoted: &str| wrong.matches(quoted).count() <= 1;
        assert!(is_once("\"yesterday\""), "{wrong}");
    }
}

#[test]
fn o651_a_negative_number_is_a_wrong_value_of_its_option() {
    let folder = folder(&[]);
    for arguments in [
        &["publish", "data", "--base-url", BASE, "--closed-lists", "-1"][..],
        &["sync", "http://a.example/", "copy", "--transfers", "-1"],
        &["sync", "http://a.example/", "copy", "--bwlimit", "-1"],
        &["run", "--runs", "-1"],
    ] {
        let wrong = run(folder.path(), arguments, 2);
        assert!(wrong.contains("invalid value '-1' for '--"), "{wrong}");
        assert!(!wrong.contains("-- -1"), "{wrong}");
    }
}

#[test]
fn o661_a_source_that_is_named_twice_is_acted_upon_once() {
    let folder = folder(&[("list", "https://a.example/\nhttps://b.example/\n")]);
    run(folder.path(), &["source", "import", "list"], 0);
    let done = run(folder.path(), &["source", "remove", "a.example", "b.example", "a.example"], 0);
    assert_eq!(done, "a.example: removed; its copy stays\nb.example: removed; its copy stays\n");
}

#[test]
fn o664_an_empty_name_of_the_folder_of_a_fleet_makes_no_fleet_of_the_working_folder() {
    let configured = folder(&[("instep.toml", "[run]\nfleet = ''\n")]);
    for arguments in [&["source", "list", "--fleet", ""][..], &["run", "--fleet", ""], &["run"]] {
        let said = run(configured.path(), arguments, 2);
        assert!(said.contains("it is empty; name a folder or file"), "{said}");
    }
    let bare = folder(&[]);
    let mut command = instep(bare.path(), &["source", "list"]);
    command.env("INSTEP_FLEET", "");
    assert!(output_of(command, 2).contains("INSTEP_FLEET"));
    assert!([configured, bare].iter().all(|folder| !folder.path().join(".instep").exists()));
}

#[test]
fn o1043_an_empty_name_of_a_folder_is_refused_before_anything_is_done() {
    let folder = folder(&[("data/a.txt", "a")]);
    for arguments in [
        &["sync", "http://127.0.0.1:1/", ""][..],
        &["audit", "http://127.0.0.1:1/", ""],
        &["export", "", "--folder", "files"],
        &["publish", "data", "--base-url", BASE, "--state", ""],
        &["publish", "data", "--base-url", BASE, "--out", ""],
        &["serve", "", "--listen", "127.0.0.1:0"],
    ] {
        let said = run(folder.path(), arguments, 2);
        assert!(said.contains("it is empty; name a folder or file"), "{said}");
    }
}

#[test]
fn o1044_a_speed_that_is_not_above_0_is_refused() {
    let folder = folder(&[]);
    for speed in ["0", "-1", "nan", "inf", "fast"] {
        let speed = format!("--speed={speed}");
        let said = run(folder.path(), &["simulate", "--resources", "1", "--duration", "100ms", &speed], 2);
        assert!(said.contains("write a number above 0"), "{said}");
    }
}

#[test]
fn o1049_an_administrator_whose_address_no_harvester_reads_is_refused() {
    let folder = folder(&[("data/a.txt", "a")]);
    for email in ["", "ada", "ada@host", "ada lovelace@example.org", "@example.org"] {
        let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--oai", "--oai-email", email];
        let said = run(folder.path(), &serve, 2);
        assert!(said.contains("is not an address; write ops@example.org"), "{said}");
    }
}

#[test]
fn p25_a_configuration_that_cannot_be_read_is_named_without_the_usage_of_commands() {
    let folder = folder(&[("data/a.txt", "one"), ("broken.toml", "a = [\n")]);
    for (file, said) in
        [("none.toml", "Cannot read none.toml"), ("broken.toml", "broken.toml line 1 is not TOML")]
    {
        let wrong = run(folder.path(), &["status", "--config", file], 2);
        assert!(wrong.contains(said) && !wrong.contains("Usage"), "{wrong}");
    }
}

#[test]
fn c32_a_web_url_without_a_host_is_refused_in_the_same_words_wherever_a_url_is_taken() {
    const WORDS: &str = "A web URL needs a host, as in http://example.org/";
    let folder = folder(&[("data/a.txt", "a")]);
    let folder = folder.path();
    for url in ["http:///a", "http:/a", "https://", "https://:443/a"] {
        let (repository, map) = (format!("oai+{url}"), format!("{url}=below"));
        for arguments in [
            &["publish", "data", "--base-url", url][..],
            &["publish", "data", "--base-url", "http://x/", "--describedby", url],
            &["publish", "data", "--base-url", "http://x/", "--from", &repository],
            &["publish", "data", "--rebase", "http://x/", url],
            &["serve", "data", "--listen", "127.0.0.1:0", "--hub", url],
            &["sync", url, "copy"],
            &["sync", "http://127.0.0.1:9/", "copy", "--follow", "--callback-url", url],
            &["sync", "http://127.0.0.1:9/", "copy", "--allow-origin", url],
            &["sync", "http://127.0.0.1:9/", "copy", "--proxy", url],
            &["sync", "http://127.0.0.1:9/", "copy", "--map", &map],
            &["source", "add", url],
            &["explore", url],
        ] {
            let said = run(folder, arguments, 2);
            assert!(said.to_lowercase().contains(&WORDS.to_lowercase()), "{arguments:?}: {said}");
        }
        let line = format!("{{\"uri\":\"{url}\",\"path\":\"data/a.txt\"}}\n");
        fs::write(folder.join("manifest.jsonl"), line).unwrap();
        let publish = [
            "publish",
            "data",
            "--base-url",
            "http://x/",
            "--from",
            "manifest.jsonl",
            "--out",
            "out",
            "--state",
            "state",
        ];
        let said = run(folder, &publish, 3);
        assert!(said.contains(&format!("line 1: {url:?}: {WORDS}")), "{said}");
        let list = format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>{url}</loc></url></urlset>"
        );
        fs::write(folder.join("list.xml"), list).unwrap();
        let said = run(folder, &["validate", "list.xml"], 5);
        assert!(said.contains(&format!("GEN-14: found \"{url}\"")) && said.contains(WORDS), "{said}");
    }
}

#[test]
fn o158_an_empty_word_of_a_selection_is_an_error() {
    let folder = folder(&[]);
    for option in ["--type", "--with", "--only", "--collection", "--profile", "--prefer-type", "--set"] {
        let said = run(folder.path(), &["sync", "http://source.example/", "copy", option, ""], 2);
        assert!(said.contains(option) && said.contains("it is empty"), "{said}");
    }
}

#[test]
fn o194_a_variable_for_the_token_that_is_set_to_nothing_is_no_login() {
    let folder = folder(&[]);
    let source = FakeSource::start().with_resources([("a.txt", "a")]);
    for (token, is_sent) in [("", false), (" \n", false), ("secret", true)] {
        source.forget_requests();
        let mut command = instep(folder.path(), &["sync", &source.url(""), "copy"]);
        command.env("INSTEP_BEARER", token);
        output_of(command, 0);
        let has_login = |request: &ReceivedRequest| request.header("authorization").is_some();
        assert_eq!(source.requests().iter().any(has_login), is_sent, "{token:?}");
    }
}

#[test]
fn o196_a_simulation_may_be_slower_than_any_duration() {
    let folder = folder(&[]);
    let simulate =
        ["simulate", "--resources", "3", "--burst", "2", "--speed", "1e-300", "--duration", "100ms"];
    run(folder.path(), &[&simulate[..], &["--listen", "127.0.0.1:0"]].concat(), 0);
}
