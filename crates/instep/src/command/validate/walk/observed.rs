//! Observations of a walk that can be judged only at its end.

use resourcesync::{DateTime, Finding, Uri};

/// A page or resource that links to a Capability List.
pub(super) struct LinkingPage {
    pub(super) uri: Uri,
    /// The Capability List.
    pub(super) list: Uri,
    /// `true` if the link is in a header or in the head of the page, where it has an effect.
    pub(super) in_head: bool,
}

/// The result of comparing a resource with its entry in a list.
pub(super) struct ComparedResource {
    pub(super) list: Uri,
    pub(super) loc: Uri,
    /// The time of the change, or that of the Resource List.
    pub(super) time: Option<DateTime>,
    /// `true` if the list is a Change List.
    pub(super) is_change: bool,
    /// The differences, which count unless a later change explains them.
    pub(super) findings: Vec<Finding>,
}
