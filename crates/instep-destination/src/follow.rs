//! Following: a copy stays current by messages of channels, and by reading the Source again and again.

mod messages;

use std::{sync::Arc, time::Duration};

use futures_util::future::OptionFuture;
use tokio::time::{Instant, sleep};

use crate::{
    Contents, CopyLocation, Error, Event, Guard, Monitor, Outcome, Phase, Strategy, SyncOptions, SyncReport,
    listen::{Callbacks, Listener, Received},
    plan::Pace,
    run::{LocalCopy, RunLimits, SyncRun},
};

use messages::Attended;

/// The most attempts to lock the copy for the next round, 5 ms apart: the last round may still be releasing it.
const LETTING_GO: u32 = 40;

/// Delay before re-reading a document whose changes also arrive over a channel.
const A_WHILE: Duration = Duration::from_secs(10);

/// Applies the messages of channels, and also reads the Source periodically, often while it changes and seldom while
/// it does not, until the run should end.
pub(crate) async fn follow(options: &SyncOptions, monitor: &dyn Monitor) -> Result<SyncReport, Error> {
    let callbacks = match &options.callbacks {
        Some(callbacks) => Some(Arc::new(Callbacks::open(callbacks).await?)),
        None => None,
    };
    let listener = Listener::new(callbacks);
    let holds_copy = holds_copy(options)?;
    let pace = Pace::new(options.poll);
    let limits = RunLimits::of(options);
    let mut following = Following {
        options,
        monitor,
        limits,
        listener,
        pace,
        look_at: None,
        holds_copy,
        owes: false,
        has_completed: false,
        total: None,
    };
    let outcome = following.go_on().await;
    let Following { listener, total, .. } = following;
    listener.end().await;
    let mut report = total.unwrap_or_else(|| SyncReport::new(Strategy::Nothing, "nothing was read"));
    report.outcome = outcome?;
    Ok(report)
}

/// Returns `true` if an earlier run synchronized the copy, also if its folder was lost and the options name its state.
fn holds_copy(options: &SyncOptions) -> Result<bool, Error> {
    let copy = CopyLocation { dir: options.dir.clone(), state: options.state.clone() };
    Contents::find(&copy)?.map_or(Ok(false), |contents| contents.are_complete())
}

struct Following<'a> {
    options: &'a SyncOptions,
    monitor: &'a dyn Monitor,
    /// The limits of the run, which hold for all rounds together.
    limits: RunLimits,
    listener: Listener,
    pace: Pace,
    /// The moment at which to read a document that was announced as new; `None` if none was.
    look_at: Option<Instant>,
    /// `true` if an earlier run synchronized the copy: then a Source that is unreachable at the start is waited for.
    holds_copy: bool,
    /// `true` if the last round left entries owed.
    owes: bool,
    /// `true` if a round came to its end.
    has_completed: bool,
    /// The report of all rounds; `None` before the first one.
    total: Option<SyncReport>,
}

impl Following<'_> {
    /// Does one round after the other until following ends, and returns the outcome.
    async fn go_on(&mut self) -> Result<Outcome, Error> {
        let mut received = Received { look: true, ..Received::default() };
        loop {
            let mut failed = false;
            let pause = match self.round(&received).await {
                Ok((Attended::Withdrawn, _)) => return Ok(Outcome::Complete),
                Ok((_, ended)) if ended != Outcome::Complete => return Ok(ended),
                Ok((attended, _)) => self.pause_after(attended),
                Err(error) if self.goes_on_after(&error) => {
                    let what = crate::error::error_chain(&error);
                    if self.limits.are_reached(0) {
                        self.note(&what);
                        return Ok(Outcome::BudgetSpent);
                    }
                    self.note(&format!("{what}; looking again later"));
                    failed = true;
                    self.pause_after_failure(&error)
                }
                Err(error) => return Err(error),
            };
            self.monitor.event(Event::Leases(&self.listener.leases()));
            self.monitor.event(Event::Phase(Phase::Waiting));
            let over = OptionFuture::from(self.limits.time_left().map(sleep));
            received = tokio::select! {
                () = sleep(pause) => Received { look: true, ..self.listener.take() },
                () = self.listener.news() => self.listener.take(),
                () = self.options.shutdown.requested() => return Ok(Outcome::Interrupted),
                Some(()) = over => return Ok(Outcome::BudgetSpent),
            };
            // The messages of a failed round are not kept: the Change List has their changes, so the Source must be
            // read.
            received.look |= failed;
            received.notes.drain(..).for_each(|text| self.note(&text));
        }
    }

    /// Returns `true` if following continues after a failure. A first attempt without a copy ends: a mistyped URL is
    /// more likely than a Source that is away.
    fn goes_on_after(&self, error: &Error) -> bool {
        let may_come_back = self.holds_copy && !matches!(error, Error::Locked { .. });
        // A guard may later allow what it refuses now, and the rest of the round is done (B24). An old list comes from
        // a cache on the way, or from a Source that was restored and will publish again.
        let passing = [Guard::MaxDelete, Guard::Empty, Guard::TimeWentBack];
        let guarded = matches!(error, Error::Refused { guard, .. } if passing.contains(guard));
        let may_pass = error.is_retryable() || guarded;
        may_pass && (self.has_completed || may_come_back)
    }

    /// Returns the pause after a round that failed. A guard refuses the next round too, until the Source publishes again.
    fn pause_after_failure(&mut self, error: &Error) -> Duration {
        if error.is_retryable() { self.pace.after_unreachable() } else { self.pace.after_failure() }
    }

    /// Does one run over the copy, and returns its outcome.
    async fn round(&mut self, received: &Received) -> Result<(Attended, Outcome), Error> {
        let attempts = if self.has_completed { LETTING_GO } else { 0 };
        let mut run = begin(self.options, self.monitor, self.limits, attempts).await?;
        let wait_reporter = run.wait_reporter();
        let attended = wait_reporter.during(Box::pin(run.attend(received, &mut self.listener))).await;
        let (attended, result) = match attended {
            Ok(attended) => (attended, Ok(())),
            Err(error) => (Attended::Looked, Err(error)),
        };
        let so_far = run.reporter.report.clone();
        let report = match run.end(result) {
            Ok(report) => report,
            Err(error) => {
                // Most of it may be done, as when the guard refuses deletions.
                self.limits.spend(&so_far);
                self.total = Some(with_failed(self.total.take(), so_far));
                return Err(error);
            }
        };
        self.has_completed = true;
        self.limits.spend(&report);
        let ended = report.outcome;
        let came = report.created + report.updated + report.deleted > 0;
        self.owes = report.owed > 0;
        if self.owes && !came {
            // Owed resources that keep failing are requested less and less often.
            self.pace.after_failure()
        } else {
            self.pace.after(report.strategy != Strategy::Nothing)
        };
        self.total = Some(sum(self.total.take(), report));
        Ok((attended, ended))
    }

    /// Returns the time without messages after which the Source is read. With open channels and nothing owed it is a
    /// safety net only.
    fn pause_after(&mut self, attended: Attended) -> Duration {
        match attended {
            Attended::Applied { look_later: true } => {
                self.look_at.get_or_insert_with(|| Instant::now() + A_WHILE);
            }
            Attended::Applied { .. } => {}
            Attended::Looked | Attended::Withdrawn => self.look_at = None,
        }
        let can_wait = self.listener.is_connected() && !self.owes;
        let pause = if can_wait { self.options.poll.1 } else { self.pace.pause() };
        self.look_at.map_or(pause, |at| pause.min(at.saturating_duration_since(Instant::now())))
    }

    fn note(&self, text: &str) {
        self.monitor.event(Event::Note(text));
    }
}

