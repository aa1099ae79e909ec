//! A monitor that records events, for tests.

use std::{sync::Mutex, time::Duration};

use resourcesync::Uri;

use super::{Event, Item, Monitor, PlanTotals, Problem, ProblemKind};

/// A monitor that records events, for tests.
#[derive(Debug, Default)]
pub struct TestMonitor(Mutex<RecordedEvents>);

/// The events that a [`TestMonitor`] recorded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecordedEvents {
    /// The texts of notes, in order.
    pub notes: Vec<String>,
    /// The totals of the last plan.
    pub plan: PlanTotals,
    /// Items of a dry run or an audit, as letter and URI: `+ http://host/a`.
    pub itemized: Vec<String>,
    /// Committed items, in order.
    pub committed: Vec<String>,
    /// Problems: kind, URI, text.
    pub problems: Vec<(ProblemKind, String, String)>,
    /// Warnings: kind, URI, text.
    pub warnings: Vec<(ProblemKind, String, String)>,
    /// The number of bytes of resources that arrived.
    pub bytes: u64,
    /// The URIs of resources of which only links changed.
    pub noted: Vec<String>,
    /// The leases of the last event about them.
    pub leases: Vec<(Uri, Duration)>,
    /// The exit codes of runs that ended, in order.
    pub ended: Vec<u8>,
}

impl TestMonitor {
    /// Creates a monitor without recorded events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the events recorded up to now.
    pub fn recorded(&self) -> RecordedEvents {
        self.0.lock().map(|events| events.clone()).unwrap_or_default()
    }
}

impl Monitor for TestMonitor {
    fn event(&self, event: Event<'_>) {
        let Ok(mut recorded) = self.0.lock() else { return };
        let line = |item: Item<'_>| format!("{} {}", item.letter, item.uri);
        let described =
            |problem: Problem<'_>| (problem.kind, problem.uri.to_owned(), problem.what.to_string());
        match event {
            Event::Phase(_) | Event::Traffic { .. } | Event::UnderWay { .. } => {}
            Event::Ended { exit_code } => recorded.ended.push(exit_code),
            Event::Noted { uri, .. } => recorded.noted.push(uri.to_owned()),
            Event::Leases(leases) => recorded.leases = leases.to_vec(),
            Event::Note(text) => recorded.notes.push(text.to_owned()),
            Event::Planned(totals) => recorded.plan = totals,
            Event::Itemized(item) => recorded.itemized.push(line(item)),
            Event::Committed(item) => recorded.committed.push(line(item)),
            Event::Progress { bytes } => recorded.bytes += bytes,
            Event::Problem(problem) => recorded.problems.push(described(problem)),
            Event::Warning(problem) => recorded.warnings.push(described(problem)),
        }
    }
}
