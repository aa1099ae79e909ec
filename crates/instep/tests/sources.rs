//! The commands of a Source where something is in their way: other runs, limits of the system, wrong input.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::{Duration, Instant},
};

use instep_testkit::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

const BASE: &str = "http://source.example/data/";
const PROGRAM: &str = env!("CARGO_BIN_EXE_instep");

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// A shell that runs the program, which is `"$@"` in the script.
fn shell(folder: &Path, script: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", PROGRAM]).args(arguments).current_dir(folder);
    command.env_clear().env("HOME", folder).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
    command
}

fn instep(folder: &Path, arguments: &[&str]) -> Command {
    shell(folder, "exec \"$@\"", arguments)
}

fn run(mut command: Command, code: i32) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(code), "{command:?}\n{text}");
    text
}

/// A running command whose JSON lines are read.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut values = self.lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        values.find(|value| is_it(value)).unwrap()
    }

    fn ready(&mut self) -> Value {
        self.wait_for(|line| line["type"] == "ready")
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(address: &Value, path: &str) -> String {
    let address = address.as_str().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn c15_files_in_the_way_end_with_6_and_the_option_that_replaces_them() {
    let folder = folder(&[("data/a.txt", "a"), ("data/resourcesync/resourcelist.xml", "theirs")]);
    let publish = ["publish", "data", "--base-url", BASE];
    let refused = run(instep(folder.path(), &publish), 6);
    assert!(
        refused.contains("resourcesync/resourcelist.xml") && refused.contains("--overwrite-documents"),
        "{refused}"
    );
    run(instep(folder.path(), &[&publish[..], &["--overwrite-documents"]].concat()), 0);
}

#[test]
fn a15_the_archives_of_dumps_are_filled_with_options_alone() {
    let folder = folder(&[("data/a.txt", "a")]);
    let publish =
        ["publish", "data", "--base-url", BASE, "--archives", "--dump", "always", "--dump-every", "0s"];
    let publish = [&publish[..], &["--change-dump", "--closed-lists", "2"]].concat();
    for round in 0..5 {
        fs::write(folder.path().join("data/a.txt"), format!("round {round}")).unwrap();
        run(instep(folder.path(), &publish), 0);
    }
    for archive in ["resourcedump-archive.xml", "changedump-archive.xml"] {
        let text = fs::read_to_string(folder.path().join("data/resourcesync").join(archive)).unwrap();
        assert!(text.contains("<loc>"), "{text}");
    }
}

#[test]
fn c18_change_and_publish_wait_for_each_other() {
    let folder = folder(&[("data/a.txt", "a"), ("records.csv", "uri\nhttp://source.example/data/r\n")]);
    let data = folder.path().join("data");
    let publish = ["publish", "data", "--base-url", BASE, "--from", "records.csv"];
    run(instep(folder.path(), &publish), 0);
    let lock = fs::File::options().write(true).open(data.join(".instep/lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let change = ["change", "add", "http://source.example/data/r", "--dir", "data"];
    for waiting in [&publish[..], &change[..]] {
        let refused = run(instep(folder.path(), &[waiting, &["--wait", "0s"]].concat()), 7);
        assert!(refused.contains("--wait"), "{refused}");
    }
    let waiting: Vec<_> = [&publish[..], &change[..]]
        .map(|arguments| instep(folder.path(), arguments).stderr(Stdio::piped()).spawn().unwrap())
        .into_iter()
        .map(|mut child| {
            let mut line = String::new();
            BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
            assert!(line.contains("Waiting"), "{line}");
            child
        })
        .collect();
    drop(lock);
    for mut child in waiting {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn c18_a_publication_needs_few_descriptors() {
    let folder = folder(&[]);
    for number in 0..200 {
        let name = format!("data/{}/{number}.txt", number % 50);
        fs::create_dir_all(folder.path().join(&name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), "text").unwrap();
    }
    let publish = ["publish", "data", "--base-url", BASE, "--dump", "always", "--gzip", "--change-dump"];
    let text = run(shell(folder.path(), "ulimit -n 64 && exec \"$@\"", &publish), 0);
    assert!(text.contains("+200"), "{text}");
}

#[test]
fn c18_wrong_options_of_servers_are_wrong_usage_and_say_what_is_right() {
    let folder = folder(&[("data/a.txt", "a"), ("empty", " \n")]);
    for (options, words) in [
        (&["--scan-every", "0s"][..], "scan"),
        (&["--admin-token-file", "empty"], "empty"),
        (&["--listen", "127.0.0.1"], "127.0.0.1:8080"),
    ] {
        let mut arguments = vec!["serve", "data", "--base-url", BASE];
        arguments.extend(options);
        if !options.contains(&"--listen") {
            arguments.extend(["--listen", "127.0.0.1:0"]);
        }
        let text = run(instep(folder.path(), &arguments), 2);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn c10_folders_that_cannot_be_watched_are_scanned_and_that_is_said() {
    let can = Command::new("unshare").args(["-Ur", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("left out: limits cannot be set here");
        return;
    }
    let files = ["a", "b", "c", "d", "e"].map(|name| (format!("data/{name}/1.txt"), name));
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let folder = folder(&files);
        let most = if limit.ends_with("watches") { 3 } else { 0 };
        let script =
            format!("exec unshare -Ur sh -c 'echo {most} > /proc/sys/user/{limit} && exec \"$@\"' sh \"$@\"");
        let serve = [
            "serve",
            "data",
            "--listen",
            "127.0.0.1:0",
            "--base-url",
            "http://127.0.0.1/",
            "--scan-every",
            "1s",
        ];
        let mut server = Running::start(shell(folder.path(), &script, &serve));
        let told = server.wait_for(|line| line["type"] == "problem");
        assert!(told["what"].as_str().unwrap().contains("max_user"), "{told}");
        let address = server.ready()["address"].clone();
        let ready = get(&address, "/readyz");
        assert!(ready.contains(" 200 ") && ready.contains("cannot be watched"), "{ready}");
        let metrics = get(&address, "/metrics");
        let unwatched =
            metrics.lines().find_map(|line| line.strip_prefix("instep_unwatched_folders ")).unwrap();
        assert!(unwatched.parse::<u32>().unwrap() > 0, "{unwatched}");
        for name in ["a", "b", "c", "d", "e"] {
            fs::write(folder.path().join(format!("data/{name}/1.txt")), "changed").unwrap();
        }
        let mut left: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| format!("/{name}/1.txt")).into();
        while !left.is_empty() {
            let change = server.wait_for(|line| line["type"] == "item");
            left.retain(|name| !change["uri"].as_str().unwrap().ends_with(name));
        }
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
fn finding_d2_a_hangup_ends_no_server_whichever_command_runs_it() {
    let folder = folder(&[("data/a.txt", "a")]);
    let serve = ["serve", "data", "--listen", "127.0.0.1:0"];
    let mut source = Running::start(instep(folder.path(), &serve));
    let url = source.ready()["url"].as_str().unwrap().to_owned();
    run(instep(folder.path(), &["sync", &url, "copy"]), 0);
    let listen = ["--listen", "127.0.0.1:0"];
    let republish = [&["republish", "copy"][..], &listen].concat();
    let simulate = [&["simulate", "--resources", "3"][..], &listen].concat();
    for arguments in [&serve[..], &republish, &simulate] {
        // A second server over the same folder has a state of its own.
        let own: &[&str] = if arguments == serve { &["--state", "other"] } else { &[] };
        let mut server = Running::start(instep(folder.path(), &[arguments, own].concat()));
        let address = server.ready()["address"].clone();
        for _ in 0..3 {
            server.signal(Signal::HUP);
            assert!(get(&address, "/readyz").contains(" 200 "), "{arguments:?}");
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
