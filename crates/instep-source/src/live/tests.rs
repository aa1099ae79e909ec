//! A Source that is kept current while a guard or a file of the operator is in its way.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use instep_testkit::wait_until;
use resourcesync::Change;

use super::{settle::Touch, *};
use crate::{DumpPolicy, MaxDeletions, PublishOptions, PublishPhase, RecordingMonitor, publish::Unannounced};

/// Starts a Source that scans its content all the time.
fn start(options: PublishOptions, monitor: Arc<RecordingMonitor>) -> Live {
    let often = Duration::from_millis(20);
    let live = LiveOptions { watch: false, scan_every: often, interval: often };
    let overview = state::channel(Arc::new(Overview::default())).0;
    let publisher = Publisher::open(options).unwrap();
    Live::start(publisher, live, Box::new(Unannounced), overview, monitor).unwrap()
}

fn folder() -> (tempfile::TempDir, PublishOptions) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.txt", "b.txt"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    let options = PublishOptions::new(folder.path(), "http://example.org/");
    (folder, options)
}

#[test]
fn o470_a_new_file_is_published_although_the_deletions_beside_it_are_refused() {
    let (folder, mut options) = folder();
    options.guard.most = MaxDeletions::Count(0);
    let monitor = Arc::new(RecordingMonitor::new());
    let live = start(options, Arc::clone(&monitor));
    fs::remove_file(folder.path().join("a.txt")).unwrap();
    fs::write(folder.path().join("new.txt"), "new").unwrap();
    wait_until("the new file is published", || {
        monitor.seen().changes.iter().any(|(_, uri)| uri.as_str().ends_with("/new.txt"))
    });
    assert!(live.overview().borrow().failure.is_some(), "the refusal is shown");
    assert!(live.end().is_none());
    assert!(monitor.seen().changes.iter().all(|(change, _)| *change != Change::Deleted));
}

#[test]
fn o471_a_dump_that_cannot_be_put_in_place_is_not_built_again_after_each_publication() {
    let (folder, mut options) = folder();
    options.dumps.policy = DumpPolicy::Always;
    fs::create_dir(folder.path().join("resourcesync")).unwrap();
    fs::write(folder.path().join("resourcesync/resourcedump.xml"), "of the operator").unwrap();
    let monitor = Arc::new(RecordingMonitor::new());
    let live = start(options, Arc::clone(&monitor));
    let count = |phase: PublishPhase| monitor.seen().phases.iter().filter(|begun| **begun == phase).count();
    wait_until("the dump is refused", || {
        monitor.seen().problems.iter().any(|problem| problem.what.contains("resourcedump.xml"))
    });
    let scans = count(PublishPhase::Scan);
    wait_until("more publications", || count(PublishPhase::Scan) > scans + 5);
    assert!(live.end().is_none());
    assert_eq!(count(PublishPhase::Pack), 1);
}

#[test]
fn o626_scans_go_on_while_events_come_as_fast_as_they_are_noted() {
    let (folder, options) = folder();
    let monitor = Arc::new(RecordingMonitor::new());
    let live = start(options, Arc::clone(&monitor));
    let (messages, has_enough) = (live.messages.clone(), AtomicBool::new(false));
    let path = folder.path().join("a.txt");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !has_enough.load(Ordering::Relaxed) {
                    messages.send(LiveMessage::Touched(path.clone(), Touch::Whole)).unwrap();
                }
            });
        }
        let scans = || monitor.seen().phases.iter().filter(|begun| **begun == PublishPhase::Scan).count();
        let before = scans();
        let ends = std::time::Instant::now() + Duration::from_secs(30);
        while scans() < before + 5 && std::time::Instant::now() < ends {
            thread::yield_now();
        }
        has_enough.store(true, Ordering::Relaxed);
        assert!(scans() >= before + 5);
    });
    assert!(live.end().is_none());
}
