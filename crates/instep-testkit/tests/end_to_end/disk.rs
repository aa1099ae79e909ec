//! The disk that the program finds: limits on files, pipes for locks, folders of somebody else.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use instep_testkit::{FakeSource, Run, instep};
use rustix::fs::{CWD, FileType, Mode, mknodat};

fn sync(source: &FakeSource, copy: &Path, options: &[&str]) -> Run {
    Run::of(instep(["sync", "--retries", "0"]).arg(source.url("")).arg(copy).args(options))
}

fn source(names: &[&str]) -> FakeSource {
    FakeSource::start()
        .with_resources(names.iter().map(|name| ((*name).to_owned(), format!("text of {name}"))))
}

#[test]
fn b2_what_somebody_put_in_the_place_of_a_file_stays_and_the_code_is_3_until_it_is_away() {
    let (before, after) = (source(&["a", "b"]), tempfile::tempdir().unwrap());
    let copy = after.path();
    let _ = sync(&before, copy, &[]).with_code(0);
    fs::remove_file(copy.join("a")).unwrap();
    fs::create_dir(copy.join("a")).unwrap();
    fs::write(copy.join("a/theirs"), "theirs").unwrap();
    before.delete("a");
    let _ = sync(&before, copy, &["--delete", "--max-delete", "100%"]).with_code(3);
    let _ = sync(&before, copy, &["--delete", "--max-delete", "100%"]).with_code(3);
    assert_eq!(fs::read_to_string(copy.join("a/theirs")).unwrap(), "theirs");
    fs::remove_dir_all(copy.join("a")).unwrap();
    let _ = sync(&before, copy, &["--delete", "--max-delete", "100%"]).with_code(0);
}

#[test]
fn b8_a_run_that_commits_nothing_decides_nothing_for_the_next_one() {
    let (other, right, dir) = (source(&["deep/x"]), source(&["a"]), tempfile::tempdir().unwrap());
    let copy = dir.path().join("copy");
    let dry = Run::of(instep(["sync", "--dry-run"]).arg(other.url("deep/")).arg(&copy));
    assert!(!copy.join("deep").exists() && !copy.join("x").exists(), "{}", dry.stderr);
    let _ = sync(&right, &copy, &[]).with_code(0);
    assert!(copy.join("a").is_file());
}

#[test]
fn b21_backups_among_the_resources_are_wrong_usage() {
    let (source, dir) = (source(&["bk/a"]), tempfile::tempdir().unwrap());
    let copy = dir.path().join("copy");
    let backups = copy.join("bk");
    let _ = sync(&source, &copy, &["--backup-dir", backups.to_str().unwrap()]).with_code(2);
    let _ = sync(&source, &copy, &["--backup-dir", dir.path().join("bk").to_str().unwrap()]).with_code(0);
}

#[test]
fn b23_a_limit_on_the_size_of_files_is_a_failure_of_the_storage_and_no_signal() {
    let dir = tempfile::tempdir().unwrap();
    let source = FakeSource::start().with_resources([("large".to_owned(), "x".repeat(2 << 20))]);
    let limited = |command: &mut Command| {
        let arguments: Vec<_> = command.get_args().map(|it| it.to_string_lossy().into_owned()).collect();
        let mut shell = Command::new("sh");
        // Blocks of 512 bytes: room for the state, none for the resource.
        shell.args(["-c", "ulimit -f 1024; exec \"$@\"", "sh"]).arg(command.get_program()).args(arguments);
        Run::of(&mut shell)
    };
    let copy = dir.path().join("copy");
    let _ = limited(instep(["sync", "--retries", "0"]).arg(source.url("")).arg(&copy)).with_code(8);
    let content = dir.path().join("content");
    fs::create_dir(&content).unwrap();
    fs::write(content.join("large"), "x".repeat(2 << 20)).unwrap();
    let publish = ["publish", "--base-url", "http://source.example/", "--dump", "always"];
    let _ = limited(instep(publish).arg(&content)).with_code(8);
}

#[test]
fn b23_status_does_not_wait_for_a_pipe_and_sync_refuses_it() {
    let (source, dir) = (source(&["a"]), tempfile::tempdir().unwrap());
    let _ = sync(&source, dir.path(), &[]).with_code(0);
    let lock = dir.path().join(".instep/lock");
    fs::remove_file(&lock).unwrap();
    mknodat(CWD, &lock, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _ = Run::of(instep(["status"]).arg(dir.path()).stdin(Stdio::null())).with_code(0);
    let refused = sync(&source, dir.path(), &[]).with_code(8);
    assert!(refused.stderr.contains(lock.to_str().unwrap()), "{}", refused.stderr);
}

#[test]
fn b23_status_leaves_a_state_of_an_older_version_as_it_is() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../instep-destination/tests/golden/state-0.1.0/state.sqlite");
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join(".instep/state.sqlite");
    fs::create_dir(dir.path().join(".instep")).unwrap();
    fs::copy(&golden, &state).unwrap();
    // One resource is pending.
    let status = Run::of(instep(["status", "--json"]).arg(dir.path())).with_code(3);
    let json: serde_json::Value = serde_json::from_str(status.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(json["held"], 6, "{json}");
    assert_eq!(fs::read(&golden).unwrap(), fs::read(&state).unwrap());
}
