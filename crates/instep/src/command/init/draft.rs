//! A proposed configuration, before it is written to a file.

/// A configuration, and the commands that use it.
pub(super) struct ConfigDraft {
    /// `copy` or `source`, as the JSON output names it.
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) next: Vec<String>,
}
