//! The runs and audits of a phase: the judged ones, and runs before them that are cut off.

use std::{fmt::Write as _, sync::Arc, thread, time::Duration};

use instep_destination::{
    AuditOptions, AuditReport, Coverage, Durability, Error, Shutdown, Strategy, SyncOptions, SyncReport,
    TestMonitor, audit, sync,
};

use crate::{
    documents::Site,
    judge::Ended,
    killed,
    run::{Story, files},
    server::End,
    source::elsewhere,
};

impl Story<'_> {
    fn options(&self, url: &str) -> SyncOptions {
        let mut options = SyncOptions::new(url, self.copy.path());
        self.wishes.apply(&mut options);
        options.repair = self.repairs;
        // Only one run exists at a time, so the next one need not wait until the heartbeat of a killed one has stopped.
        (options.state, options.former_writer_ended) = (self.state.clone(), self.state.is_some());
        options.access.allow_origins = self.origins();
        options.allow_empty = true;
        options.durability = Durability::None;
        options.access.retries = 0;
        options
    }

    /// Returns the other origins of resources that the Source lists.
    fn origins(&self) -> Vec<String> {
        let other = elsewhere(&self.server.url()).trim_end_matches('/').to_owned();
        if self.oddities.moves { vec![other] } else { Vec::new() }
    }

    /// Waits for a run or an audit.
    fn wait<T>(&self, run: impl Future<Output = T>) -> T {
        killed::while_none_starts(|| self.runtime.block_on(run))
    }

    /// Makes runs before the judged one. They may do a part of its work and nothing else.
    fn sync_before(&mut self, url: &str) {
        if self.oddities.kills && self.whims.chance(60) {
            let after = usize::try_from(self.whims.within(1, 12)).unwrap();
            self.sync_killed(url, after);
        }
        self.sync_in_vain(url);
        let mut options = self.options(url);
        let is_stopped = self.stops && self.runs.chance(50);
        if is_stopped {
            options.shutdown = Shutdown::new();
            let end = End::Stop(options.shutdown.clone());
            self.server.end_after(usize::try_from(self.runs.within(2, 12)).unwrap(), end);
        }
        if is_stopped || self.repeats && self.runs.chance(30) {
            let result = self.wait(sync(&options, &TestMonitor::new()));
            let how = if is_stopped { "stopped" } else { "once more" };
            let _ = writeln!(self.log, "-- sync, {how}: {result:?}");
        }
    }

    /// Makes runs that the server or the operator cuts off.
    fn sync_in_vain(&mut self, url: &str) {
        let (is_refused, is_hurried) = (self.chances.chance(50), self.chances.chance(50));
        let after = usize::try_from(self.chances.within(1, 14)).unwrap();
        let most = Duration::from_millis(self.chances.below(40));
        if self.habits.refuses && is_refused {
            self.server.end_after(after, End::Refusal);
            let result = self.wait(sync(&self.options(url), &TestMonitor::new()));
            self.server.recover();
            let _ = writeln!(self.log, "-- sync, refused: {result:?}");
        }
        if self.habits.hurries && is_hurried {
            let mut options = self.options(url);
            options.max_duration = Some(most);
            let result = self.wait(sync(&options, &TestMonitor::new()));
            let _ = writeln!(self.log, "-- sync, hurried: {result:?}");
        }
    }

    /// Makes a run in a process of its own, which is killed after a number of requests.
    fn sync_killed(&mut self, url: &str, after: usize) {
        let run = killed::start(&self.options(url));
        self.server.end_after(after, End::Kill(Arc::clone(&run)));
        let status = loop {
            if let Some(status) = run.lock().unwrap().try_wait().unwrap() {
                break status;
            }
            thread::sleep(Duration::from_millis(2));
        };
        self.server.recover();
        let _ = writeln!(self.log, "-- sync, killed after {after} requests: {status}");
    }

    /// Makes the judged run of a phase, with other runs before it and an audit after it.
    pub(crate) fn sync_and_audit(&mut self, site: &Site) -> Ended {
        let url = format!("{}{}", self.server.url(), site.start);
        self.sync_before(&url);
        let foretold = self.foretell(&url);
        let before = files(self.copy.path());
        let options = self.options(&url);
        let monitor = TestMonitor::new();
        let result = self.wait(sync(&options, &monitor));
        let heard = monitor.recorded();
        let _ = writeln!(
            self.log,
            "-- sync: {result:#?}\nnotes {:#?}\nproblems {:#?}\nwarnings {:#?}\ncommitted {:#?}\nrequests {:#?}",
            heard.notes,
            heard.problems,
            heard.warnings,
            heard.committed,
            self.server.log()
        );
        let contradictions = match (foretold, &result) {
            (Some(audit), Ok(report)) => {
                let after = files(self.copy.path());
                let changed = after.iter().filter(|(path, bytes)| before.get(*path) != Some(*bytes));
                contradictions(&audit, report, changed.count() as u64, self.wishes.delete)
            }
            _ => Vec::new(),
        };
        let coverage = result.as_ref().ok().and_then(|report| report.coverage);
        let is_covered = coverage.is_some_and(Coverage::is_complete);
        let is_in_step = result.as_ref().is_ok_and(SyncReport::is_in_step);
        let compares = |report: &SyncReport| matches!(report.strategy, Strategy::List | Strategy::Dump);
        let compared_all = result.as_ref().is_ok_and(compares);
        let ended = result.map_or_else(|error| error.exit_code(), |report| report.exit_code());
        let result = self.audit(&url);
        let audited = result.map_or_else(|error| error.exit_code(), |report| report.exit_code());
        Ended { sync: ended, audit: audited, is_covered, is_in_step, compared_all, contradictions }
    }

    /// Audits the copy before a run, for every second seed, because it takes time. Returns `None` if there is no audit.
    /// Seeds with shared resources are left out: an audit counts them for each of their sets, and a run once.
    fn foretell(&mut self, url: &str) -> Option<AuditReport> {
        let has_copy = self.copy.path().join(".instep").exists();
        let is_asked =
            has_copy && self.seed.is_multiple_of(2) && !self.habits.shares && self.oddities.shares == 0;
        if is_asked { self.audit(url).ok() } else { None }
    }

    fn audit(&mut self, url: &str) -> Result<AuditReport, Error> {
        let mut options = AuditOptions::new(Some(url.to_owned()), self.copy.path());
        options.access.retries = 0;
        options.access.allow_origins = self.origins();
        self.wishes.select(&mut options.selection);
        let monitor = TestMonitor::new();
        let result = self.wait(audit(&options, &monitor));
        let heard = monitor.recorded();
        let _ = writeln!(
            self.log,
            "-- audit: {result:#?}\n{:#?}\nnotes {:#?}\nproblems {:#?}",
            heard.itemized, heard.notes, heard.problems
        );
        result
    }
}

/// Returns the differences between a run and an audit just before it. Resources that the audit could not compare may
/// turn out either way, and fetched bytes that equal those held are no difference.
fn contradictions(audit: &AuditReport, run: &SyncReport, changed: u64, deletes: bool) -> Vec<String> {
    let changes = audit.missing + audit.differing;
    let most = changes + audit.unauditable + audit.failed;
    let mut wrong = Vec::new();
    if run.created + run.updated < changes || changed > most {
        let (created, updated) = (run.created, run.updated);
        wrong.push(format!(
            "an audit finds {changes} to fetch, and then {created} are created, {updated} updated, {changed} are others"
        ));
    }
    if deletes && run.deleted != audit.surplus {
        wrong.push(format!("an audit finds {} to delete, and then {} are", audit.surplus, run.deleted));
    }
    wrong
}
