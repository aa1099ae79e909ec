//! The work of an operator around publishing: host setup, backups, signals, a first configuration.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

const BASE: &str = "http://source.example/data/";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn instep(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_instep"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str], code: i32) -> String {
    let Output { status, stdout, stderr } = instep(folder, arguments).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(code), "{arguments:?}\n{stdout}\n{stderr}");
    format!("{stdout}{stderr}")
}

fn publish(folder: &Path) -> String {
    run(folder, &["publish", "data", "--base-url", BASE], 0)
}

/// A running command whose JSON lines are read.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = instep(folder, arguments).arg("--json").stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut values = self.lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        values.find(|value| is_it(value)).unwrap()
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn finding_d1_a_backup_brings_back_the_history_of_a_source() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    publish(folder.path());
    fs::write(folder.path().join("data/a.txt"), "changed").unwrap();
    publish(folder.path());
    let written = run(folder.path(), &["catalogue", "backup", "data", "source.zip"], 0);
    assert!(written.contains("catalogue.db"), "{written}");
    let again = run(folder.path(), &["catalogue", "backup", "data", "source.zip"], 2);
    assert!(again.contains("exists"), "{again}");
    let refused = run(folder.path(), &["catalogue", "restore", "data", "source.zip"], 2);
    assert!(refused.contains("has a catalogue"), "{refused}");

    fs::remove_dir_all(folder.path().join("data/.instep")).unwrap();
    run(folder.path(), &["catalogue", "restore", "data", "source.zip"], 0);
    run(folder.path(), &["catalogue", "check", "data"], 0);
    fs::remove_file(folder.path().join("data/b.txt")).unwrap();
    publish(folder.path());
    let changes = fs::read_to_string(folder.path().join("data/resourcesync/changelist-000001.xml")).unwrap();
    // The change before the backup, and the one after it: the resources are not new.
    assert!(changes.contains("change=\"updated\"") && changes.contains("change=\"deleted\""), "{changes}");
    assert!(!changes.contains("change=\"created\""), "{changes}");
}

#[test]
fn finding_d1_what_is_not_a_backup_leaves_nothing_behind() {
    let folder = folder(&[("data/a.txt", "a"), ("broken.zip", "PK")]);
    run(folder.path(), &["catalogue", "restore", "data", "broken.zip"], 1);
    assert!(!folder.path().join("data/.instep/catalogue.db").exists());
    run(folder.path(), &["catalogue", "backup", "data", "source.zip"], 2);
    assert!(!folder.path().join("source.zip").exists());
}

#[test]
fn finding_d2_a_hangup_reads_the_configuration_again_and_never_ends_a_server() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.pdf", "b")]);
    let configuration = folder.path().join("instep.toml");
    fs::write(&configuration, "[serve]\nno-watch = true\n").unwrap();
    let arguments = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", BASE];
    let mut server = Running::start(folder.path(), &arguments);
    server.wait_for(|line| line["type"] == "ready");
    // Nothing changed, then something that cannot be used: the server goes on both times.
    server.signal("HUP");
    let replace = |text: &str| {
        fs::write(folder.path().join("new.toml"), text).unwrap();
        fs::rename(folder.path().join("new.toml"), &configuration).unwrap();
    };
    replace("[serve]\nno-such-key = true\n");
    server.signal("HUP");
    replace("[publish]\nexclude = [\"*.pdf\"]\n[serve]\nno-watch = true\n");
    server.signal("HUP");
    let withdrawn = server
        .wait_for(|line| line["change"] == "deleted" && line["uri"].as_str().unwrap().ends_with("b.pdf"));
    assert_eq!(withdrawn["uri"], format!("{BASE}b.pdf"));
    server.wait_for(|line| line["type"] == "ready");
    server.signal("TERM");
    assert_eq!(server.child.wait().unwrap().code(), Some(143));
}

#[test]
fn finding_d13_the_setup_of_the_host_is_mentioned_once_and_printed_on_request() {
    let folder = folder(&[("data/a.txt", "a")]);
    for (server, words) in [
        ("nginx", &["location ~ /\\.instep", "return 301", "add_header Link"][..]),
        ("apache", &["RedirectMatch 404", "RedirectMatch 301", "Header set Link"]),
        ("caddy", &["respond @state 404", "redir /.well-known/resourcesync", "header \"/data/*\" Link"]),
    ] {
        let text = run(folder.path(), &["publish", "data", "--base-url", BASE, "--host-setup", server], 0);
        words.iter().for_each(|word| assert!(text.contains(word), "{server}: {word}\n{text}"));
    }
    assert!(!folder.path().join("data/.instep").exists(), "nothing is published");
    assert!(publish(folder.path()).contains("--host-setup"));
    fs::write(folder.path().join("data/a.txt"), "changed").unwrap();
    assert!(!publish(folder.path()).contains("--host-setup"));
}

