//! Changes to undo, so that a later inventory shows the state at an earlier moment.

use resourcesync::DateTime;

use crate::state::Actions;

/// Changes after the moment that is wanted, which are taken back.
#[derive(Debug)]
pub(super) struct Undoing {
    /// The first change of each resource: `Check` if it is older than the moment that is wanted, and so tells the state
    /// then; `Create` and `Update` if the resource came or changed later.
    pub(super) first: Actions,
    /// The time of the inventory: what changed after it, it does not have.
    pub(super) inventory: DateTime,
}
