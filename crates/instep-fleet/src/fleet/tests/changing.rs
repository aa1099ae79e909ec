//! A fleet whose clock, configuration or disk changes while it runs.

use std::sync::Mutex;

use tokio::sync::mpsc;

use super::*;

/// Keeps the sentences for the operator.
#[derive(Default)]
struct Noting(Mutex<Vec<String>>);

impl FleetMonitor for Noting {
    fn begins(&self, _: &SourceName, _: &Path) -> Arc<dyn Monitor> {
        Arc::new(VoidMonitor)
    }
    fn ended(&self, _: &SourceName, _: Option<&FleetSource>) {}
    fn traffic(&self, _: &str, _: &Traffic) {}
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o105_a_clock_that_was_set_back_does_not_keep_sources_waiting() {
    let (a, b) = (with_files(1), with_files(1));
    let dir = tempfile::tempdir().unwrap();
    let fleet =
        Fleet::open(options(dir.path()), &[source("a", &a), source("b", &b)], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| ["a", "b"].iter().all(|of| state(fleet, of) == SourceState::InStep)).await;
    let last = fleet.source(&name("b")).unwrap().standing.ended;
    drop(fleet);
    // The look at `a` ended ten years ahead, and that at `b` now; the next one of either is due later still.
    let file = rusqlite::Connection::open(dir.path().join(".instep/fleet.sqlite")).unwrap();
    let ahead = seconds() + 10 * 365 * 86_400;
    file.execute("UPDATE source SET ended = ?1 WHERE name = 'a'", [ahead]).unwrap();
    file.execute("UPDATE source SET due = ?1", [ahead + 900]).unwrap();
    drop(file);
    let fleet =
        Fleet::open(options(dir.path()), &[source("a", &a), source("b", &b)], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| fleet.source(&name("a")).unwrap().standing.ended < Some(ahead)).await;
    assert_eq!(fleet.source(&name("b")).unwrap().standing.ended, last);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o453_a_source_whose_sizing_was_interrupted_is_sized_again_before_it_waits_for_approval() {
    let a = with_files(2);
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", &a);
    definition.approve = true;
    let fleet = Fleet::open(options(dir.path()), &[definition], Arc::new(Quiet)).unwrap();
    let sized = || fleet.source(&name("a")).unwrap().standing.sized;
    a.fail("capabilitylist.xml", [Fault::Hold]);
    until(&fleet, |fleet| fleet.figures().running == 1).await;
    a.release();
    assert_eq!(sized(), None);
    until(&fleet, |fleet| state(fleet, "a") == SourceState::Waiting).await;
    assert_eq!(sized(), Some(CopySize::new(2, 6)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o441_a_requested_run_that_the_end_of_the_process_interrupts_is_due_again() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", &a);
    definition.cadence = Cadence::Every { seconds: 86_400 };
    let fleet = Fleet::open(options(dir.path()), &[definition], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
    let due = || fleet.source(&name("a")).unwrap().standing.due;
    assert!(due() > seconds() + 80_000);
    a.fail("capabilitylist.xml", [Fault::Hold]);
    fleet.operate(SourceOperation::Run, &name("a"), "ada").await.unwrap();
    until(&fleet, |fleet| fleet.figures().running == 1).await;
    a.release();
    assert!(due() <= seconds());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o450_announcements_of_a_failing_source_do_not_end_its_pause_at_once() {
    let a = with_files(1);
    for page in ["", ".well-known/resourcesync", "capabilitylist.xml", "resourcelist.xml"] {
        a.fail_always(page, Fault::Status(500));
    }
    let dir = tempfile::tempdir().unwrap();
    let fleet = Fleet::open(options(dir.path()), &[source("a", &a)], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::Failing).await;
    let ended = fleet.source(&name("a")).unwrap().standing.ended.unwrap();
    let due = fleet.state().push(&name("a"), ended + 1).unwrap();
    assert_eq!(due - ended, 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o446_a_source_whose_look_could_not_be_recorded_is_visited_again() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    drop(FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap());
    let file = rusqlite::Connection::open(dir.path().join(".instep/fleet.sqlite")).unwrap();
    // No look can be recorded for some seconds, as on a full disk; no other process writes when that is over.
    let full = format!(
        "CREATE TRIGGER full BEFORE UPDATE OF ended ON source
         WHEN CAST(strftime('%s', 'now') AS INTEGER) < {} BEGIN SELECT RAISE(ABORT, 'full'); END",
        seconds() + 5
    );
    file.execute_batch(&full).unwrap();
    drop(file);
    let fleet = Fleet::open(options(dir.path()), &[source("a", &a)], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o106_new_rules_of_a_source_apply_at_once_also_if_they_come_during_a_run() {
    let a = with_files(2);
    a.fail("1.txt", [Fault::Hold]);
    let dir = tempfile::tempdir().unwrap();
    let mut definition = source("a", &a);
    (definition.cadence, definition.include) =
        (Cadence::Every { seconds: 86_400 }, vec!["/1.txt".to_owned()]);
    let fleet = Fleet::open(options(dir.path()), &[definition.clone()], Arc::new(Quiet)).unwrap();
    let keeping = until(&fleet, |fleet| fleet.source(&name("a")).unwrap().standing.held == 2);
    let changing = async {
        until_so(|| a.requests_for("1.txt") > 0).await;
        definition.include.clear();
        fleet.reload(options(dir.path()), &[definition]).await.unwrap();
        a.release();
    };
    tokio::join!(keeping, changing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o112_a_source_that_gets_another_name_during_its_run_goes_on_under_that() {
    let a = with_files(2);
    a.fail("1.txt", [Fault::Hold]);
    let dir = tempfile::tempdir().unwrap();
    let named = |of: &str| {
        let mut definition = source(of, &a);
        definition.into = Some("kept".into());
        definition
    };
    let fleet = Fleet::open(options(dir.path()), &[named("a")], Arc::new(Quiet)).unwrap();
    let keeping = until(&fleet, |fleet| {
        fleet.source(&name("b")).is_some_and(|b| b.state(seconds()) == SourceState::InStep)
    });
    let renaming = async {
        until_so(|| a.requests_for("1.txt") > 0).await;
        fleet.reload(options(dir.path()), &[named("b")]).await.unwrap();
    };
    tokio::join!(keeping, renaming);
    let looks = fleet.looks(&name("b")).await.unwrap();
    assert!(looks.iter().all(|look| look.exit_code == 0), "{looks:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o120_a_disk_that_keeps_all_runs_from_beginning_is_said_once() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    options.min_free = u64::MAX;
    let noting = Arc::new(Noting::default());
    let monitor = Arc::clone(&noting) as Arc<dyn FleetMonitor>;
    let fleet = Fleet::open(options.clone(), &[source("a", &a)], monitor).unwrap();
    let keeping = until(&fleet, |fleet| state(fleet, "a") == SourceState::InStep);
    let freeing = async {
        until_so(|| fleet.figures().held_back.is_some() && !noting.0.lock().unwrap().is_empty()).await;
        options.min_free = 0;
        fleet.reload(options, &[source("a", &a)]).await.unwrap();
    };
    tokio::join!(keeping, freeing);
    let noted = noting.0.lock().unwrap().clone();
    assert_eq!(noted, ["No run begins: the disk has less free space than is to be kept", "Runs begin again"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o183_what_is_newly_pending_is_retried_soon_also_at_a_source_that_seldom_changes() {
    let a = with_files(2);
    a.fail("1.txt", [Fault::Status(503)]);
    let dir = tempfile::tempdir().unwrap();
    FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap().add(&[source("a", &a)], 0).unwrap();
    let file = rusqlite::Connection::open(dir.path().join(".instep/fleet.sqlite")).unwrap();
    file.execute("UPDATE source SET interval = 2592000", []).unwrap();
    drop(file);
    let fleet = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
    until(&fleet, |fleet| fleet.source(&name("a")).unwrap().standing.pending == 1).await;
    let standing = fleet.source(&name("a")).unwrap().standing.clone();
    assert_eq!((standing.held, standing.interval), (1, 900));
    assert!(standing.due <= seconds() + 1_000, "{standing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o510_an_action_that_is_recorded_is_applied_also_if_whoever_asked_for_it_has_gone() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let fleet = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
    // As a client of the API that does not wait for the answer: the record is written nevertheless.
    let _ = timeout(Duration::ZERO, fleet.add(&source("a", &a), "ada")).await;
    let beside = FleetRecord::existing(&FleetPlace::in_folder(dir.path())).unwrap();
    until_so(|| !beside.sources().unwrap().is_empty()).await;
    until(&fleet, |fleet| fleet.source(&name("a")).is_some_and(|a| a.standing.ended.is_some())).await;
}

/// Fails when an alert cannot be sent.
struct Breaking;

impl FleetMonitor for Breaking {
    fn begins(&self, _: &SourceName, _: &Path) -> Arc<dyn Monitor> {
        Arc::new(VoidMonitor)
    }
    fn ended(&self, _: &SourceName, _: Option<&FleetSource>) {}
    fn traffic(&self, _: &str, _: &Traffic) {}
    fn note(&self, text: &str) {
        assert!(!text.starts_with("An alert could not be sent"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o514_a_fleet_whose_lease_or_alerts_fail_by_a_fault_in_the_program_ends() {
    let a = with_files(1);
    a.fail_always("capabilitylist.xml", Fault::Status(404));
    a.fail_always("hook", Fault::Status(500));
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    (options.alert_after, options.webhook) = (1, Some(a.url("hook")));
    let fleet = Fleet::open(options, &[source("a", &a)], Arc::new(Breaking)).unwrap();
    let running = tokio::spawn(async move { fleet.run(Shutdown::new()).await });
    let ended = timeout(PATIENCE, running).await.unwrap();
    assert!(ended.unwrap_err().is_panic());
}

/// Passes the sentences for the operator on as they come.
struct Telling(mpsc::UnboundedSender<String>);

impl FleetMonitor for Telling {
    fn begins(&self, _: &SourceName, _: &Path) -> Arc<dyn Monitor> {
        Arc::new(VoidMonitor)
    }
    fn ended(&self, _: &SourceName, _: Option<&FleetSource>) {}
    fn traffic(&self, _: &str, _: &Traffic) {}
    fn note(&self, text: &str) {
        let _ = self.0.send(text.to_owned());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o500_a_record_that_cannot_be_written_ends_no_fleet_and_is_reported_once() {
    let (a, b) = (with_files(1), with_files(1));
    let dir = tempfile::tempdir().unwrap();
    let (told, mut notes) = mpsc::unbounded_channel();
    let fleet = Fleet::open(options(dir.path()), &[source("a", &a)], Arc::new(Telling(told))).unwrap();
    let shutdown = Shutdown::new();
    let running = tokio::spawn({
        let (fleet, shutdown) = (fleet.clone(), shutdown.clone());
        async move { fleet.run(shutdown).await }
    });
    let mut changed = fleet.changed();
    let mut in_step = async |of: &str| {
        let there = |fleet: &Fleet| fleet.source(&name(of)).map(|source| source.state(seconds()));
        while there(&fleet) != Some(SourceState::InStep) {
            timeout(PATIENCE, changed.changed()).await.unwrap().unwrap();
        }
    };
    in_step("a").await;
    let fail = |fails| fleet.0.record.lock().unwrap().fail_to_write(fails);
    fail(true);
    let mut beside = FleetRecord::existing(&FleetPlace::in_folder(dir.path())).unwrap();
    beside.add(&[source("b", &b)], seconds()).unwrap();
    let note = timeout(PATIENCE, notes.recv()).await.unwrap().unwrap();
    assert!(note.starts_with("Waiting for the record of the fleet: Cannot use "), "{note}");
    fail(false);
    in_step("b").await;
    let note = timeout(PATIENCE, notes.recv()).await.unwrap().unwrap();
    assert_eq!(note, "The record of the fleet answers again");
    shutdown.request();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn o941_an_announcement_that_cannot_be_recorded_is_recorded_later() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let fleet = Fleet::open(options(dir.path()), &[source("a", &a)], Arc::new(Quiet)).unwrap();
    let beside = FleetRecord::existing(&FleetPlace::in_folder(dir.path())).unwrap();
    let due = || beside.source(&name("a")).unwrap().standing.due;
    let fail = |fails| fleet.0.record.lock().unwrap().fail_to_write(fails);
    fail(true);
    assert_eq!(fleet.state().push(&name("a"), 10), Some(10));
    assert!(fleet.record_announced().await.is_err() && due() > 10);
    fail(false);
    fleet.record_announced().await.unwrap();
    assert_eq!(due(), 10);
    assert!(fleet.state().announced().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o969_the_end_of_a_run_that_cannot_be_recorded_is_reported_at_once_and_recorded_later() {
    let a = with_files(1);
    a.fail("capabilitylist.xml", [Fault::Hold]);
    let dir = tempfile::tempdir().unwrap();
    let (told, mut notes) = mpsc::unbounded_channel();
    let fleet = Fleet::open(options(dir.path()), &[source("a", &a)], Arc::new(Telling(told))).unwrap();
    let shutdown = Shutdown::new();
    let running = tokio::spawn({
        let (fleet, shutdown) = (fleet.clone(), shutdown.clone());
        async move { fleet.run(shutdown).await }
    });
    until_so(|| fleet.figures().running == 1).await;
    let fail = |fails| fleet.0.record.lock().unwrap().fail_to_write(fails);
    fail(true);
    a.release();
    let note = timeout(PATIENCE, notes.recv()).await.unwrap().unwrap();
    assert!(note.starts_with("Waiting for the record of the fleet: Cannot use "), "{note}");
    assert!(fleet.figures().record_fault.is_some() && fleet.figures().running == 1);
    // Announced before the result is recorded, and after the run that could have brought it.
    assert_eq!(fleet.state().push(&name("a"), seconds()), None);
    fail(false);
    let note = timeout(PATIENCE, notes.recv()).await.unwrap().unwrap();
    assert_eq!(note, "The record of the fleet answers again");
    assert_eq!(fleet.figures().record_fault, None);
    until_so(|| fleet.figures().looks.get(&0) == Some(&2)).await;
    assert!(!fleet.looks(&name("a")).await.unwrap().is_empty());
    shutdown.request();
    running.await.unwrap().unwrap();
}
