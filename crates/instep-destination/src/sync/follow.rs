//! Staying in step.

use tokio::time::sleep;

use super::once;
use crate::{
    Error, Event, Monitor, Outcome, Phase, Strategy, SyncOptions, SyncReport, listen::Listener, plan::Pace,
};

/// Looks when a channel says so, and anyway again and again: often while the Source changes and seldom while it does not, until the run is to end.
pub(super) async fn follow(options: &SyncOptions, monitor: &dyn Monitor) -> Result<SyncReport, Error> {
    let mut pace = Pace::new(options.poll);
    let mut listener = Listener::new();
    let mut total: Option<SyncReport> = None;
    loop {
        let pause = match once(options, monitor, Some(&mut listener)).await {
            Ok(report) => {
                let something_new = report.strategy != Strategy::Nothing;
                let ended = report.outcome;
                total = Some(sum(total, report));
                if ended != Outcome::Complete {
                    break;
                }
                let pause = pace.after(something_new);
                if listener.is_connected() { options.poll.1 } else { pause }
            }
            Err(error) if total.is_some() && error.is_retryable() => {
                monitor.event(Event::Note(&format!("{}; looking again later", crate::error::story(&error))));
                pace.after_failure()
            }
            Err(error) => return Err(error),
        };
        monitor.event(Event::Phase(Phase::Waiting));
        tokio::select! {
            () = sleep(pause) => {}
            () = listener.hint() => {}
            () = options.shutdown.cancelled() => break,
        }
    }
    let mut report = total.unwrap_or_else(|| SyncReport::new(Strategy::Nothing, "nothing was looked at"));
    report.outcome = Outcome::Interrupted;
    Ok(report)
}

/// One report for everything done while following; what is owed and how far it came is that of the last look.
fn sum(total: Option<SyncReport>, last: SyncReport) -> SyncReport {
    let Some(total) = total else { return last };
    let strategy = if last.strategy == Strategy::Nothing { total.strategy } else { last.strategy };
    SyncReport {
        strategy,
        created: total.created + last.created,
        updated: total.updated + last.updated,
        deleted: total.deleted + last.deleted,
        versions: total.versions + last.versions,
        failed: total.failed + last.failed,
        skipped: total.skipped + last.skipped,
        bytes: total.bytes + last.bytes,
        requests: total.requests + last.requests,
        elapsed: total.elapsed + last.elapsed,
        checkpoint: last.checkpoint.or(total.checkpoint),
        ..last
    }
}
