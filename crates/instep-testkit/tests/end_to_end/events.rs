//! `--events` and `--on-change`: changes as JSON lines, each after its commit.

use std::{fs, path::Path};

use instep_testkit::{FakeSource, Run, ended, instep, wait_until};
use serde_json::Value;
use tempfile::TempDir;

fn sync(source: &FakeSource, dir: &Path, more: &[&str]) -> Run {
    let (url, copy) = (source.url(""), dir.join("copy").display().to_string());
    Run::of(instep([&["sync", &url, &copy, "--delete"], more].concat()).current_dir(dir))
}

fn told(text: &str) -> Vec<(String, String)> {
    let line = |line| {
        let change: Value = serde_json::from_str(line).unwrap();
        assert_eq!(change["type"], "change");
        (change["change"].as_str().unwrap().to_owned(), change["path"].as_str().unwrap().to_owned())
    };
    text.lines().map(line).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(change, path)| ((*change).to_owned(), (*path).to_owned())).collect()
}

#[test]
fn a_line_is_appended_for_each_change() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one"), ("b.txt", "two")]);
    let file = dir.path().join("events");
    let sync = || _ = sync(&source, dir.path(), &["--events", "events"]).with_code(0);
    sync();
    assert_eq!(
        told(&fs::read_to_string(&file).unwrap()),
        pairs(&[("created", "a.txt"), ("created", "b.txt")])
    );
    // As left by a run that was killed while writing.
    fs::write(&file, "{\"type\":\"change\",\"chan").unwrap();
    source.put("a.txt", "changed");
    source.delete("b.txt");
    sync();
    let mut second = told(&fs::read_to_string(&file).unwrap());
    second.sort();
    assert_eq!(second, pairs(&[("deleted", "b.txt"), ("updated", "a.txt")]));
    sync();
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2, "nothing changed, nothing is told");
}

#[test]
fn the_standard_output_has_nothing_but_the_lines() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one")]);
    let run = sync(&source, dir.path(), &["--events", "-"]).with_code(0);
    assert_eq!(told(&run.stdout), pairs(&[("created", "a.txt")]));
}

#[test]
fn a_command_that_fails_costs_no_change_and_is_told_again() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one")]);
    let run = sync(&source, dir.path(), &["--on-change", "cat > first; exit 9"]).with_code(3);
    assert!(run.stderr.contains("exit 9"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(dir.path().join("copy/a.txt")).unwrap(), "one");
    let _ = sync(&source, dir.path(), &["--on-change", "cat > second"]).with_code(0);
    for file in ["first", "second"] {
        let text = fs::read_to_string(dir.path().join(file)).unwrap();
        assert_eq!(told(&text), pairs(&[("created", "a.txt")]), "{file}");
    }
    let _ = sync(&source, dir.path(), &["--on-change", "cat > third"]).with_code(0);
    assert!(!dir.path().join("third").exists(), "what was taken does not come again");
}

#[test]
fn o788_a_command_that_hangs_does_not_keep_a_run_from_ending_when_its_time_is_over() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one")]);
    let run = sync(&source, dir.path(), &["--max-duration", "5s", "--on-change", "sleep 60"]);
    assert!(run.stderr.contains("was still at work"), "{}", run.stderr);
    let _ = sync(&source, dir.path(), &["--on-change", "cat > again"]).with_code(0);
    let text = fs::read_to_string(dir.path().join("again")).unwrap();
    assert_eq!(told(&text), pairs(&[("created", "a.txt")]));
}

#[test]
fn r3_a_command_that_hangs_does_not_keep_a_run_from_ending_and_is_told_again() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([("a.txt", "one")]);
    let mut run = instep(["sync", &source.url(""), "copy", "--on-change", "touch begun; sleep 1000"]);
    let mut run = run.current_dir(dir.path()).spawn().unwrap();
    wait_until("the command is started", || dir.path().join("begun").exists());
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    // It would sleep for longer than the test may take.
    assert!(ended(&mut run).code().is_some(), "it had to be killed");
    let _ = sync(&source, dir.path(), &["--on-change", "cat > again"]).with_code(0);
    let text = fs::read_to_string(dir.path().join("again")).unwrap();
    assert_eq!(told(&text), pairs(&[("created", "a.txt")]));
}
