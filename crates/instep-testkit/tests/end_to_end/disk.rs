//! Unusual file systems: limits on file sizes, pipes in place of lock files, folders of other users.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use instep_testkit::{FakeSource, Run, instep, peers};
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
fn b8_an_audit_without_the_network_of_a_copy_that_holds_nothing_decides_nothing_either() {
    let (source, dir) = (source(&["a"]), tempfile::tempdir().unwrap());
    let copy = dir.path().join("copy");
    // A first run that is killed at its start leaves a state without resources.
    fs::write(state_of(&copy), b"").unwrap();
    let _ = Run::of(instep(["audit", "--offline"]).arg(&copy)).with_code(0);
    let _ = sync(&source, &copy, &[]).with_code(0);
    assert!(copy.join("a").is_file());
}

fn state_of(copy: &Path) -> std::path::PathBuf {
    fs::create_dir_all(copy.join(".instep")).unwrap();
    copy.join(".instep/state.sqlite")
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

/// A file system in memory, unmounted with this value. `None` if none can be mounted here.
pub(crate) struct Disk(tempfile::TempDir);

impl Disk {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn mount(size: &str) -> Option<Self> {
        let disk = Self(tempfile::tempdir().unwrap());
        let size = format!("size={size}");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(disk.0.path()).output();
        let mounted = mount.is_ok_and(|output| output.status.success());
        if !mounted {
            peers::left_out("a disk that can be mounted");
        }
        mounted.then_some(disk)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn b19_what_is_gone_makes_room_for_what_comes() {
    let Some(disk) = Disk::mount("12m") else { return };
    let source = FakeSource::start().with_resources([("old".to_owned(), "o".repeat(6 << 20))]);
    let copy = disk.path().join("copy");
    let _ = sync(&source, &copy, &[]).with_code(0);
    source.delete("old");
    source.put("new", "n".repeat(6 << 20));
    let run = sync(&source, &copy, &["--delete", "--max-delete", "100%"]).with_code(0);
    assert!(run.stderr.contains("deletions are done first"), "{}", run.stderr);
    assert!(copy.join("new").is_file() && !copy.join("old").exists());
}

/// Runs a command as a user to whom permissions apply. `None` if they do not apply to this user, who cannot become
/// another one either.
fn as_nobody(folder: &Path, command: &mut Command) -> Option<Run> {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return Some(Run::of(command));
    }
    for entry in below(folder).into_iter().chain([folder.to_owned()]) {
        std::os::unix::fs::chown(entry, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let other = |arguments: &mut dyn Iterator<Item = &std::ffi::OsStr>| {
        let mut other = Command::new("setpriv");
        let id = NOBODY.to_string();
        other.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(command.get_program());
        other.args(arguments).env("HOME", folder);
        other
    };
    let version = other(&mut [std::ffi::OsStr::new("--version")].into_iter()).output();
    let can = version.is_ok_and(|output| output.status.success());
    can.then(|| Run::of(&mut other(&mut command.get_args())))
}

fn below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries =
        fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>());
    let mut all = Vec::new();
    for entry in entries.unwrap_or_default() {
        if fs::symlink_metadata(&entry).unwrap().is_dir() {
            all.extend(below(&entry));
        }
        all.push(entry);
    }
    all
}

#[test]
fn b24_a_folder_that_may_not_be_written_costs_what_lies_in_it() {
    use std::os::unix::fs::PermissionsExt as _;

    let (source, dir) = (source(&["a", "d/b"]), tempfile::tempdir().unwrap());
    let copy = dir.path().join("copy");
    let run = |options: &[&str]| {
        let mut command = instep(["sync", "--retries", "0"]);
        as_nobody(dir.path(), command.arg(source.url("")).arg(&copy).args(options))
    };
    let mode =
        |name: &str, mode| fs::set_permissions(copy.join(name), fs::Permissions::from_mode(mode)).unwrap();
    let Some(first) = run(&[]) else {
        eprintln!("left out: permissions bind nobody here");
        return;
    };
    let _ = first.with_code(0);
    for denied in [0o555, 0o000] {
        source.put("a", format!("changed {denied}"));
        source.put("d/b", format!("changed {denied}"));
        source.put("d/new", format!("new {denied}"));
        mode("d", denied);
        let _ = run(&[]).unwrap().with_code(3);
        assert_eq!(fs::read_to_string(copy.join("a")).unwrap(), format!("changed {denied}"));
        mode("d", 0o755);
        let _ = run(&[]).unwrap().with_code(0);
        assert_eq!(fs::read_to_string(copy.join("d/b")).unwrap(), format!("changed {denied}"));
    }
    // B13: a file that cannot be read was not checked.
    mode("a", 0o000);
    let _ = run(&["--repair"]).unwrap().with_code(3);
    mode("a", 0o644);
    let _ = run(&["--repair"]).unwrap().with_code(0);
}
