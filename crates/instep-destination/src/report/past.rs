//! The types in which the past of a copy is returned: runs, their problems, and pending retries.

use resourcesync::{DateTime, Uri};

/// A run over a copy. The log keeps the last 100.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PastRun {
    /// The time at which it began, by this machine's clock.
    pub started: DateTime,
    /// The time at which it ended; `None` if it was killed or is in progress.
    pub ended: Option<DateTime>,
    /// The strategy by which it synchronized, as [`crate::Strategy`] names it.
    pub strategy: String,
    /// Its exit code; `None` if it has not ended.
    pub exit_code: Option<u8>,
    /// Its summary, or the error that ended it; `None` if it has not ended.
    pub summary: Option<String>,
    /// Its problems by kind, the most frequent first.
    pub problems: Vec<RunProblem>,
}

/// The problems of one kind in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunProblem {
    /// The kind, as [`crate::ProblemKind::as_str`] names it.
    pub kind: String,
    /// The number of these problems.
    pub count: u64,
    /// The first resource or document with the problem.
    pub first: Option<Uri>,
    /// The message about that one.
    pub message: String,
}

/// A resource that could not be fetched, and is retried by the next run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingRetry {
    /// Its URI.
    pub uri: Uri,
    /// The number of runs that have tried it.
    pub attempts: u32,
    /// The reason why the last one failed.
    pub reason: String,
}
