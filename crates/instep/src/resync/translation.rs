//! The result of translating a command line of the reference client, and the refusal of options that have no
//! counterpart.

use anyhow::bail;

/// A command of the program that is equivalent to a command line of the reference client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Translated {
    pub(super) arguments: Vec<String>,
    /// The bearer token. It is passed in the environment, because every user of the machine can read arguments.
    pub(super) bearer: Option<String>,
}

/// Refuses options that have no counterpart. Each has its name, `true` if it is given, and the reason.
///
/// Errors: one of the options is given.
pub(super) fn refuse(given: &[(&str, bool, &str)]) -> anyhow::Result<()> {
    match given.iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, reason)) => bail!("{option}: {reason}"),
        None => Ok(()),
    }
}

// Reasons that several programs give.
pub(super) const NO_LOG: &str =
    "there is no log file; redirect standard error, with -v and --log-format json for programs";
pub(super) const NO_SPLIT: &str = "indexes are always read, and this program has its own limits";
pub(super) const NO_REGEX: &str = "regular expressions are not read, and the reference client ignores them here; use instep sync --exclude '*.tmp'";
