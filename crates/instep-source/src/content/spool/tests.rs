//! The spool of past states: what it holds, and what goes first.

use std::io::Read;

use resourcesync::{Algorithm, Digests, Hasher};

use super::{SpoolUsage, StateSpool};

fn keep(spool: &StateSpool, text: &str) -> Digests {
    let mut hasher = Hasher::new(&[Algorithm::Md5, Algorithm::Sha256]);
    hasher.update(text.as_bytes());
    let digests = hasher.finish();
    let mut draft = spool.draft().unwrap();
    draft.write(text.as_bytes()).unwrap();
    draft.keep(&digests).unwrap();
    digests
}

#[test]
fn equal_states_are_kept_once_and_found_by_their_digests() {
    let folder = tempfile::tempdir().unwrap();
    let spool = StateSpool::new(folder.path().join("states"), 1_000);
    assert_eq!(spool.trim().unwrap(), SpoolUsage::default());
    let digests = [keep(&spool, "one"), keep(&spool, "two"), keep(&spool, "one")];
    assert_eq!(spool.trim().unwrap(), SpoolUsage { states: 2, bytes: 6 });
    let mut text = String::new();
    spool.find(&digests[0]).unwrap().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "one");
    assert!(spool.find(&Digests::new()).unwrap().is_none());
}

#[test]
fn o981_no_state_is_kept_on_a_disk_without_more_space_than_stays_free() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = StateSpool::new(folder.path().join("states"), 1_000);
    spool.reserve = Some(u64::MAX);
    let error = spool.draft().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(spool.kept().unwrap(), SpoolUsage::default());
}

#[test]
fn beyond_its_limit_the_oldest_states_go() {
    let folder = tempfile::tempdir().unwrap();
    let spool = StateSpool::new(folder.path(), 7);
    let (one, two) = (keep(&spool, "one"), keep(&spool, "two"));
    let old = std::time::SystemTime::UNIX_EPOCH;
    spool.find(&one).unwrap().unwrap().set_modified(old).unwrap();
    let three = keep(&spool, "three");
    assert_eq!(spool.trim().unwrap(), SpoolUsage { states: 1, bytes: 5 });
    let held = [&one, &two, &three].map(|digests| spool.find(digests).unwrap().is_some());
    assert_eq!(held, [false, false, true]);
}

#[test]
fn trimming_looks_at_no_state_while_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let spool = StateSpool::new(folder.path().join("states"), 1_000);
    keep(&spool, "one");
    assert_eq!(spool.trim().unwrap(), SpoolUsage { states: 1, bytes: 3 });
    // Not accounted for, and so not seen while nobody looks.
    std::fs::write(folder.path().join("states/unseen"), "12345").unwrap();
    let two = keep(&spool, "two");
    assert_eq!(spool.trim().unwrap(), SpoolUsage { states: 2, bytes: 6 });
    spool.remove(&two).unwrap();
    assert_eq!(spool.trim().unwrap(), SpoolUsage { states: 1, bytes: 3 });
    assert_eq!(spool.kept().unwrap(), SpoolUsage { states: 1, bytes: 3 });
}

#[test]
fn what_a_killed_process_kept_is_counted_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let spool = || StateSpool::new(folder.path().join("states"), 1_000);
    let killed = spool();
    keep(&killed, "one");
    killed.trim().unwrap();
    keep(&killed, "more");
    std::mem::forget(killed);
    let next = spool();
    next.open().unwrap();
    assert_eq!(next.trim().unwrap(), SpoolUsage { states: 2, bytes: 7 });
    next.open().unwrap();
    assert_eq!(next.kept().unwrap(), SpoolUsage { states: 2, bytes: 7 });
}

#[test]
fn o438_states_that_come_and_go_meanwhile_do_not_make_trimming_fail() {
    let folder = tempfile::tempdir().unwrap();
    let spool = StateSpool::new(folder.path().join("states"), 100);
    std::thread::scope(|scope| {
        let keeper = scope.spawn(|| {
            for number in 0..3_000 {
                let digests = keep(&spool, &format!("state {number}"));
                if number % 3 == 0 {
                    spool.remove(&digests).unwrap();
                }
            }
        });
        while !keeper.is_finished() {
            spool.trim().unwrap();
        }
    });
}

#[test]
fn o545_a_state_that_a_power_failure_has_cut_off_is_not_used_and_is_kept_again() {
    let folder = tempfile::tempdir().unwrap();
    let spool = StateSpool::new(folder.path().join("states"), 1_000);
    let digests = keep(&spool, "one");
    let is_whole = || spool.find_whole(&digests, Some(3)).unwrap().is_some();
    assert!(is_whole() && spool.find_whole(&digests, None).unwrap().is_some());
    let file = std::fs::read_dir(spool.folder()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "").unwrap();
    assert!(!is_whole());
    assert!(spool.keep(&b"one"[..], &digests).unwrap());
    assert!(is_whole());
}
