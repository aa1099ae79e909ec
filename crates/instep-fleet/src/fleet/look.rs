//! One look at a Source: `sync`, and before the first one a dry run if an operator must approve the Source.

use std::sync::{Arc, Mutex, PoisonError};

use instep_destination::{
    Client, CopyLocation, CopySize, Error, ErrorKind, Event, Monitor, Outcome, Shutdown, SyncOptions,
    SyncReport, documents::DocumentObserver, exit_code, sync,
};
use instep_store::Shortage;
use tokio::task::{JoinError, spawn_blocking};

use crate::{
    cause::LookCause,
    definition::SourceDefinition,
    options::FleetOptions,
    schedule::LookVerdict,
    standing::{SourceHold, SourceStanding},
    survey::{SourceSurvey, Surveyor},
};

/// Everything that a look needs.
pub(super) struct LookTask {
    pub(super) definition: SourceDefinition,
    pub(super) standing: SourceStanding,
    pub(super) hold: SourceHold,
    pub(super) copy: CopyLocation,
    pub(super) client: Client,
    pub(super) fleet: FleetOptions,
    /// The time at which it begins, in seconds since 1970.
    pub(super) began: i64,
    /// The bytes that it may transfer.
    pub(super) grant: Option<u64>,
    pub(super) shutdown: Shutdown,
}

/// The end of a look.
#[derive(Debug, Default)]
pub(super) struct LookOutcome {
    /// `None` if it shows nothing about the Source: it was interrupted, or only a dry run.
    pub(super) verdict: Option<LookVerdict>,
    pub(super) exit_code: u8,
    /// The cause of a failure, if an operator can remove it.
    pub(super) cause: Option<LookCause>,
    /// `true` if the copy equals the Source.
    pub(super) in_step: bool,
    pub(super) summary: String,
    /// The size of the first plan.
    pub(super) sized: Option<CopySize>,
    /// The size of the copy; `None` if it is as before.
    pub(super) holds: Option<CopySize>,
    pub(super) checkpoint: Option<i64>,
    pub(super) pending: u64,
    pub(super) changed: u64,
    pub(super) transferred: u64,
    /// The documents that arrived.
    pub(super) survey: Option<SourceSurvey>,
}

impl LookOutcome {
    /// Returns `true` if the look only measured the Source, whose copy an operator has to approve.
    pub(super) fn has_measured(&self) -> bool {
        self.verdict.is_none() && self.exit_code == exit_code::DONE
    }

    /// Returns the outcome of a look that a fault in the program ended.
    pub(super) fn broken(error: &JoinError) -> Self {
        let summary = format!("A fault in the program ended the look: {error}");
        Self { verdict: Some(LookVerdict::Blocked), exit_code: exit_code::FAILED, summary, ..Self::default() }
    }

    fn failed(error: &Error) -> Self {
        let verdict = match error.kind() {
            _ if error.is_storage_away() => Some(LookVerdict::Outage),
            // It is over in a moment, and says nothing about the Source: the fleet would fail as a whole within seconds.
            _ if Shortage::behind(error) == Some(Shortage::OpenFiles) => Some(LookVerdict::Outage),
            ErrorKind::Interrupted => None,
            ErrorKind::Locked | ErrorKind::Storage | ErrorKind::NewerState | ErrorKind::Usage => {
                Some(LookVerdict::Blocked)
            }
            _ => Some(LookVerdict::Failed),
        };
        let summary = instep_store::error_chain(error);
        let cause = LookCause::of(error);
        Self { verdict, exit_code: error.exit_code(), cause, summary, ..Self::default() }
    }
}

/// Runs a Source.
pub(super) async fn look(task: LookTask, monitor: &dyn Monitor) -> LookOutcome {
    let surveyor = Arc::new(Surveyor::new(&task.definition.url, task.began));
    let outcome = match options(&task) {
        Ok(mut options) => {
            options.document_observer = Some(Arc::clone(&surveyor) as Arc<dyn DocumentObserver>);
            size_and_copy(&task, options, monitor).await
        }
        Err(error) => LookOutcome::failed(&error),
    };
    LookOutcome { survey: surveyor.finish(), ..outcome }
}

