//! The work of an operator beside publishing: reporting changes, looking after the catalogue.

use std::{
    fs,
    io::{BufRead, BufReader, Lines},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, ChildStdout, Stdio},
};

use instep_testkit::{Run, instep};
use serde_json::Value;
use tempfile::TempDir;

const BASE: &str = "http://source.example/";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Run {
    Run::of(instep(arguments).current_dir(folder))
}

fn publish(folder: &Path) {
    let _ = run(folder, &["publish", ".", "--base-url", BASE]).with_code(0);
}

fn summary(run: &Run) -> Value {
    serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap()
}

/// A server that prints its events, one per line.
struct Serving {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Serving {
    fn start(folder: &Path, options: &[&str]) -> Self {
        let mut command = instep(["serve", ".", "--listen", "127.0.0.1:0", "--no-watch", "--json"]);
        let mut child = command.args(options).current_dir(folder).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut serving = Self { child, lines };
        serving.wait_for(|line| line["type"] == "ready");
        serving
    }

    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) {
        let mut values = self.lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        assert!(values.any(|value| is_it(&value)), "the server ended");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_change_that_is_said_to_a_running_server_is_published() {
    for listener in ["127.0.0.1:0", "unix:.instep/socket"] {
        let folder = folder(&[("a.txt", "a")]);
        let mut serving = Serving::start(folder.path(), &["--admin-listen", listener]);
        fs::write(folder.path().join("a.txt"), "changed").unwrap();
        let list = folder.path().join(".instep/documents/resourcesync/resourcelist.xml");
        let list = fs::read_to_string(list).unwrap();
        let own = list.split("<loc>").nth(1).unwrap().split("</loc>").next().unwrap();
        let said = run(folder.path(), &["change", "add", own, "http://elsewhere.example/1", "--json"]);
        let said = summary(&said.with_code(0));
        assert_eq!((said["created"].as_u64(), said["updated"].as_u64()), (Some(1), Some(1)), "{said}");
        assert_eq!(said["by"], "listener");
        serving.wait_for(|line| line["name"].as_str().is_some_and(|it| it.contains("changelist-")));
        let changes = folder.path().join(".instep/documents/resourcesync/changelist-000001.xml");
        let changes = fs::read_to_string(changes).unwrap();
        assert!(changes.contains(own) && changes.contains("http://elsewhere.example/1"), "{changes}");
    }
}

#[test]
fn without_a_server_a_change_is_recorded_and_told_by_the_next_publication() {
    let folder = folder(&[("a.txt", "a"), ("b.txt", "b")]);
    publish(folder.path());
    // The socket file of a killed server leads to no process.
    fs::write(
        folder.path().join(".instep/admin.json"),
        r#"{"url":null,"socket":"/nonexistent","token":"x"}"#,
    )
    .unwrap();
    fs::remove_file(folder.path().join("b.txt")).unwrap();
    let removed = run(folder.path(), &["change", "remove", "http://source.example/b.txt", "--json"]);
    let removed = summary(&removed.with_code(0));
    assert_eq!((removed["deleted"].as_u64(), removed["by"].as_str()), (Some(1), Some("catalogue")));
    let _ = run(folder.path(), &["change", "remove", "b.txt"]).with_code(2);
    publish(folder.path());
    let changes = fs::read_to_string(folder.path().join("resourcesync/changelist-000001.xml")).unwrap();
    assert_eq!(changes.matches("<url>").count(), 1, "{changes}");
}

#[test]
fn the_catalogue_is_compared_with_the_disk() {
    let folder = folder(&[("a.txt", "a"), ("b.txt", "b")]);
    let _ = run(folder.path(), &["catalogue", "check"]).with_code(2);
    publish(folder.path());
    let _ = run(folder.path(), &["catalogue", "check"]).with_code(0);
    fs::write(folder.path().join("a.txt"), "other").unwrap();
    fs::remove_file(folder.path().join("b.txt")).unwrap();
    fs::write(folder.path().join("c.txt"), "new").unwrap();
    let found = run(folder.path(), &["catalogue", "check", "--json"]).with_code(20);
    for (letter, name) in [("~", "a.txt"), ("-", "b.txt"), ("+", "c.txt")] {
        let line = format!(r#"{{"type":"item","letter":"{letter}","uri":"{BASE}{name}"}}"#);
        assert!(found.stdout.lines().any(|it| it == line), "{line}\n{}", found.stdout);
    }
    publish(folder.path());
    let _ = run(folder.path(), &["catalogue", "check"]).with_code(0);
}

#[test]
fn s11_a_dry_run_shows_what_would_be_published_and_writes_nothing() {
    let folder = folder(&[("a.txt", "a"), ("b.txt", "b"), (".hidden", "h"), ("private.txt", "p")]);
    let private = folder.path().join("private.txt");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    let dry = |code| run(folder.path(), &["publish", ".", "--base-url", BASE, "-n"]).with_code(code).stdout;
    let first = dry(3);
    let named = |letter: &str, name: &str| format!("{letter} {BASE}{name}\n");
    assert!(first.contains(&named("+", "a.txt")) && first.contains(&named("+", "b.txt")), "{first}");
    assert!(!first.contains("hidden") && !first.contains("private"), "{first}");
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 4, "nothing was written");
    fs::remove_file(private).unwrap();
    publish(folder.path());
    fs::write(folder.path().join("a.txt"), "other").unwrap();
    fs::remove_file(folder.path().join("b.txt")).unwrap();
    fs::write(folder.path().join("c.txt"), "new").unwrap();
    for _ in 0..2 {
        let shown = dry(0);
        for (letter, name) in [("~", "a.txt"), ("-", "b.txt"), ("+", "c.txt")] {
            assert!(shown.contains(&named(letter, name)), "{shown}");
        }
        assert!(shown.ends_with("+1 ~1 -1; 2 files checked\n"), "{shown}");
    }
    let list = fs::read_to_string(folder.path().join("resourcesync/resourcelist.xml")).unwrap();
    assert!(list.contains("b.txt") && !list.contains("c.txt"), "{list}");
    let told = run(folder.path(), &["publish", ".", "--base-url", BASE, "--json"]).with_code(0).stdout;
    for (change, name) in [("updated", "a.txt"), ("deleted", "b.txt"), ("created", "c.txt")] {
        let line = format!(r#"{{"type":"item","change":"{change}","uri":"{BASE}{name}"}}"#);
        assert!(told.lines().any(|it| it == line), "{line}\n{told}");
    }
}

#[test]
fn a_catalogue_is_looked_after_while_its_source_is_served() {
    for listener in ["127.0.0.1:0", "unix:.instep/socket"] {
        let folder = folder(&[("a.txt", "a"), ("b.txt", "b")]);
        let _serving = Serving::start(folder.path(), &["--admin-listen", listener]);
        let _ = run(folder.path(), &["catalogue", "check"]).with_code(0);
        fs::write(folder.path().join("a.txt"), "other").unwrap();
        let found = run(folder.path(), &["catalogue", "check", "--json"]).with_code(20);
        assert!(found.stdout.contains(r#""letter":"~""#), "{}", found.stdout);
        let compacted = run(folder.path(), &["catalogue", "compact", "--json"]).with_code(0);
        assert!(summary(&compacted)["bytes_after"].as_u64() > Some(0), "{}", compacted.stdout);
        let said = run(folder.path(), &["change", "add", "urn:a:b", "--json"]).with_code(0);
        assert_eq!(summary(&said)["by"], "listener", "the server goes on");
        let _ = run(folder.path(), &["publish", ".", "--base-url", BASE]).with_code(7);
    }
}

#[test]
fn history_that_is_not_published_any_more_is_dropped() {
    let folder = folder(&[("a.txt", "a")]);
    publish(folder.path());
    for round in 0..3 {
        fs::write(folder.path().join("a.txt"), format!("round {round}")).unwrap();
        publish(folder.path());
    }
    let kept = run(folder.path(), &["catalogue", "compact", "--json"]);
    assert_eq!(summary(&kept.with_code(0))["forgotten"], 0, "all of it is in the Change List");
    // A publication that starts again has an empty Change List.
    for own in ["resourcesync", ".well-known"] {
        fs::remove_dir_all(folder.path().join(own)).unwrap();
    }
    let catalogue = folder.path().join(".instep/catalogue.db");
    rusqlite::Connection::open(catalogue)
        .unwrap()
        .execute("DELETE FROM meta WHERE name = 'published'", [])
        .unwrap();
    publish(folder.path());
    let dropped = run(folder.path(), &["catalogue", "compact", "--json"]);
    assert_eq!(summary(&dropped.with_code(0))["forgotten"], 3);
    fs::write(folder.path().join("a.txt"), "again").unwrap();
    publish(folder.path());
    let _ = run(folder.path(), &["catalogue", "check"]).with_code(0);
}

#[test]
fn a_catalogue_of_a_later_version_is_refused_with_10() {
    let folder = folder(&[("a.txt", "a")]);
    publish(folder.path());
    let catalogue = rusqlite::Connection::open(folder.path().join(".instep/catalogue.db")).unwrap();
    catalogue.pragma_update(None, "user_version", 99).unwrap();
    drop(catalogue);
    for arguments in [
        &["publish", ".", "--base-url", BASE][..],
        &["catalogue", "check"],
        &["change", "add", "http://source.example/a.txt"],
    ] {
        let _ = run(folder.path(), arguments).with_code(10);
    }
}

#[test]
fn o191_a_check_says_that_it_could_not_compare_every_file_and_ends_with_3() {
    let folder = folder(&[("a.txt", "a")]);
    publish(folder.path());
    let private = folder.path().join("private.txt");
    fs::write(&private, "p").unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    let some = run(folder.path(), &["catalogue", "check"]).with_code(3).stdout;
    assert!(
        some.contains("Not fully compared: ") && some.contains("; 1 file could not be compared"),
        "{some}"
    );
    fs::write(folder.path().join("a.txt"), "other").unwrap();
    let differs = run(folder.path(), &["catalogue", "check"]).with_code(20).stdout;
    assert!(differs.contains("1 difference: ") && differs.contains("; 1 file could not"), "{differs}");
}
