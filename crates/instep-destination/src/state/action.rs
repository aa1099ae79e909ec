//! One action of a plan, and the kinds of actions.

use crate::plan::Desired;

/// An action for one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub(crate) enum ActionKind {
    /// Fetches a resource that is not held.
    Create,
    /// Fetches another version of a held resource.
    Update,
    /// Requests a held resource conditionally, because the documents do not show if it is current.
    Check,
    /// Removes a held resource.
    Delete,
    /// Records new links of a held resource, whose bytes are current.
    Note,
    /// Records that a held resource was deleted at the Source. It stays, because deletions are not allowed.
    Keep,
    /// Removes a resource from the set. No file is removed, because another set holds it too, or it is not held.
    Leave,
    /// Records a resource as pending, because it cannot be fetched in this run.
    Owe,
}

impl ActionKind {
    /// Returns `true` if the action requests the resource from the Source.
    pub(crate) fn asks(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Check)
    }

    pub(crate) const ALL: [Self; 8] = [
        Self::Create,
        Self::Update,
        Self::Check,
        Self::Delete,
        Self::Note,
        Self::Keep,
        Self::Leave,
        Self::Owe,
    ];
}

/// One action of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Action {
    /// Its position in the plan, which it gets when it is added.
    pub sequence: i64,
    /// The action to take.
    pub kind: ActionKind,
    /// The state that it leads to.
    pub desired: Desired,
}

impl Action {
    /// Returns an action that has no position yet.
    pub(crate) fn new(kind: ActionKind, desired: Desired) -> Self {
        Self { sequence: 0, kind, desired }
    }
}
