//! The exit codes: one table, printed by `instep help exit-codes`.

use std::{fmt::Write as _, process};

/// How a command ended.
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
    Terminated,
}

impl Exit {
    const TABLE: [(Self, u8, &'static str); 14] = [
        (Self::Done, 0, "done, in step"),
        (Self::Failed, 1, "failed"),
        (Self::Usage, 2, "usage or configuration"),
        (Self::Problems, 3, "done with problems: some resources failed, the rest is committed"),
        (Self::Unreachable, 4, "the Source is not reachable, or is no ResourceSync Source"),
        (Self::Invalid, 5, "a document of the Source is invalid"),
        (Self::Refused, 6, "refused by a safety guard: too many deletions, an empty list, time went back"),
        (Self::Locked, 7, "locked by another run"),
        (Self::Storage, 8, "no space, or the storage failed"),
        (Self::Budget, 9, "a budget ran out"),
        (Self::NewerState, 10, "the state was written by a newer version"),
        (Self::Differences, 20, "audit found differences"),
        (Self::Interrupted, 130, "interrupted, the state is saved"),
        (Self::Terminated, 143, "terminated, the state is saved"),
    ];

    /// The number.
    pub(crate) fn code(self) -> u8 {
        Self::TABLE.iter().find(|(exit, ..)| *exit == self).map_or(1, |(_, code, _)| *code)
    }

    /// The way to end that a library's number stands for.
    pub(crate) fn from_code(code: u8) -> Self {
        Self::TABLE.iter().find(|(_, listed, _)| *listed == code).map_or(Self::Failed, |(exit, ..)| *exit)
    }

    /// What the number means.
    pub(crate) fn meaning(self) -> &'static str {
        Self::TABLE.iter().find(|(exit, ..)| *exit == self).map_or("failed", |(.., meaning)| meaning)
    }
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

/// The table, for `--help`.
pub(crate) fn table() -> String {
    let mut text = "Exit codes\n\n".to_owned();
    for (_, code, meaning) in Exit::TABLE {
        let _ = writeln!(text, "  {code:>3}  {meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Exit, table};

    #[test]
    fn every_exit_code_is_in_the_table_once() {
        let mut codes: Vec<_> = Exit::TABLE.iter().map(|(exit, code, _)| (exit.code(), *code)).collect();
        assert!(codes.iter().all(|(code, listed)| code == listed));
        codes.dedup();
        assert_eq!(codes.len(), table().lines().count() - 2);
    }
}
