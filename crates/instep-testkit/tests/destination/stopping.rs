//! Runs that are stopped: they end at once, whatever they wait for, and keep everything that has arrived.

use std::{
    fs::{self, File},
    path::Path,
    thread,
    time::Duration,
};

use instep_destination::{
    AuditOptions, Event, Monitor, Outcome, Shutdown, SyncOptions, SyncReport, TestMonitor, Via, VoidMonitor,
    audit, sync,
};
use instep_testkit::{FakeSource, Fault, wait_for_part, wait_until};

use crate::support::{Copy, runtime};

/// Longer than any test takes, so that a run never ends because of this.
const NEVER: Duration = Duration::from_secs(24 * 3_600);

/// Ends a sync once a path was requested, and returns its result.
fn stopped_at(copy: &Copy, path: &str, change: impl FnOnce(&mut SyncOptions)) -> SyncReport {
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.access.timeout = NEVER;
    change(&mut options);
    let end = options.shutdown.clone();
    thread::scope(|scope| {
        let running = scope.spawn(|| runtime().block_on(sync(&options, &VoidMonitor)));
        copy.source.wait_for(path, 1);
        end.request();
        running.join().unwrap().unwrap()
    })
}

/// Asserts that the next run does what is left.
fn is_completed(copy: &Copy) {
    copy.source.heal();
    copy.source.release();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn b12_a_run_that_is_stopped_waits_for_no_transfer_that_stalls() {
    let copy = Copy::of_three();
    copy.source.fail_always("b.txt", Fault::Stall(1));
    let report = stopped_at(&copy, "b.txt", |_| {});
    assert_eq!((report.outcome, report.exit_code()), (Outcome::Interrupted, 130));
    is_completed(&copy);
}

#[test]
fn o751_a_run_that_is_stopped_before_it_has_compared_anything_does_not_say_that_nothing_is_new() {
    for path in ["capabilitylist.xml", "resourcelist.xml"] {
        let copy = Copy::of_three();
        copy.source.fail_always(path, Fault::Hold);
        let report = stopped_at(&copy, path, |_| {});
        assert_eq!(
            (report.outcome, &*report.reason),
            (Outcome::Interrupted, "nothing was compared"),
            "{path}"
        );
        is_completed(&copy);
    }
}

#[test]
fn b12_a_run_that_is_stopped_waits_for_no_package() {
    for (via, path) in [(Via::Dump, "resourcedump.zip"), (Via::Batch, "batch")] {
        for fault in [Fault::Hold, Fault::Stall(10), Fault::RetryAfter(503, "3600".to_owned())] {
            let copy = Copy::laid_out(|layout| (layout.dump, layout.batch) = (true, true));
            copy.source.fail_always(path, fault);
            let report = stopped_at(&copy, path, |options| options.via = via);
            assert_eq!((report.outcome, report.skipped), (Outcome::Interrupted, 0), "{via:?}");
            is_completed(&copy);
        }
    }
}

#[test]
fn b12_a_run_whose_time_is_over_waits_for_nothing() {
    for path in ["capabilitylist.xml", "resourcelist.xml", "b.txt"] {
        for fault in [Fault::Hold, Fault::Stall(1)] {
            let copy = Copy::of_three();
            copy.source.fail_always(path, fault.clone());
            let run = copy.sync_with(|options| {
                options.access.timeout = NEVER;
                options.max_duration = Some(Duration::from_millis(500));
            });
            assert_eq!(run.report().outcome, Outcome::BudgetSpent, "{path} {fault:?}");
            assert_eq!((run.exit_code(), run.report().has_problems()), (9, false), "{path} {fault:?}");
            is_completed(&copy);
        }
    }
}

#[test]
fn b12_following_ends_with_its_time_and_with_its_bytes() {
    let copy = Copy::of_three();
    let time = copy.sync_with(|options| {
        (options.follow, options.poll) = (true, (NEVER, NEVER));
        options.max_duration = Some(Duration::from_millis(500));
    });
    assert_eq!((time.report().outcome, time.exit_code()), (Outcome::BudgetSpent, 9));
    copy.source.put("a.txt", "a later state of some length");
    let bytes = copy.sync_with(|options| {
        (options.follow, options.poll) = (true, (Duration::ZERO, Duration::from_millis(10)));
        options.max_transfer = Some(10);
    });
    assert_eq!((bytes.report().outcome, bytes.exit_code()), (Outcome::BudgetSpent, 9));
    is_completed(&copy);
}

#[test]
fn b12_an_audit_that_is_stopped_during_a_document_is_interrupted() {
    for path in ["capabilitylist.xml", "resourcelist.xml"] {
        let copy = Copy::of_three();
        assert_eq!(copy.sync().exit_code(), 0);
        copy.source.forget_requests();
        copy.source.fail_always(path, Fault::Hold);
        let mut options = AuditOptions::new(Some(copy.source.url("")), copy.dir());
        options.access.timeout = NEVER;
        let end = options.shutdown.clone();
        let report = thread::scope(|scope| {
            let running = scope.spawn(|| runtime().block_on(audit(&options, &VoidMonitor)));
            copy.source.wait_for(path, 1);
            end.request();
            running.join().unwrap().unwrap()
        });
        assert_eq!((report.interrupted, report.exit_code()), (true, 130), "{path}");
    }
}

/// Returns `true` if this process has the file open.
fn is_open(file: &Path) -> bool {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
    descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok()).any(|target| target == file)
}