#[test]
fn finding_d4_a_url_is_refused_as_a_folder() {
    let folder = folder(&[("data/a.txt", "a")]);
    let refused = run(folder.path(), &["publish", "data", "--base-url", BASE, "--state", "s3://bucket/x"], 2);
    assert!(refused.contains("is not a folder"), "{refused}");
    run(folder.path(), &["sync", "http://127.0.0.1:1/", "s3://bucket/copy"], 2);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert_eq!(names, ["data"]);
}

#[test]
fn finding_d12_an_address_that_cannot_be_had_ends_each_server_with_2() {
    let folder = folder(&[("data/a.txt", "a")]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for address in [taken.as_str(), "8077"] {
        run(folder.path(), &["serve", "data", "--listen", address], 2);
        run(folder.path(), &["simulate", "--resources", "1", "--listen", address], 2);
    }
}

#[test]
fn finding_d5_a_failed_first_run_leaves_no_folder() {
    let folder = folder(&[]);
    run(folder.path(), &["sync", "http://127.0.0.1:1/", "copy", "--retries", "0"], 4);
    run(folder.path(), &["sync", "./copy", "./other"], 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn init_writes_a_configuration_that_publishes_and_never_replaces_one() {
    let folder = folder(&[("data/a.txt", "a"), ("data/drafts/b.txt", "b"), ("data/c.tmp", "c")]);
    let told = run(folder.path(), &["init", "data"], 0);
    assert!(told.contains("instep serve data"), "{told}");
    let written = fs::read_to_string(folder.path().join("instep.toml")).unwrap();
    assert!(written.contains("3 files") && written.contains("\"drafts\""), "{written}");
    run(folder.path(), &["init", "data"], 2);
    run(folder.path(), &["publish", "data"], 0);
    let list = fs::read_to_string(folder.path().join("data/resourcesync/resourcelist.xml")).unwrap();
    assert!(list.contains("https://example.org/a.txt"), "{list}");
    assert!(!list.contains("drafts") && !list.contains("c.tmp"), "{list}");
}

#[test]
fn init_keeps_the_base_url_of_what_was_published() {
    let folder = folder(&[("data/a.txt", "a")]);
    run(folder.path(), &["publish", "data", "--base-url", "https://museum.example/prints/"], 0);
    let base_url = || {
        run(folder.path(), &["init", "data", "--force"], 0);
        let written = fs::read_to_string(folder.path().join("instep.toml")).unwrap();
        written.lines().find(|line| line.starts_with("base-url")).unwrap().to_owned()
    };
    assert_eq!(base_url(), "base-url = \"https://museum.example/prints/\"");
    run(folder.path(), &["publish", "data"], 0);
    // Only the documents came along, as on the host of a web server.
    fs::remove_dir_all(folder.path().join("data/.instep")).unwrap();
    assert_eq!(base_url(), "base-url = \"https://museum.example/prints/\"");
}

#[test]
fn init_writes_a_configuration_for_a_copy_of_what_a_source_offers() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    let mut server = Running::start(folder.path(), &["serve", "data", "--listen", "127.0.0.1:0"]);
    let url = server.wait_for(|line| line["type"] == "ready")["url"].as_str().unwrap().to_owned();
    run(folder.path(), &["init", &url], 0);
    let written = fs::read_to_string(folder.path().join("instep.toml")).unwrap();
    assert!(written.contains("2 resources, 2 B") && written.contains("resourcelist"), "{written}");
    run(folder.path(), &["sync", &url, "copy"], 0);
    assert_eq!(fs::read_to_string(folder.path().join("copy/b.txt")).unwrap(), "b");
}

#[test]
fn finding_d8_filters_match_the_path_and_nothing_selected_is_said() {
    let folder =
        folder(&[("data/letters/a.txt", "a"), ("data/letters/b.pdf", "b"), ("data/notes/c.txt", "c")]);
    let mut server = Running::start(folder.path(), &["serve", "data", "--listen", "127.0.0.1:0"]);
    let url = server.wait_for(|line| line["type"] == "ready")["url"].as_str().unwrap().to_owned();
    fs::write(folder.path().join("list"), "# two\nletters/a.txt\n\nnotes/\n").unwrap();
    for (filters, copied) in [
        (&["--include", "letters/**"][..], &["letters/a.txt", "letters/b.pdf"][..]),
        (&["--include", "letters/**", "--exclude", "*.pdf"], &["letters/a.txt"]),
        (&["--files-from", "list"], &["letters/a.txt", "notes/c.txt"]),
    ] {
        let copy = tempfile::tempdir().unwrap();
        let copy = copy.path().to_str().unwrap();
        run(folder.path(), &[&["sync", &url, copy], filters].concat(), 0);
        for file in ["letters/a.txt", "letters/b.pdf", "notes/c.txt"] {
            assert_eq!(Path::new(copy).join(file).exists(), copied.contains(&file), "{filters:?} {file}");
        }
    }
    let nothing = run(folder.path(), &["sync", &url, "copy", "--include", "lettres/**"], 0);
    assert!(nothing.contains("3 listed, 0 selected"), "{nothing}");
}

#[test]
fn finding_d10_a_document_that_is_named_and_missing_is_not_replaced_by_another() {
    let folder = folder(&[("data/a.txt", "a")]);
    let arguments = ["serve", "data", "--listen", "127.0.0.1:0", "--sitemap"];
    let mut server = Running::start(folder.path(), &arguments);
    let url = server.wait_for(|line| line["type"] == "ready")["url"].as_str().unwrap().to_owned();
    let missing = run(folder.path(), &["sync", &format!("{url}nope.xml"), "copy"], 4);
    assert!(missing.contains("nope.xml") && missing.contains("404"), "{missing}");
    assert!(!folder.path().join("copy").exists());
    run(folder.path(), &["sync", &format!("{url}nope/"), "copy"], 0);
}

#[test]
fn finding_d7_requests_are_shown_and_every_line_of_a_json_log_is_json() {
    let folder = folder(&[("data/a.txt", "a")]);
    let mut server = Running::start(folder.path(), &["serve", "data", "--listen", "127.0.0.1:0"]);
    let url = server.wait_for(|line| line["type"] == "ready")["url"].as_str().unwrap().to_owned();
    let Output { stderr, status, .. } =
        instep(folder.path(), &["sync", &url, "copy", "-vv", "--log-format", "json"]).output().unwrap();
    assert!(status.success());
    let lines: Vec<Value> =
        String::from_utf8(stderr).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_request = |line: &&Value| line["message"] == "request";
    let requests: Vec<_> = lines.iter().filter(is_request).collect();
    assert!(!requests.is_empty(), "{lines:?}");
    for request in requests {
        assert!(request["uri"].as_str().unwrap().starts_with(&url), "{request}");
        assert!(
            request["status"].is_u64() && request["bytes"].is_u64() && request["ms"].is_u64(),
            "{request}"
        );
    }
    assert!(lines.iter().any(|line| line["level"] == "INFO"), "notes are JSON too: {lines:?}");
}

#[test]
fn finding_d9_d11_following_has_a_line_a_round_and_a_signal_is_answered() {
    let folder = folder(&[("data/a.txt", "a")]);
    let mut server = Running::start(folder.path(), &["serve", "data", "--listen", "127.0.0.1:0"]);
    let url = server.wait_for(|line| line["type"] == "ready")["url"].as_str().unwrap().to_owned();
    let mut command = instep(folder.path(), &["sync", &url, "copy", "--follow", "--poll", "200ms"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("+1 ~0 -0; 1 B in ")), "no line for the first round");
    Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert!(lines.any(|line| line.starts_with("Stopping: ")), "nothing is said");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn finding_d5_a_dry_run_counts_what_it_lists_and_leaves_no_folder() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    let mut server = Running::start(folder.path(), &["serve", "data", "--listen", "127.0.0.1:0"]);
    let url = server.wait_for(|line| line["type"] == "ready")["url"].as_str().unwrap().to_owned();
    let shown = run(folder.path(), &["sync", &url, "copy", "-n"], 0);
    assert!(shown.contains("Dry run: +2 ~0 -0;"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("+ ")).count(), 2, "{shown}");
    assert!(!folder.path().join("copy").exists());
    run(folder.path(), &["sync", &url, "copy"], 0);
    let again = run(folder.path(), &["sync", &url, "copy", "-n"], 0);
    assert!(again.contains("Dry run: +0 ~0 -0"), "{again}");
}

#[test]
fn a_server_that_stands_by_takes_the_place_of_one_that_is_killed() {
    let folder = folder(&[("data/a.txt", "a")]);
    let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", BASE];
    let mut first = Running::start(folder.path(), &serve);
    first.wait_for(|line| line["type"] == "ready");
    let refused = run(folder.path(), &serve, 7);
    assert!(refused.contains("in use by"), "{refused}");

    let standby = [&serve[..], &["--standby"]].concat();
    let stands_by = || {
        let mut running = Running::start(folder.path(), &standby);
        let held = running.wait_for(|line| line["type"] == "standby");
        assert_eq!(held["holder"], format!("process {}", first.child.id()));
        running
    };
    let (mut second, mut third) = (stands_by(), stands_by());
    third.signal("TERM");
    assert_eq!(third.child.wait().unwrap().code(), Some(143));
    first.signal("KILL");
    second.wait_for(|line| line["type"] == "ready");
    // It goes on where the other one was, and publishes what comes.
    fs::write(folder.path().join("data/b.txt"), "b").unwrap();
    let change = second.wait_for(|line| line["change"] == "created");
    assert_eq!(change["uri"], format!("{BASE}b.txt"));
}
