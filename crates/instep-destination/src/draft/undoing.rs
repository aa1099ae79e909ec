//! Changes to undo, so that a later inventory shows the state at an earlier moment.

use resourcesync::DateTime;

use crate::state::Actions;

/// Changes after the moment that is wanted, which are taken back.
#[derive(Debug)]
pub(super) struct Undoing {
    /// The first change of each resource: `Check` if it is older than the requested time, and so shows the state at
    /// that time; `Create` and `Update` if the resource was created or changed later.
    pub(super) first: Actions,
    /// The time of the inventory, which does not have later changes.
    pub(super) inventory: DateTime,
}
