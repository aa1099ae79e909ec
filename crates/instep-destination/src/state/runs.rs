//! The log of runs and their problems.

use resourcesync::{DateTime, Uri};

/// The number of runs that the log keeps.
pub(super) const KEPT_RUNS: i64 = 100;

/// The number of a run over this copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RunId(pub(super) i64);

impl RunId {
    /// Returns the run with a number.
    pub(crate) fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Returns its number in the state.
    pub(crate) fn number(self) -> i64 {
        self.0
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct LoggedRun {
    /// Its number.
    pub id: RunId,
    /// The time at which it began, by this machine's clock.
    pub started: DateTime,
    /// The time at which it ended; `None` if it was killed or is in progress.
    pub finished: Option<DateTime>,
    /// The way in which it synchronized the copy.
    pub what: String,
    /// Its exit code; `None` if it has not ended.
    pub exit_code: Option<u8>,
    /// Its summary, or the error that ended it; `None` if it has not ended.
    pub summary: Option<String>,
}

/// Problems of one kind in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct LoggedProblem {
    /// The kind, as reports name it.
    pub kind: String,
    /// The number of these problems.
    pub count: u64,
    /// The first resource with the problem.
    pub uri: Option<Uri>,
    /// The message about that one.
    pub message: String,
}

impl LoggedProblem {
    /// Returns the record of problems of a kind, with the message about the first.
    pub(crate) fn new(kind: &str, count: u64, uri: Option<Uri>, message: String) -> Self {
        Self { kind: kind.to_owned(), count, uri, message }
    }
}

impl LoggedRun {
    /// Returns the record of a run in progress.
    pub(crate) fn new(id: RunId, started: DateTime, what: &str) -> Self {
        Self { id, started, finished: None, what: what.to_owned(), exit_code: None, summary: None }
    }
}