async fn size_and_copy(task: &LookTask, mut options: SyncOptions, monitor: &dyn Monitor) -> LookOutcome {
    let is_to_size = task.standing.is_new() && task.standing.sized.is_none();
    let mut sized = task.standing.sized;
    // The size is determined by a separate dry run, which reads all documents. It is made only if an operator must
    // approve the Source before anything is fetched.
    if is_to_size && task.definition.approve {
        // It keeps nothing, so the budget of the disk does not end it.
        (options.dry_run, options.max_transfer) = (true, None);
        let sizer = PlanSizer { sum: Mutex::default(), beside: monitor, is_dry: true };
        match sync(&options, &sizer).await {
            Err(error) => return LookOutcome::failed(&error),
            // An operator would approve the part that was counted by then.
            Ok(report) if report.outcome == Outcome::Interrupted => return reported(&report),
            Ok(_) => {}
        }
        (options.dry_run, options.max_transfer) = (false, task.grant);
        sized = Some(sizer.sum().unwrap_or_default());
        let standing = SourceStanding { sized, ..task.standing.clone() };
        if standing.waits_for_approval(task.definition.approve) {
            let summary = "sized; an operator has to approve it".to_owned();
            return LookOutcome { summary, sized, ..LookOutcome::default() };
        }
    }
    let sizer = PlanSizer { sum: Mutex::default(), beside: monitor, is_dry: false };
    let result = sync(&options, &sizer).await;
    sized = sized.or_else(|| sizer.sum().filter(|_| is_to_size));
    match result {
        Ok(report) => {
            let holds = if touched(&report) || task.standing.is_new() { holds(task).await } else { None };
            LookOutcome { sized, holds, ..reported(&report) }
        }
        Err(error) => {
            // The copy keeps what was committed before the error, so its size is read again.
            let holds = holds(task).await;
            LookOutcome { sized, holds, ..LookOutcome::failed(&error) }
        }
    }
}

fn options(task: &LookTask) -> Result<SyncOptions, Error> {
    let mut options = task.definition.run_options(&task.fleet)?;
    options.max_transfer = task.grant;
    options.shutdown = task.shutdown.clone();
    options.access.shared = Some(task.client.clone());
    Ok(options)
}

fn touched(report: &SyncReport) -> bool {
    report.created + report.updated + report.deleted > 0
}

fn reported(report: &SyncReport) -> LookOutcome {
    let verdict = match report.outcome {
        Outcome::Interrupted => None,
        Outcome::BudgetSpent => Some(LookVerdict::More),
        _ if touched(report) => Some(LookVerdict::Changed),
        _ => Some(LookVerdict::Unchanged),
    };
    let mut summary = format!("+{} ~{} -{}", report.created, report.updated, report.deleted);
    if report.owed > 0 {
        summary.push_str(&format!(", {} pending", report.owed));
    }
    summary.push_str(&format!(" ({})", report.reason));
    LookOutcome {
        verdict,
        exit_code: report.exit_code(),
        in_step: report.is_in_step(),
        summary,
        checkpoint: report.checkpoint.map(|time| time.unix_micros().div_euclid(1_000_000)),
        pending: report.owed,
        changed: report.created + report.updated + report.deleted,
        transferred: report.bytes,
        ..LookOutcome::default()
    }
}

/// Returns the size of the copy; `None` if there is no copy.
async fn holds(task: &LookTask) -> Option<CopySize> {
    let (copy, shutdown) = (task.copy.clone(), task.shutdown.clone());
    spawn_blocking(move || copy.size(&shutdown)).await.ok()?.ok()
}

/// A monitor that sums up the plans of a run.
struct PlanSizer<'a> {
    sum: Mutex<Option<CopySize>>,
    beside: &'a dyn Monitor,
    is_dry: bool,
}

impl PlanSizer<'_> {
    /// Returns the size of everything that is fetched; `None` before anything was planned.
    fn sum(&self) -> Option<CopySize> {
        *self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor for PlanSizer<'_> {
    fn event(&self, event: Event<'_>) {
        if let Event::Planned(totals) = &event {
            let mut sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
            let size = sum.get_or_insert_default();
            size.resources += totals.fetches;
            size.bytes += totals.bytes;
        }
        // The actions of a dry run are only counted: reported, they would look like progress.
        if !self.is_dry || matches!(event, Event::Phase(_) | Event::Note(_)) {
            self.beside.event(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::*;

    #[test]
    fn o167_a_lack_of_descriptors_is_an_outage_and_no_failure_of_each_source() {
        let failed = |errno: Errno| {
            let source = Box::new(io::Error::from(errno));
            let error = Error::Storage { action: "lock", path: "copy".into(), source };
            LookOutcome::failed(&error).verdict
        };
        assert_eq!(failed(Errno::MFILE), Some(LookVerdict::Outage));
        assert_eq!(failed(Errno::ACCESS), Some(LookVerdict::Blocked));
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn o968_a_look_whose_database_is_away_is_an_outage_and_no_failure_of_the_source() {
        use instep_postgres::PostgresError;

        let verdict = |error: PostgresError| LookOutcome::failed(&Error::from(error)).verdict;
        let place = || "postgres://db.example/copies".to_owned();
        let away = PostgresError::Unreachable { place: place(), source: "no connection".into() };
        assert_eq!(verdict(away), Some(LookVerdict::Outage));
        assert_eq!(verdict(PostgresError::Interrupted { place: place() }), Some(LookVerdict::Outage));
        assert_eq!(verdict(PostgresError::WentBack { place: place() }), Some(LookVerdict::Outage));
        let damaged = PostgresError::Damaged { place: place(), what: "a length of -1".to_owned() };
        assert_eq!(verdict(damaged), Some(LookVerdict::Blocked));
    }
}
