//! The number of times that a group waits for the disk, counted as system calls by `strace`.

use std::{path::Path, process::Command};

use super::bench::open_folder;

const COPY: &str = "INSTEP_TEST_SYNCED_COPY";
const GROUPS: &str = "INSTEP_TEST_GROUPS";
const FILES: &str = "INSTEP_TEST_FILES";
const FOLDERS: &str = "INSTEP_TEST_FOLDERS";
const CALLS: &str = "fsync,fdatasync,syncfs,sync,msync,sync_file_range";

/// Runs under `strace`; it is not a test by itself. Each group has new files, new folders, a replaced file and a
/// removed one.
#[test]
fn child() {
    let Some(path) = std::env::var_os(COPY) else { return };
    let number = |name| std::env::var(name).unwrap().parse::<u32>().unwrap();
    let (groups, files, folders) = (number(GROUPS), number(FILES), number(FOLDERS));
    let mut copy = open_folder(Path::new(&path));
    for group in 0..groups {
        for number in 0..files {
            copy.add(&format!("http://h/d{group}/{}/{number}", number % folders), b"small");
        }
        copy.add("http://h/replaced", format!("in group {group}").as_bytes());
        if group > 0 {
            copy.delete(&format!("http://h/d{}/0/0", group - 1));
        }
        copy.flush();
    }
    copy.committer.finish().unwrap();
}

fn sync_calls(groups: u32, (files, folders): (u32, u32)) -> Option<usize> {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-e", &format!("trace={CALLS}"), "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "commit::tests::syncs::child", "--nocapture"])
        .env(COPY, dir.path().join("copy"))
        .env(GROUPS, groups.to_string())
        .env(FILES, files.to_string())
        .env(FOLDERS, folders.to_string())
        .output();
    let output = status.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = std::fs::read_to_string(trace).unwrap();
    Some(trace.lines().filter(|line| line.contains('(') && !line.contains("resumed")).count())
}

#[test]
fn a_group_waits_for_the_disk_at_most_six_times() {
    for shape in [(3, 1), (12, 3), (100, 1), (100, 20), (100, 40)] {
        let (Some(few), Some(many)) = (sync_calls(2, shape), sync_calls(12, shape)) else {
            assert!(std::env::var("CI").is_err(), "strace is missing");
            eprintln!("left out, strace is missing: a_group_waits_for_the_disk_at_most_six_times");
            return;
        };
        let each = (many - few) as f64 / 10.0;
        assert!(
            (1.0..=6.0).contains(&each),
            "{each} sync calls for each group of (files, folders) {shape:?}"
        );
    }
}
