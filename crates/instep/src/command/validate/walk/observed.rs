//! Observations of a walk that can be judged only at its end.

use resourcesync::{DateTime, Finding, Uri};

/// A page or resource that links to a Capability List.
pub(super) struct LinkingPage {
    pub(super) uri: Uri,
    pub(super) list: Uri,
    pub(super) in_head: bool,
}

/// The result of comparing a resource with its entry in a list.
pub(super) struct ComparedResource {
    pub(super) list: Uri,
    pub(super) loc: Uri,
    /// The time of the change, or that of the Resource List.
    pub(super) time: Option<DateTime>,
    pub(super) is_change: bool,
    pub(super) findings: Vec<Finding>,
}
