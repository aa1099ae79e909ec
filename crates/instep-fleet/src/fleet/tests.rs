//! A fleet with real Sources: which of them it visits, and what it records.

use std::time::Duration;

use instep_destination::{CopySize, VoidMonitor};
use instep_testkit::{FakeSource, Fault};
use tokio::time::timeout;

use super::*;
use crate::{
    Cadence, FleetPlace, SourceOperation, SourceState,
    record::{Claim, FleetWorker},
};

mod applying;
mod changing;
mod places;
#[cfg(feature = "postgres")]
mod shared;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

struct Quiet;

impl FleetMonitor for Quiet {
    fn begins(&self, _: &SourceName, _: &Path) -> Arc<dyn Monitor> {
        Arc::new(VoidMonitor)
    }
    fn ended(&self, _: &SourceName, _: Option<&FleetSource>) {}
    fn traffic(&self, _: &str, _: &Traffic) {}
    fn note(&self, _: &str) {}
}

fn name(text: &str) -> SourceName {
    text.parse().unwrap()
}

fn source(text: &str, at: &FakeSource) -> SourceDefinition {
    SourceDefinition::new(name(text), at.capability_list_url())
}

fn with_files(number: usize) -> FakeSource {
    let source = FakeSource::start();
    (0..number).for_each(|file| source.put(&format!("{file}.txt"), "abc"));
    source.snapshot();
    source
}

fn options(dir: &Path) -> FleetOptions {
    let mut options = FleetOptions::new(dir);
    options.access.retries = 0;
    options.pacing.quarantine_after = 2;
    options
}

/// Runs a fleet until a condition holds. Not every change is announced: a new worker is seen at the next look.
async fn until(fleet: &Fleet, holds: impl Fn(&Fleet) -> bool) {
    let shutdown = Shutdown::new();
    let running = tokio::spawn({
        let (fleet, shutdown) = (fleet.clone(), shutdown.clone());
        async move { fleet.run(shutdown).await }
    });
    let mut changed = fleet.changed();
    let waiting = async {
        while !holds(fleet) {
            let _ = timeout(Duration::from_millis(50), changed.changed()).await;
        }
    };
    let waited = timeout(PATIENCE, waiting).await;
    shutdown.request();
    running.await.unwrap().unwrap();
    assert!(waited.is_ok(), "{:#?}", fleet.sources());
}

/// Waits until a condition holds whose change nothing announces.
async fn until_so(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap();
}

