//! A proposed configuration, before it is written to a file.

/// A configuration, and the commands that use it.
pub(super) struct ConfigDraft {
    /// `copy` or `source`, as the JSON output names it.
    pub(super) kind: &'static str,
    pub(super) text: String,
    /// The step before the commands, in a few words.
    pub(super) before: &'static str,
    pub(super) next: Vec<String>,
}