/// Locks the copy and begins a run. The previous round may still hold the lock for a moment, so this is tried several
/// times.
async fn begin<'a>(
    options: &'a SyncOptions,
    monitor: &'a dyn Monitor,
    limits: RunLimits,
    mut attempts: u32,
) -> Result<SyncRun<'a>, Error> {
    loop {
        match SyncRun::begin(options, monitor, limits, LocalCopy::take) {
            Err(Error::Locked { .. }) if attempts > 0 => attempts -= 1,
            begun => {
                let mut run = begun?;
                run.note_other_maps()?;
                return Ok(run);
            }
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the report with what a failed round has done. Its last state is that of the round before.
fn with_failed(total: Option<SyncReport>, failed: SyncReport) -> SyncReport {
    let Some(total) = total else { return failed };
    let (reason, unchanged, owed, kept) = (total.reason.clone(), total.unchanged, total.owed, total.kept);
    SyncReport { reason, unchanged, owed, kept, ..sum(Some(total), failed) }
}

/// Returns one report for all rounds. Pending and unchanged resources are those of the last round.
fn sum(total: Option<SyncReport>, last: SyncReport) -> SyncReport {
    let Some(total) = total else { return last };
    let strategy = if last.strategy == Strategy::Nothing { total.strategy } else { last.strategy };
    let mut entries = total.entries;
    entries.add(&last.entries);
    SyncReport {
        strategy,
        entries,
        created: total.created + last.created,
        updated: total.updated + last.updated,
        deleted: total.deleted + last.deleted,
        versions: total.versions + last.versions,
        failed: total.failed + last.failed,
        skipped: total.skipped + last.skipped,
        bytes: total.bytes + last.bytes,
        planned_bytes: total.planned_bytes + last.planned_bytes,
        unverified: total.unverified + last.unverified,
        requests: total.requests + last.requests,
        elapsed: total.elapsed + last.elapsed,
        checkpoint: last.checkpoint.or(total.checkpoint),
        coverage: last.coverage.or(total.coverage),
        ..last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o408_the_summary_of_following_adds_up_unverified_resources_and_planned_bytes() {
        let round = |unverified, planned_bytes| {
            let mut report = SyncReport::new(Strategy::Changes, "a notification");
            (report.unverified, report.planned_bytes) = (unverified, planned_bytes);
            report
        };
        let total = sum(Some(sum(None, round(2, 300))), round(1, 40));
        assert_eq!((total.unverified, total.planned_bytes), (3, 340));
    }

    #[cfg(feature = "postgres")]
    #[tokio::test(flavor = "multi_thread")]
    async fn o489_a_copy_is_known_by_the_state_that_the_options_name() {
        let Some(server) = instep_testkit::PostgresServer::start() else { return };
        let source = instep_testkit::FakeSource::start().with_resources([("a.txt", "one")]);
        let folder = tempfile::tempdir().unwrap();
        let mut options = SyncOptions::new(source.url(""), folder.path().join("copy"));
        assert!(!holds_copy(&options).unwrap());
        options.state = Some(format!("{}?copy=it", server.url()));
        assert!(!holds_copy(&options).unwrap(), "it is new");
        crate::sync(&options, &crate::TestMonitor::new()).await.unwrap();
        assert!(holds_copy(&options).unwrap());
        // The folder was lost, and the state was not.
        options.dir = folder.path().join("another");
        assert!(holds_copy(&options).unwrap());
    }
}