fn state(fleet: &Fleet, of: &str) -> SourceState {
    fleet.source(&name(of)).unwrap().state(seconds())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_source_is_sized_and_brought_in_step_and_a_failing_one_costs_nobody_else() {
    let (a, b, bad) = (with_files(3), with_files(1), with_files(1));
    bad.fail_always("capabilitylist.xml", Fault::Status(404));
    let dir = tempfile::tempdir().unwrap();
    let mut elsewhere = source("b", &b);
    elsewhere.into = Some("there/b".into());
    let configured = [source("a", &a), elsewhere, source("bad", &bad)];
    let fleet = Fleet::open(options(dir.path()), &configured, Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| fleet.sources().iter().all(|source| source.standing.ended.is_some())).await;
    assert_eq!((state(&fleet, "a"), state(&fleet, "b")), (SourceState::InStep, SourceState::InStep));
    assert_eq!(state(&fleet, "bad"), SourceState::Failing);
    let a = fleet.source(&name("a")).unwrap();
    assert_eq!((a.standing.held, a.standing.bytes, a.standing.sized), (3, 9, Some(CopySize::new(3, 9))));
    assert!(dir.path().join("there/b").is_dir() && !a.standing.summary.is_empty());
    assert_eq!(fleet.looks(&name("a")).await.unwrap().len(), 1);
    assert_eq!(fleet.figures().bytes, 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p29_a_source_whose_run_was_killed_with_the_process_is_visited_again() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let open = || Fleet::open(options(dir.path()), &[source("a", &a)], Arc::new(Quiet)).unwrap();
    drop(open());
    let record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
    let killed = FleetWorker { id: 7, name: "killed".to_owned(), url: None, began: 1, running: 1, beat: 1 };
    record.register(&killed).unwrap();
    let claim = record.claim(7, (&name("a"), 0), (a.host(), 4), 1).unwrap();
    assert!(matches!(claim, Claim::Taken(_)));
    drop(record);
    until(&open(), |fleet| state(fleet, "a") == SourceState::InStep).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p28_a_source_is_in_step_only_if_its_copy_equals_it() {
    let a = with_files(2);
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", &a);
    definition.cadence = Cadence::Every { seconds: 1 };
    let fleet = Fleet::open(options(dir.path()), &[definition], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
    a.gap();
    a.put("later.txt", "after the gap");
    until(&fleet, |fleet| state(fleet, "a") == SourceState::Done).await;
    a.snapshot();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_waits_for_approval_is_sized_and_nothing_is_copied_before() {
    let a = with_files(2);
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", &a);
    definition.approve = true;
    let fleet = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
    fleet.add(&definition, "ada").await.unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::Waiting).await;
    assert_eq!(fleet.source(&name("a")).unwrap().standing.sized, Some(CopySize::new(2, 6)));
    assert!(!dir.path().join("a").exists());
    fleet.operate(SourceOperation::Approve, &name("a"), "ada").await.unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
    let log: Vec<_> = fleet.actions(i64::MAX, 9).await.unwrap().into_iter().map(|line| line.what).collect();
    assert_eq!(log, ["approve", "add"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_in_quarantine_comes_back_when_an_operator_asks_and_it_works_again() {
    let a = with_files(1);
    a.fail_always("capabilitylist.xml", Fault::Status(404));
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", &a);
    definition.cadence = Cadence::Every { seconds: 1 };
    let fleet = Fleet::open(options(dir.path()), &[definition], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::Quarantined).await;
    a.heal();
    fleet.operate(SourceOperation::Run, &name("a"), "ada").await.unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o164_what_this_side_prevented_is_no_step_towards_quarantine() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", &a);
    definition.cadence = Cadence::Every { seconds: 1 };
    let mut options = options(dir.path());
    options.pacing.quarantine_after = 3;
    std::fs::write(dir.path().join("a"), "a file in the place of the copy").unwrap();
    let fleet = Fleet::open(options, &[definition], Arc::new(Quiet)).unwrap();
    let standing = |fleet: &Fleet| fleet.source(&name("a")).unwrap().standing.clone();
    until(&fleet, |fleet| standing(fleet).failures >= 3).await;
    assert!(!standing(&fleet).quarantined, "{:?}", standing(&fleet));
    std::fs::remove_file(dir.path().join("a")).unwrap();
    a.fail_always("capabilitylist.xml", Fault::Status(404));
    until(&fleet, |fleet| standing(fleet).exit_code == Some(4)).await;
    assert_eq!(state(&fleet, "a"), SourceState::Failing, "it has failed once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_beside_the_process_pause_resume_and_forget() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let fleet = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
    let mut beside = FleetRecord::existing(&FleetPlace::in_folder(dir.path())).unwrap();
    beside.add(&[source("a", &a)], seconds()).unwrap();
    beside.operate(SourceOperation::Pause, &[name("a")], ("ada", seconds())).unwrap();
    until(&fleet, |fleet| !fleet.sources().is_empty() && state(fleet, "a") == SourceState::Paused).await;
    assert!(fleet.operate(SourceOperation::Run, &name("a"), "ada").await.is_err());
    beside.operate(SourceOperation::Resume, &[name("a")], ("ada", seconds())).unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
    beside.operate(SourceOperation::Forget, &[name("a")], ("ada", seconds())).unwrap();
    until(&fleet, |fleet| fleet.sources().is_empty()).await;
    assert!(dir.path().join("a/0.txt").is_file() || dir.path().join("a").is_dir(), "the copy stays");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_look_begins_beyond_the_bytes_of_the_disk() {
    let (a, b) = (with_files(3), with_files(3));
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    (options.disk, options.runs) = (Some(LEAST + 8), 1);
    let fleet = Fleet::open(options, &[source("a", &a), source("b", &b)], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| fleet.figures().held_back.is_some() && fleet.figures().running == 0).await;
    let held: u64 = fleet.sources().iter().map(|source| source.standing.held).sum();
    assert_eq!(held, 3, "one of the two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o505_a_look_that_ends_after_the_watches_begins_none() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", &a);
    definition.follow = true;
    let fleet = Fleet::open(options(dir.path()), &[definition], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
    let source = fleet.source(&name("a")).unwrap();
    fleet.watch(&source);
    assert!(fleet.state().end_watches().is_empty(), "the fleet has ended");
    fleet.state().begin_watches();
    fleet.watch(&source);
    let watches = fleet.state().end_watches();
    for watch in watches {
        watch.await.unwrap();
    }
    fleet.watch(&source);
    assert!(fleet.state().end_watches().is_empty());
}

/// Starts a fleet again whose one Source is followed, in step and not due, and runs it until `holds` is true of a number that
/// `count` returned before this start.
async fn start_again(a: &FakeSource, count: impl FnOnce() -> usize, holds: impl Fn(usize) -> bool) {
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", a);
    (definition.follow, definition.cadence) = (true, Cadence::Every { seconds: 86_400 });
    let configured = [definition];
    let open = || Fleet::open(options(dir.path()), &configured, Arc::new(Quiet)).unwrap();
    let fleet = open();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
    drop(fleet);
    let before = count();
    let (fleet, shutdown) = (open(), Shutdown::new());
    let running = tokio::spawn({
        let (fleet, shutdown) = (fleet.clone(), shutdown.clone());
        async move { fleet.run(shutdown).await }
    });
    until_so(|| holds(before)).await;
    shutdown.request();
    running.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o904_a_followed_source_that_is_not_due_is_listened_to_after_a_start() {
    let a = with_files(1);
    // Its documents are read to find the channels.
    start_again(&a, || a.requests().len(), |before| a.requests().len() > before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o742_the_channels_of_a_followed_source_that_cannot_be_reached_at_a_start_are_looked_for_again() {
    let a = with_files(1);
    let requests = || a.requests_for("capabilitylist.xml");
    let fail = || {
        a.fail_always("capabilitylist.xml", Fault::Status(404));
        requests()
    };
    start_again(&a, fail, |before| requests() > before + 2).await;
}

/// The least that a look is granted.
const LEAST: u64 = 1 << 20;

#[tokio::test]
async fn one_process_keeps_a_fleet() {
    let dir = tempfile::tempdir().unwrap();
    let first = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
    let error = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap_err();
    assert_eq!(error.exit_code(), 7, "{error}");
    drop(first);
    Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
}
