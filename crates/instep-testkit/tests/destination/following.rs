use std::time::Duration;

use instep_destination::{Outcome, SyncOptions, TestMonitor, status, sync};

use crate::support::Copy;

#[test]
fn following_stays_in_step_until_it_is_told_to_end() {
    let copy = Copy::of_three();
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.follow = true;
    options.delete = true;
    options.poll = (Duration::from_millis(10), Duration::from_millis(50));
    let end = options.shutdown.clone();
    let monitor = TestMonitor::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    std::thread::scope(|scope| {
        let following = scope.spawn(|| runtime.block_on(sync(&options, &monitor)));
        copy.source.wait_for("d/c.txt", 1);
        copy.source.put("a.txt", "changed");
        copy.source.wait_for("a.txt", 2);
        copy.source.delete("b.txt");
        copy.source.put("e.txt", "created");
        copy.source.wait_for("e.txt", 1);
        end.cancel();
        let report = following.join().unwrap().unwrap();
        assert_eq!((report.outcome, report.created), (Outcome::Interrupted, 4));
    });
    assert_eq!(copy.sync_with(|options| options.delete = true).exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_status_tells_what_is_held_and_owed() {
    let copy = Copy::of_three();
    copy.source.fail_always("b.txt", instep_testkit::Fault::Status(404));
    copy.sync();
    let status = status(&copy.dir()).unwrap();
    assert_eq!((status.held, status.bytes, status.owed), (2, 8, 1));
    assert_eq!(status.problems.get("missing"), Some(&1));
    assert!(status.checkpoint.is_some() && status.last_run.is_some() && !status.running);
    assert_eq!(status.url, Some(copy.source.url("")));
}

#[test]
fn a_spent_budget_leaves_the_rest_for_the_next_run() {
    let copy = Copy::of_three();
    let run = copy.sync_with(|options| {
        options.max_transfer = Some(1);
        options.access.transfers = 1;
    });
    assert_eq!((run.exit_code(), run.report().outcome), (9, Outcome::BudgetSpent));
    assert!(run.report().created >= 1);
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}
