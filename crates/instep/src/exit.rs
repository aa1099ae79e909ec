//! The exit codes: one table, printed by `instep help exit-codes`.

use std::{fmt::Write as _, io, process};

use instep_source::ErrorKind;

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
        (Self::Done, 0, "done: the summary says whether a copy is in step"),
        (Self::Failed, 1, "failed"),
        (Self::Usage, 2, "wrong usage or configuration, or an address that cannot be listened on"),
        (Self::Problems, 3, "done with problems: some resources failed, the rest is committed"),
        (Self::Unreachable, 4, "the Source cannot be reached, or is not a ResourceSync Source"),
        (Self::Invalid, 5, "a document of the Source is invalid"),
        (Self::Refused, 6, "refused by a safety guard: too many deletions, an empty list, an older list"),
        (Self::Locked, 7, "locked by another run"),
        (Self::Storage, 8, "no space, or the storage failed"),
        (Self::Budget, 9, "a limit on time or bytes was reached"),
        (Self::NewerState, 10, "the state was written by a newer version"),
        (Self::Differences, 20, "differences found"),
        (Self::Interrupted, 130, "interrupted; the state is saved"),
        (Self::PipeClosed, 141, "the reader of its output has gone; the state is saved"),
        (Self::Terminated, 143, "terminated; the state is saved"),
    ];

    /// Returns the code of this ending.
    pub(crate) fn code(self) -> u8 {
        Self::TABLE.iter().find(|(exit, ..)| *exit == self).map_or(1, |(_, code, _)| *code)
    }

    /// Returns the ending for the exit code of a library.
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
        match error.downcast_ref::<instep_source::Error>() {
            // A wrong address and an address in use have the same exit code (D12).
            Some(instep_source::Error::Listen { .. }) => Self::Usage,
            Some(error) => match error.kind() {
                ErrorKind::Usage => Self::Usage,
                ErrorKind::Locked => Self::Locked,
                ErrorKind::Storage => Self::Storage,
                ErrorKind::NewerState => Self::NewerState,
                ErrorKind::Refused => Self::Refused,
                ErrorKind::Unreachable => Self::Unreachable,
                _ => Self::Failed,
            },
            None if error.chain().any(is_of_storage) => Self::Storage,
            None => Self::Usage,
        }
    }
}

/// Returns `true` for a fault of a disk: no other way to call the command helps.
fn is_of_storage(cause: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    cause.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(error.kind(), FileTooLarge | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
            || error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
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
