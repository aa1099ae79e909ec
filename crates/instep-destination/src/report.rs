//! Reports: the results of a run and of an audit, and the status of a copy.

mod past;
mod status;

use std::time::Duration;

use resourcesync::DateTime;

use crate::{
    exit_code,
    plan::{Accounting, Coverage, Strategy},
};
pub use past::{PastRun, PendingRetry, RunProblem};
pub use status::{ObjectsStatus, RunStatus, SourceStatus, Status};

/// The result of a run of [`crate::sync`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncReport {
    /// The way in which the copy was synchronized, of the set that was synchronized last.
    pub strategy: Strategy,
    /// The reason for it, in a sentence.
    pub reason: String,
    /// Resources that are new in the copy.
    pub created: u64,
    /// Resources that have a new state in the copy.
    pub updated: u64,
    /// Resources that were removed from the copy.
    pub deleted: u64,
    /// Versions kept beside the copy.
    pub versions: u64,
    /// Resources that were current.
    pub unchanged: u64,
    /// Resources that failed in this run.
    pub failed: u64,
    /// Resources that the next run tries again: they were listed and are not in the copy yet (invariant 5).
    pub owed: u64,
    /// Entries and documents that could not be used.
    pub skipped: u64,
    /// Bytes of resources that were transferred.
    pub bytes: u64,
    /// Bytes of the resources that were to be fetched, as far as their lengths are listed.
    pub planned_bytes: u64,
    /// Resources that arrived and that nothing could be compared with: neither a digest nor a length was stated.
    pub unverified: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Elapsed real time.
    pub elapsed: Duration,
    /// The Source's time up to which everything is committed or owed.
    pub checkpoint: Option<DateTime>,
    /// The entries that were read: each counts as read and in exactly one other field.
    pub entries: Accounting,
    /// Held resources that are gone at the Source and stay, because deletions are not allowed.
    pub kept: u64,
    /// The part of the Source that the copy accounts for, the least of all sets. `None` if no set was examined.
    pub coverage: Option<Coverage>,
    /// The outcome of the run.
    pub outcome: Outcome,
}

impl SyncReport {
    /// Returns the report of a run that has done nothing yet.
    pub fn new(strategy: Strategy, reason: impl Into<String>) -> Self {
        Self {
            strategy,
            reason: reason.into(),
            created: 0,
            updated: 0,
            deleted: 0,
            versions: 0,
            unchanged: 0,
            failed: 0,
            owed: 0,
            skipped: 0,
            bytes: 0,
            planned_bytes: 0,
            unverified: 0,
            requests: 0,
            elapsed: Duration::ZERO,
            checkpoint: None,
            entries: Accounting::default(),
            kept: 0,
            coverage: None,
            outcome: Outcome::Complete,
        }
    }

    /// Returns `true` if the copy equals the Source: everything was tried, nothing is left to do, and nothing can be
    /// missing.
    pub fn is_in_step(&self) -> bool {
        self.outcome == Outcome::Complete
            && !self.has_problems()
            && self.kept == 0
            && self.coverage.is_none_or(Coverage::is_complete)
    }

    /// Returns `true` if something is left to do or was left out.
    pub fn has_problems(&self) -> bool {
        self.failed + self.owed + self.skipped > 0
    }

    /// Returns the exit code of the program: 0, 3 with problems, 9 if a limit of the run was reached, 130 if it was
    /// interrupted.
    pub fn exit_code(&self) -> u8 {
        match self.outcome {
            Outcome::Interrupted => exit_code::INTERRUPTED,
            Outcome::BudgetSpent => exit_code::BUDGET,
            Outcome::Complete | Outcome::Planned if self.has_problems() => exit_code::PROBLEMS,
            Outcome::Complete | Outcome::Planned => exit_code::DONE,
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Everything that was planned was tried.
    Complete,
    /// The plan was reported, and nothing was changed.
    Planned,
    /// The caller ended the run. Transfers that were complete by then are committed.
    Interrupted,
    /// `max_duration` or `max_transfer` is used up; the rest is left for the next run.
    BudgetSpent,
}

/// The result of [`crate::audit`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuditReport {
    /// Resources of the Source that the copy lacks.
    pub missing: u64,
    /// Resources whose file or metadata differ.
    pub differing: u64,
    /// Resources of the copy that the Source no longer has.
    pub surplus: u64,
    /// Resources that could not be compared.
    pub failed: u64,
    /// Resources that are the same.
    pub same: u64,
    /// Resources for which the documents of the Source do not show if the held bytes are current.
    pub unauditable: u64,
    /// Bytes that were hashed.
    pub bytes: u64,
    /// Elapsed real time.
    pub elapsed: Duration,
    /// `true` if the audit was shut down before it was complete.
    pub interrupted: bool,
    /// The part of the Sources that the documents account for, the least of all sets. `None` if the copy was compared with no
    /// documents.
    pub coverage: Option<Coverage>,
    /// Each Source that the copy was compared with.
    pub sources: Vec<SourceAudit>,
}

/// The comparison of a copy with one of its Sources, by the Source's documents; files are hashed once for all
/// Sources.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SourceAudit {
    /// Its URL.
    pub url: String,
    /// Resources of the Source that the copy lacks.
    pub missing: u64,
    /// Resources that the Source lists in another version.
    pub differing: u64,
    /// Resources of the copy that the Source no longer has.
    pub surplus: u64,
    /// Entries and documents that could not be compared.
    pub failed: u64,
    /// Resources for which the documents of the Source do not show if the held bytes are current.
    pub unauditable: u64,
    /// The part of the Source that its documents account for, the least of all sets.
    pub coverage: Option<Coverage>,
    /// The error that ended the comparison, and its exit code; the other Sources are compared anyway.
    pub error: Option<(u8, String)>,
}

impl SourceAudit {
    /// Returns the exit code that an audit of this Source alone would have.
    pub fn exit_code(&self) -> u8 {
        let differences = self.missing + self.differing + self.surplus;
        self.error.as_ref().map_or_else(|| of_comparison(differences, self.failed), |(code, _)| *code)
    }
}

impl AuditReport {
    /// Returns the exit code of the program: 0, 3 if something could not be compared, 20 with differences, 130 if the
    /// audit was interrupted. A Source that could not be compared at all counts as worse than a difference: its code is
    /// returned.
    pub fn exit_code(&self) -> u8 {
        if self.interrupted {
            return exit_code::INTERRUPTED;
        }
        if let Some((code, _)) = self.sources.iter().find_map(|source| source.error.as_ref()) {
            return *code;
        }
        of_comparison(self.missing + self.differing + self.surplus, self.failed)
    }
}

/// Returns the exit code of a comparison by the resources that differ and those that could not be compared.
fn of_comparison(differences: u64, failed: u64) -> u8 {
    match (differences, failed) {
        (0, 0) => exit_code::DONE,
        (0, _) => exit_code::PROBLEMS,
        _ => exit_code::DIFFERENCES,
    }
}
