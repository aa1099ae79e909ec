//! One action of a plan, and the kinds of actions.

use crate::plan::Desired;

/// An action for one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub(crate) enum ActionKind {
    /// Fetch a resource that is not held.
    Create,
    /// Fetch another version of a held resource.
    Update,
    /// Request a held resource conditionally: only an answer with other bytes is transferred.
    Check,
    /// Remove a held resource.
    Delete,
    /// Record new metadata of a held resource: its bytes are current, its links have changed.
    Note,
    /// Record that a held resource was deleted at the Source: the operator keeps it.
    Keep,
    /// Have the set release a resource that another set holds too, or that is not held: no file is removed.
    Leave,
    /// Record as pending: nothing can be done about it in this run.
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
    /// Its place in the run; given when it is added.
    pub sequence: i64,
    /// The action to take.
    pub kind: ActionKind,
    /// The state that it leads to.
    pub desired: Desired,
}

impl Action {
    /// An action that has no place yet.
    pub(crate) fn new(kind: ActionKind, desired: Desired) -> Self {
        Self { sequence: 0, kind, desired }
    }
}
