//! One large Source that several `instep run` bring in step together: each takes slices of its plan, and a killed one
//! loses only what it had not committed.

use std::time::Duration;

use instep_testkit::{FakeSource, Fault, Run, wait_until};

use super::workers::{SharedFleet, Worker, text};

const FILES: usize = 12_000;

/// The resources that a helping worker can lose: a group, and those in transfer.
const MOST_LOST: usize = 1_024 + 512;

/// The resources that the worker that shares a Source can lose.
const MOST_LOST_BY_FIRST: usize = 2_048 + 512;

/// Notes the shares that are removed before their workers have ended them.
const NOTE_CUT_OFF: &str = "
    CREATE TABLE instep.cut_off (sharer bigint);
    CREATE FUNCTION instep.note_cut_off() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO instep.cut_off VALUES (OLD.sharer); RETURN NULL; END $$;
    CREATE TRIGGER cut_off AFTER DELETE ON instep.share
        FOR EACH ROW WHEN (NOT OLD.ended) EXECUTE FUNCTION instep.note_cut_off();
";

/// A fleet with three workers, then one Source that takes each of them some time.
struct OneSource {
    fleet: SharedFleet,
    workers: Vec<Worker>,
    source: FakeSource,
}

impl OneSource {
    fn new() -> Option<Self> {
        Self::with_transfers("24")
    }

    /// Returns the same with another number of transfers, of all workers together.
    fn with_transfers(transfers: &str) -> Option<Self> {
        let fleet = SharedFleet::new()?;
        let limits = ["--runs-per-host", "1", "--per-host", transfers];
        let workers: Vec<_> = ["one", "two", "three"].map(|folder| fleet.work(folder, &limits)).into();
        let path = |number: usize| format!("n/{number:05}.txt");
        let source =
            FakeSource::start().with_resources((0..FILES).map(|number| (path(number), text("a", number))));
        for number in 0..FILES {
            source.fail_always(&path(number), Fault::Delay(Duration::from_millis(20)));
        }
        let url = source.capability_list_url();
        fleet.add_url("a", &url);
        Some(Self { fleet, workers, source })
    }

    /// Waits until three workers have slices, and returns the place of the one that has the Source.
    fn wait_for_all(&self) -> usize {
        let sql = "SELECT count(DISTINCT sharer) FROM instep.slice";
        wait_until("three workers have slices", || self.fleet.sql(sql) == "3");
        self.fleet.worker_of("a", &self.workers)
    }

    fn wait_for_some(&self, files: usize) {
        let has_come =
            || self.fleet.sql("SELECT count(*) FROM instep.held").parse::<usize>().unwrap() >= files;
        wait_until("some of the files are held", has_come);
    }

    fn wait_for_the_end(&self) {
        wait_until("the Source is in step", || {
            self.fleet.states().iter().all(|(state, _)| state == "in-step")
        });
    }

    /// Asserts that the copy equals the Source, and that nothing was stored twice.
    fn assert_equal(&self) {
        let truth: Vec<_> = (0..FILES).map(|number| text("a", number)).collect();
        assert!(self.fleet.resources("a") == truth, "the copy is not equal to the Source");
        assert_eq!(self.fleet.sql("SELECT count(*) FROM instep.pack WHERE dead > 0"), "0");
        assert_eq!(self.fleet.sql("SELECT count(*) FROM instep.slice"), "0");
        assert_eq!(self.fleet.sql("SELECT count(*) FROM instep.owed"), "0");
        let numbers = self.fleet.sql("SELECT count(DISTINCT id) FROM instep.held");
        assert_eq!(numbers, FILES.to_string(), "each row has a number of its own");
    }

    /// Returns the number of resources that were requested more than once.
    fn fetched_again(&self) -> usize {
        let tally = self.source.tally();
        tally.iter().filter(|(path, _)| path.starts_with("n/")).map(|(_, count)| *count - 1).sum()
    }

    fn changed(&self) -> usize {
        self.fleet.sql("SELECT COALESCE(sum(changed), 0) FROM instep_fleet.look").parse().unwrap()
    }
}

#[test]
fn workers_share_a_large_source_and_each_change_counts_once() {
    let Some(one) = OneSource::new() else { return };
    one.wait_for_all();
    one.wait_for_the_end();
    one.assert_equal();
    assert_eq!((one.fetched_again(), one.changed()), (0, FILES));
    let shares = one.fleet.sql("SELECT done, created FROM instep.share ORDER BY done");
    let shares: Vec<Vec<usize>> =
        shares.lines().map(|row| row.split('|').map(|count| count.parse().unwrap()).collect()).collect();
    let sum = |column: usize| shares.iter().map(|share| share[column]).sum::<usize>();
    assert_eq!((sum(0), sum(1)), (FILES, FILES), "{shares:?}");
    let least = shares.iter().filter(|share| share[0] > FILES / 10).count();
    assert_eq!(least, 3, "each worker did some of it: {shares:?}");
    // Later changes are few, and one worker applies them.
    one.source.put("n/00007.txt", "another text");
    drop(Run::of(&mut one.fleet.command(&["source", "run", "a"])).with_code(0));
    wait_until("the change has come", || one.fleet.resources("a")[7] == "another text");
}

#[test]
fn a_worker_that_is_killed_costs_a_large_source_at_most_what_it_had_not_committed() {
    let Some(one) = OneSource::new() else { return };
    let first = one.wait_for_all();
    one.wait_for_some(1);
    one.workers[(first + 1) % 3].signal("-KILL");
    one.wait_for_the_end();
    one.assert_equal();
    assert_eq!(one.changed(), FILES);
    assert!(one.fetched_again() <= MOST_LOST, "{} were fetched again", one.fetched_again());
    let left = one.fleet.sql("SELECT count(*) FROM instep.share WHERE NOT ended");
    assert_eq!(left, "1", "every share has ended but that of the run that has the copy");
}

#[test]
fn when_the_worker_that_shares_a_large_source_is_killed_another_one_concludes() {
    let Some(one) = OneSource::new() else { return };
    let first = one.wait_for_all();
    one.wait_for_some(1);
    one.workers[first].signal("-KILL");
    one.wait_for_the_end();
    one.assert_equal();
    assert!(one.changed() <= FILES);
    // Helping workers may have been about to commit when another worker took the Source over.
    let most = MOST_LOST_BY_FIRST + 2 * MOST_LOST;
    assert!(one.fetched_again() <= most, "{} were fetched again", one.fetched_again());
    let checkpoints = "SELECT count(*) FROM instep.set_of_resources WHERE datetime IS NOT NULL";
    assert_eq!(one.fleet.sql(checkpoints), "1");
}

#[test]
fn o961_workers_that_help_commit_what_they_have_before_another_run_removes_the_plan() {
    // One transfer for each worker: all that waits in its queue would take longer than the other run waits.
    let Some(one) = OneSource::with_transfers("3") else { return };
    let first = one.wait_for_all();
    one.wait_for_some(1);
    one.fleet.sql(NOTE_CUT_OFF);
    one.workers[first].signal("-KILL");
    let cut_off = || one.fleet.sql("SELECT count(*) FROM instep.cut_off");
    wait_until("another run has removed the plan", || cut_off() != "0");
    assert_eq!(cut_off(), "1", "the share of the killed worker, and no other");
}
