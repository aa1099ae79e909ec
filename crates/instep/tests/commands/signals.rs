//! Signals to servers and to runs that follow a Source.

#[cfg(feature = "postgres")]
use std::net::TcpListener;
use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use instep_testkit::wait_until;
use rustix::process::Signal;

use crate::support::{BASE, Running, ServedSource, folder, get, instep, run};

#[test]
fn p2_a_hangup_reads_the_configuration_again_and_never_ends_a_server() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.pdf", "b")]);
    let configuration = folder.path().join("instep.toml");
    fs::write(&configuration, "[serve]\nno-watch = true\n").unwrap();
    let arguments = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", BASE];
    let mut server = Running::start(instep(folder.path(), &arguments));
    server.ready();
    // First nothing has changed, then the file cannot be used: the server continues both times.
    server.signal(Signal::HUP);
    let replace = |text: &str| {
        fs::write(folder.path().join("new.toml"), text).unwrap();
        fs::rename(folder.path().join("new.toml"), &configuration).unwrap();
    };
    replace("[serve]\nno-such-key = true\n");
    server.signal(Signal::HUP);
    replace("[publish]\nexclude = [\"*.pdf\"]\n[serve]\nno-watch = true\n");
    server.signal(Signal::HUP);
    let withdrawn = server
        .wait_for(|line| line["change"] == "deleted" && line["uri"].as_str().unwrap().ends_with("b.pdf"));
    assert_eq!(withdrawn["uri"], format!("{BASE}b.pdf"));
    server.ready();
    server.signal(Signal::TERM);
    assert_eq!(server.child.wait().unwrap().code(), Some(143));
}

#[test]
fn p2_a_hangup_ends_no_server_whichever_command_runs_it() {
    let folder = folder(&[("data/a.txt", "a")]);
    let serve = ["serve", "data", "--listen", "127.0.0.1:0"];
    let mut source = Running::start(instep(folder.path(), &serve));
    let url = source.ready()["url"].as_str().unwrap().to_owned();
    run(folder.path(), &["sync", &url, "copy"], 0);
    let listen = ["--listen", "127.0.0.1:0"];
    let republish = [&["republish", "copy"][..], &listen].concat();
    let simulate = [&["simulate", "--resources", "3"][..], &listen].concat();
    for arguments in [&serve[..], &republish, &simulate] {
        // A second server over the same folder needs a state of its own.
        let own: &[&str] = if arguments == serve { &["--state", "other"] } else { &[] };
        let mut server = Running::start(instep(folder.path(), &[arguments, own].concat()));
        let address = server.ready()["address"].clone();
        for _ in 0..3 {
            server.signal(Signal::HUP);
            assert!(get(address.as_str().unwrap(), "/readyz").contains(" 200 "), "{arguments:?}");
        }
        assert!(server.child.try_wait().unwrap().is_none(), "{arguments:?}");
        server.signal(Signal::TERM);
        assert_eq!(server.child.wait().unwrap().code(), Some(143), "{arguments:?}");
    }
    let mut following =
        Running::start(instep(folder.path(), &["sync", &url, "copy", "--follow", "--poll", "100ms"]));
    following.wait_for(|line| line["type"] == "round");
    following.signal(Signal::HUP);
    following.wait_for(|line| line["type"] == "round");
    following.signal(Signal::TERM);
    assert_eq!(following.child.wait().unwrap().code(), Some(143));
}

#[test]
fn o901_the_last_line_of_a_run_that_a_signal_ended_has_the_exit_code_of_the_command() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let sync = ["sync", &source.url, "copy", "--follow", "--poll", "100ms"];
        let mut following = Running::start(instep(folder.path(), &sync));
        following.wait_for(|line| line["type"] == "round");
        following.signal(signal);
        let summary = following.wait_for(|line| line["type"] == "summary");
        assert_eq!(summary["exit_code"], code);
        assert_eq!(following.child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn c18_a_server_that_hashes_a_huge_file_ends_within_seconds() {
    let folder = folder(&[("data/a.txt", "a")]);
    let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", BASE];
    let mut server = Running::start(instep(folder.path(), &serve));
    server.ready();
    let huge = fs::File::create(folder.path().join("data/huge")).unwrap();
    // Hashing all of it would take minutes.
    huge.set_len(1 << 40).unwrap();
    drop(huge);
    let read = || {
        let io = fs::read_to_string(format!("/proc/{}/io", server.child.id())).unwrap();
        io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse::<u64>().ok()).unwrap()
    };
    wait_until("the file is hashed", || read() >= 256 << 20);
    let asked = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(server.child.wait().unwrap().code(), Some(143));
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
}

#[test]
fn p9_p11_each_round_of_following_has_a_line_and_a_signal_is_answered() {
    let folder = folder(&[("data/a.txt", "a")]);
    let ServedSource { url, .. } = &ServedSource::start(folder.path());
    let mut command = instep(folder.path(), &["sync", url, "copy", "--follow", "--poll", "200ms"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("+1 ~0 -0; 1 B in ")), "no line for the first round");
    Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert!(lines.any(|line| line.starts_with("Stopping: ")), "nothing is said");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_server_that_stands_by_takes_the_place_of_one_that_is_killed() {
    let folder = folder(&[("data/a.txt", "a")]);
    let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", BASE];
    let mut first = Running::start(instep(folder.path(), &serve));
    first.ready();
    let refused = run(folder.path(), &serve, 7);
    assert!(refused.contains("in use by"), "{refused}");

    let standby = [&serve[..], &["--standby"]].concat();
    let stands_by = || {
        let mut running = Running::start(instep(folder.path(), &standby));
        let held = running.wait_for(|line| line["type"] == "standby");
        assert_eq!(held["holder"], format!("process {}", first.child.id()));
        running
    };
    let (mut second, mut third) = (stands_by(), stands_by());
    third.signal(Signal::TERM);
    assert_eq!(third.child.wait().unwrap().code(), Some(143));
    first.signal(Signal::KILL);
    second.ready();
    // It continues the Source of the other one and publishes new changes.
    fs::write(folder.path().join("data/b.txt"), "b").unwrap();
    let change = second.wait_for(|line| line["change"] == "created");
    assert_eq!(change["uri"], format!("{BASE}b.txt"));
}

#[cfg(feature = "postgres")]
#[test]
fn o712_a_fleet_whose_database_does_not_answer_at_the_start_ends_at_a_signal() {
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let state = format!("postgres://me@{}/copies", silent.local_addr().unwrap());
    let folder = folder(&[]);
    let mut fleet = Running::start(instep(folder.path(), &["run", "--state", &state]));
    let _connection = silent.accept().unwrap();
    fleet.signal(Signal::TERM);
    assert_eq!(fleet.child.wait().unwrap().code(), Some(143));
}

#[cfg(feature = "postgres")]
#[test]
fn o903_a_first_run_whose_database_does_not_answer_ends_at_a_signal_with_its_exit_code() {
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let state = format!("postgres://me@{}/copies", silent.local_addr().unwrap());
    let folder = folder(&[]);
    let sync = ["sync", "http://127.0.0.1:9/", "copy", "--state", &state];
    let mut run = Running::start(instep(folder.path(), &sync));
    let _connection = silent.accept().unwrap();
    run.signal(Signal::TERM);
    assert_eq!(run.child.wait().unwrap().code(), Some(143));
}