#[test]
fn b12_hashing_ends_within_a_file() {
    let copy = Copy::of_three();
    assert_eq!(copy.sync().exit_code(), 0);
    // Reading it would take hours.
    File::options().write(true).open(copy.dir().join("a.txt")).unwrap().set_len(8 << 40).unwrap();
    let mut options = AuditOptions::new(None, copy.dir());
    let end = options.shutdown.clone();
    let report = thread::scope(|scope| {
        let running = scope.spawn(|| runtime().block_on(audit(&options, &VoidMonitor)));
        let file = copy.dir().join("a.txt");
        wait_until("the file is hashed", || is_open(&file));
        end.request();
        running.join().unwrap().unwrap()
    });
    assert_eq!((report.interrupted, report.differing), (true, 0));
    options = AuditOptions::new(None, copy.dir());
    options.shutdown.request();
    let before = TestMonitor::new();
    assert_eq!(runtime().block_on(audit(&options, &before)).unwrap().exit_code(), 130);
    let repair = copy.sync_with(|options| {
        options.repair = true;
        options.max_duration = Some(Duration::from_millis(500));
    });
    assert_eq!((repair.report().outcome, repair.exit_code()), (Outcome::BudgetSpent, 9));
}

#[test]
fn p9_what_arrived_of_a_resource_is_continued_by_the_next_run_and_the_one_after_it() {
    const MIB: usize = 1 << 20;
    let bytes: Vec<u8> = (0..8 * MIB as u64).map(|number| ((number * 2_654_435_761) >> 13) as u8).collect();
    let copy = Copy::of(FakeSource::start().with_resources([("large", bytes)]));
    for (round, arrived) in [(1, 4 * MIB), (2, 6 * MIB)] {
        let from = if round == 1 { 0 } else { 4 * MIB };
        copy.source.fail("large", [Fault::Stall(arrived - from)]);
        let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
        options.access.timeout = NEVER;
        let end = options.shutdown.clone();
        thread::scope(|scope| {
            let running = scope.spawn(|| runtime().block_on(sync(&options, &VoidMonitor)));
            wait_for_part(&copy.dir(), arrived as u64);
            end.request();
            assert_eq!(running.join().unwrap().unwrap().outcome, Outcome::Interrupted);
        });
    }
    assert_eq!(copy.sync().exit_code(), 0);
    let requests: Vec<_> =
        copy.source.requests().into_iter().filter(|request| request.path == "large").collect();
    let ranges: Vec<_> = requests.iter().map(|request| request.header("range")).collect();
    assert_eq!(ranges, [None, Some("bytes=4194304-"), Some("bytes=6291456-")]);
    assert!(requests[1..].iter().all(|request| request.header("if-range").is_some()));
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(fs::read_dir(copy.dir().join(".instep/staging")).unwrap().count(), 0);
}

#[test]
fn p9_what_arrived_of_an_earlier_state_is_fetched_anew() {
    let copy = Copy::of(FakeSource::start().with_resources([("large", vec![1; 4 << 20])]));
    copy.source.fail("large", [Fault::Stall(2 << 20)]);
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.access.timeout = NEVER;
    let end = options.shutdown.clone();
    thread::scope(|scope| {
        let running = scope.spawn(|| runtime().block_on(sync(&options, &VoidMonitor)));
        wait_for_part(&copy.dir(), 2 << 20);
        end.request();
        running.join().unwrap().unwrap();
    });
    copy.source.put("large", vec![2; 4 << 20]);
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
    assert_eq!(fs::read_dir(copy.dir().join(".instep/staging")).unwrap().count(), 0);
}

/// Ends a sync once it reports what it waits for.
struct UntilWaiting(Shutdown);

impl Monitor for UntilWaiting {
    fn event(&self, event: Event<'_>) {
        if let Event::UnderWay { requests, waiting } = event
            && (!waiting.is_empty()
                || requests.iter().any(|request| request.uri.ends_with("resourcelist.xml")))
        {
            self.0.request();
        }
    }
}

#[test]
fn p10_whoever_is_waited_for_is_reported_while_documents_are_awaited_too() {
    for fault in [Fault::Hold, Fault::RetryAfter(503, "1000000000".to_owned())] {
        let copy = Copy::of(FakeSource::start().with_resources([("a", "text")]));
        copy.source.fail_always("resourcelist.xml", fault);
        let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
        // Only a caller that is informed of the wait can end it.
        (options.access.timeout, options.max_duration) = (NEVER, Some(Duration::from_secs(120)));
        let monitor = UntilWaiting(options.shutdown.clone());
        let report = runtime().block_on(sync(&options, &monitor)).unwrap();
        assert_eq!(report.outcome, Outcome::Interrupted);
        copy.source.release();
    }
}

#[test]
fn o418_transfers_end_with_a_run_that_fails() {
    let copy =
        Copy::of(FakeSource::start().with_resources([("large", vec![7; 4 << 20]), ("small", vec![7])]));
    copy.source.fail_always("large", Fault::Drip(Duration::from_millis(20)));
    copy.source.fail_always("small", Fault::Hold);
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.max_duration = Some(Duration::from_secs(120));
    // It outlives the run, as that of an application does, so only the run can end its transfers.
    let runtime = runtime();
    let result = thread::scope(|scope| {
        let running = scope.spawn(|| runtime.block_on(sync(&options, &VoidMonitor)));
        copy.source.wait_for("small", 1);
        let staging = copy.dir().join(".instep/staging");
        wait_until("the large one arrives", || fs::read_dir(&staging).unwrap().next().is_some());
        // From now on nothing can be staged.
        fs::remove_dir_all(&staging).unwrap();
        copy.source.release();
        running.join().unwrap()
    });
    assert!(result.is_err(), "{result:?}");
    wait_until("the transfer of the large one has ended", || {
        copy.source.forget_requests();
        copy.source.most_at_once() == 0
    });
}
