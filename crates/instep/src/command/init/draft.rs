//! A configuration that is proposed.

/// A configuration, and the commands that use it.
pub(super) struct ConfigDraft {
    /// `copy` or `source`, for programs.
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) next: Vec<String>,
}
