//! Files that are written to around the time at which they are hashed.

use std::{fs::File, sync::mpsc, thread, time::Duration};

use resourcesync::Uri;

use super::*;
use crate::{
    Error, PublishOptions,
    catalogue::Resource,
    content::Holdings,
    scan::{ScanOptions, scan},
};

#[test]
fn only_coarse_times_of_a_moment_ago_may_hide_a_write() {
    let at = |ns: i64| FileStamp { mtime_ns: ns, ctime_ns: ns, ..FileStamp::default() };
    let second = 1_000_000_000;
    assert!(may_hide_a_write(at(100 * second), 101 * second));
    assert!(!may_hide_a_write(at(100 * second), 103 * second));
    assert!(!may_hide_a_write(at(100 * second + 4_000_123), 101 * second));
}

#[test]
fn a_time_set_by_hand_says_nothing_about_the_file_system() {
    let second = 1_000_000_000;
    let touched = FileStamp { mtime_ns: 100 * second, ctime_ns: 100 * second + 123, ..FileStamp::default() };
    assert!(!may_hide_a_write(touched, 101 * second));
}

#[test]
fn c18_a_scan_that_is_stopped_leaves_a_huge_file_to_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    // Hashing all of it would take minutes.
    File::create(folder.path().join("huge")).unwrap().set_len(1 << 40).unwrap();
    let publish = PublishOptions::new(folder.path(), "http://example.org/");
    let catalogue = Catalogue::open(&folder.path().join(".catalogue")).unwrap();
    let holdings = Holdings::new(&publish, &catalogue).unwrap();
    let options = ScanOptions::new(&publish);
    let stop = options.stop.clone();
    let (ended, end) = mpsc::channel();
    thread::spawn(move || {
        ended.send(scan(&holdings, &catalogue, &options, &crate::NoMonitor)).unwrap();
    });
    assert!(end.recv_timeout(Duration::from_millis(50)).is_err(), "it is being hashed");
    stop.request();
    let stopped = end.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
}

#[test]
fn s4_a_file_that_changed_since_it_was_found_is_hashed_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    std::fs::write(&path, "longer than when it was found").unwrap();
    let catalogue = Catalogue::open(&folder.path().join(".catalogue")).unwrap();
    let hashing = HashPlan {
        published: vec![Algorithm::Sha256],
        before: Vec::new(),
        spool: None,
        stop: ScanStop::default(),
    };
    let mut hasher = FileHasher::new(&catalogue, &hashing, &crate::NoMonitor);
    // Long ago, so that the stamp is not read again before the bytes are.
    let found = FileStamp { length: 4, mtime_ns: 1, ctime_ns: 1, inode: 1 };
    let resource = Box::new(Resource::new(b"a".to_vec(), Uri::parse("http://h/a").unwrap()));
    let observed = hasher.observe(Candidate::Listed { resource, file: path.clone(), stamp: found }).unwrap();
    let resource = observed.found().unwrap();
    assert_eq!(resource.stamp, Some(stamp(&rustix::fs::stat(&path).unwrap())));
    assert_eq!(resource.state.length, Some(29));
    assert_eq!((hasher.done.hashed, hasher.done.hashed_bytes), (1, 4 + 29));
}
