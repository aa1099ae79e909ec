//! The result of translating a command line of the reference client, and the refusal of options that have no
//! counterpart, or of values that cannot be used.

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

/// Returns the URI in an option that names a document.
///
/// Errors: it has no scheme. The reference client would open a file with this name, and this program would request the
/// document of a host with this name, with the token.
pub(super) fn document_uri<'a>(option: &str, value: &'a str) -> anyhow::Result<&'a str> {
    if has_scheme(value) {
        return Ok(value);
    }
    bail!("{option}: {value:?} is not a URI; write one such as https://example.org/{value}")
}

pub(super) fn has_scheme(text: &str) -> bool {
    text.contains("://")
}

// Reasons that several programs give.
pub(super) const NO_LOG: &str =
    "there is no log file; redirect standard error, with -v and --log-format json for programs";
pub(super) const NO_SPLIT: &str = "indexes are always read, and this program has its own limits";
pub(super) const NO_REGEX: &str = "regular expressions are not read, and the reference client ignores them here; use instep sync --exclude '*.tmp'";
