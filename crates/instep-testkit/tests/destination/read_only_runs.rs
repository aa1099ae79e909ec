//! Runs that only read: nothing in the folder of the copy changes, not even a time.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use instep_destination::{AuditOptions, Outcome, Via, VoidMonitor, audit};
use instep_testkit::Fault;
use rustix::fs::{FlockOperation, flock};

use crate::support::{Copy, Run, runtime};

/// A file or a folder: its mode, the times of its content and of its attributes, its bytes.
type Entry = (u32, [i64; 4], Vec<u8>);

/// Returns everything in a folder, the folder included.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let bytes = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        if metadata.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
        found.insert(path, (metadata.mode(), times, bytes));
    }
    found
}

fn dry(copy: &Copy, via: Via) -> Run {
    copy.sync_with(|options| (options.dry_run, options.delete, options.via) = (true, true, via))
}

/// Returns a copy whose Source has changed since.
fn changed() -> Copy {
    let copy = Copy::laid_out(|layout| (layout.dump, layout.batch) = (true, true));
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.txt", "changed");
    copy.source.put("new.txt", "new");
    copy.source.delete("b.txt");
    copy
}

#[test]
fn p5_a_dry_run_over_a_copy_changes_nothing_in_its_folder() {
    let copy = changed();
    fs::write(copy.dir().join(".instep/plan-1.sqlite"), "left by a killed run").unwrap();
    let before = snapshot(&copy.dir());
    for via in [Via::Cheapest, Via::List, Via::Dump, Via::Batch] {
        let run = dry(&copy, via);
        assert_eq!((run.exit_code(), run.report().outcome), (0, Outcome::Planned), "{via:?}");
        let mut itemized = run.heard.itemized;
        itemized.sort_unstable();
        let expected = [("+", "new.txt"), ("-", "b.txt"), ("~", "a.txt")];
        let expected = expected.map(|(letter, path)| format!("{letter} {}", copy.source.url(path)));
        assert_eq!(itemized, expected, "{via:?}");
        assert!(snapshot(&copy.dir()) == before, "{via:?}");
    }
}

#[test]
fn p5_a_dry_run_works_in_a_folder_that_cannot_be_written() {
    let copy = changed();
    let folders = [copy.dir(), copy.dir().join(".instep"), copy.dir().join(".instep/staging")];
    let set = |mode| {
        folders.iter().for_each(|folder| fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap());
    };
    set(0o555);
    let run = dry(&copy, Via::Cheapest);
    let (result, _) = copy.audit();
    set(0o755);
    assert_eq!((run.exit_code(), run.heard.itemized.len()), (0, 3));
    assert_eq!(result.unwrap().exit_code(), 20);
}

#[test]
fn p5_a_dry_run_reads_what_a_killed_run_left_in_the_log_of_the_state() {
    let copy = changed();
    let state = copy.dir().join(".instep/state.sqlite");
    let writing = rusqlite::Connection::open(&state).unwrap();
    writing.execute("DELETE FROM held WHERE uri LIKE '%/a.txt'", []).unwrap();
    let log = copy.dir().join(".instep/state.sqlite-wal");
    let left = (fs::read(&state).unwrap(), fs::read(&log).unwrap());
    drop(writing);
    fs::write(&state, left.0).unwrap();
    fs::write(&log, left.1).unwrap();
    let before = snapshot(&copy.dir());
    let run = dry(&copy, Via::Cheapest);
    assert!(run.heard.itemized.contains(&format!("+ {}", copy.source.url("a.txt"))), "{:?}", run.heard);
    assert!(snapshot(&copy.dir()) == before);
}

#[test]
fn p5_a_dry_run_and_an_audit_wait_for_the_end_of_a_run() {
    let copy = changed();
    let running = fs::File::open(copy.dir().join(".instep/lock")).unwrap();
    flock(&running, FlockOperation::LockExclusive).unwrap();
    assert_eq!(dry(&copy, Via::Cheapest).exit_code(), 7);
    assert_eq!(copy.audit().0.unwrap_err().exit_code(), 7);
    drop(running);
    assert_eq!(dry(&copy, Via::Cheapest).exit_code(), 0);
}

#[test]
fn p5_a_dry_run_that_fails_makes_no_folder() {
    let copy = Copy::of_three();
    assert_eq!(dry(&copy, Via::Cheapest).exit_code(), 0);
    copy.source.fail_always("resourcelist.xml", Fault::Status(500));
    assert_ne!(dry(&copy, Via::List).exit_code(), 0);
    assert!(!copy.dir().exists());
}

#[test]
fn an_audit_changes_nothing_in_the_folder_of_the_copy() {
    let copy = changed();
    let before = snapshot(&copy.dir());
    assert_eq!(copy.audit().0.unwrap().exit_code(), 20);
    let offline = AuditOptions::new(None, copy.dir());
    assert_eq!(runtime().block_on(audit(&offline, &VoidMonitor)).unwrap().exit_code(), 0);
    assert!(snapshot(&copy.dir()) == before);
}
