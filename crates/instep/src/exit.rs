//! The exit codes: one table, printed by `instep help exit-codes`, and the one place where an outcome becomes a code.

use std::{fmt::Write as _, io, process};

use instep_destination::{AuditReport, SyncReport, exit_code};
use instep_source::{Error as SourceError, ErrorKind};
use rustix::io::Errno;

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    Problems,
    Unreachable,
    Invalid,
    Refused,
    Locked,
    Storage,
    Budget,
    NewerState,
    Differences,
    Interrupted,
    PipeClosed,
    Terminated,
}

impl Exit {
    const TABLE: [(Self, u8, &'static str); 15] = [
        (Self::Done, exit_code::DONE, "done: the summary says whether a copy is in step"),
        (Self::Failed, exit_code::FAILED, "failed"),
        (
            Self::Usage,
            exit_code::USAGE,
            "wrong usage or configuration, or an address that cannot be listened on",
        ),
        (
            Self::Problems,
            exit_code::PROBLEMS,
            "done with problems: some resources failed, the rest is committed",
        ),
        (
            Self::Unreachable,
            exit_code::UNREACHABLE,
            "the Source cannot be reached, or is not a ResourceSync Source",
        ),
        (Self::Invalid, exit_code::INVALID, "a document of the Source is invalid"),
        (
            Self::Refused,
            exit_code::REFUSED,
            "refused by a safety guard: too many deletions, an empty list, an older list",
        ),
        (Self::Locked, exit_code::LOCKED, "locked by another run"),
        (Self::Storage, exit_code::STORAGE, "no space, or the storage failed"),
        (Self::Budget, exit_code::BUDGET, "a limit on time or bytes was reached"),
        (Self::NewerState, exit_code::NEWER_STATE, "the state was written by a newer version"),
        (Self::Differences, exit_code::DIFFERENCES, "differences found"),
        (Self::Interrupted, exit_code::INTERRUPTED, "interrupted; the state is saved"),
        (Self::PipeClosed, 141, "the reader of its output has gone; the state is saved"),
        (Self::Terminated, 143, "terminated; the state is saved"),
    ];

    /// Returns the code of this ending.
    pub(crate) fn code(self) -> u8 {
        Self::TABLE.iter().find(|(exit, ..)| *exit == self).map_or(1, |(_, code, _)| *code)
    }

    /// Returns the ending for an exit code of a library, or one that was recorded.
    pub(crate) fn from_code(code: u8) -> Self {
        Self::TABLE.iter().find(|(_, listed, _)| *listed == code).map_or(Self::Failed, |(exit, ..)| *exit)
    }

    /// Returns the meaning of the code.
    pub(crate) fn meaning(self) -> &'static str {
        Self::TABLE.iter().find(|(exit, ..)| *exit == self).map_or("failed", |(.., meaning)| meaning)
    }

    /// Returns the meaning in a few words; the table has the rest.
    pub(crate) fn in_short(self) -> &'static str {
        self.meaning().split(':').next().unwrap_or_default()
    }

    /// Returns the exit code for an error: that of its library, [`Exit::Storage`] for faults of a disk, or
    /// [`Exit::Usage`] for refusals of the program itself.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if let Some(exit) = error.downcast_ref::<Self>() {
            return *exit;
        }
        if let Some(error) = error.downcast_ref::<instep_destination::Error>() {
            return Self::from_code(error.exit_code());
        }
        if let Some(error) = error.downcast_ref::<instep_fleet::FleetError>() {
            return Self::from_code(error.exit_code());
        }
        match error.downcast_ref::<SourceError>() {
            Some(error) => Self::of_source(error),
            None if error.chain().any(is_of_storage) => Self::Storage,
            None => Self::Usage,
        }
    }

    fn of_source(error: &SourceError) -> Self {
        match error.kind() {
            // A wrong address and an address in use have the same exit code (P12).
            _ if matches!(error, SourceError::Listen { .. }) => Self::Usage,
            ErrorKind::Usage => Self::Usage,
            ErrorKind::Locked => Self::Locked,
            ErrorKind::Storage => Self::Storage,
            ErrorKind::NewerState => Self::NewerState,
            ErrorKind::Refused => Self::Refused,
            ErrorKind::Unreachable => Self::Unreachable,
            _ => Self::Failed,
        }
    }

    /// Returns `true` if a run did its work, even if a part of it is left for the next run.
    pub(crate) fn has_worked(self) -> bool {
        matches!(self, Self::Done | Self::Problems | Self::Budget)
    }
}

impl From<&SyncReport> for Exit {
    fn from(report: &SyncReport) -> Self {
        Self::from_code(report.exit_code())
    }
}

impl From<&AuditReport> for Exit {
    fn from(report: &AuditReport) -> Self {
        Self::from_code(report.exit_code())
    }
}

/// Returns `true` for a fault of a disk or of the system: no other way to call the command helps.
fn is_of_storage(cause: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    cause.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(error.kind(), FileTooLarge | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
            || matches!(
                error.raw_os_error().map(Errno::from_raw_os_error),
                Some(Errno::IO | Errno::MFILE | Errno::NFILE)
            )
    })
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.meaning())
    }
}

impl std::error::Error for Exit {}

impl From<Exit> for process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Returns each code with its meaning.
pub(crate) fn codes() -> impl Iterator<Item = (u8, &'static str)> {
    Exit::TABLE.into_iter().map(|(_, code, meaning)| (code, meaning))
}

/// Returns the table as text.
pub(crate) fn table() -> String {
    let mut text = "Exit codes\n\n".to_owned();
    for (_, code, meaning) in Exit::TABLE {
        let _ = writeln!(text, "  {code:>3}  {meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context as _;

    use super::{Exit, table};

    #[test]
    fn o644_a_limit_of_open_files_is_no_wrong_usage() {
        for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE] {
            let failed: Result<(), _> = Err(io::Error::from(errno));
            assert_eq!(Exit::of(&failed.context("Cannot read a file").unwrap_err()), Exit::Storage);
        }
    }

    #[test]
    fn o119_a_full_disk_is_no_wrong_usage_whatever_command_writes_to_it() {
        let of = |errno: rustix::io::Errno| {
            let failed: Result<(), _> = Err(io::Error::from(errno));
            Exit::of(&failed.context("Cannot write a file").unwrap_err()).code()
        };
        let storage = [rustix::io::Errno::NOSPC, rustix::io::Errno::ROFS, rustix::io::Errno::IO].map(of);
        assert_eq!((storage, of(rustix::io::Errno::NOENT)), ([8, 8, 8], 2));
    }

    #[test]
    fn every_exit_code_is_in_the_table_once() {
        let mut codes: Vec<_> = Exit::TABLE.iter().map(|(exit, code, _)| (exit.code(), *code)).collect();
        assert!(codes.iter().all(|(code, listed)| code == listed));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), table().lines().count() - 2);
    }
}
