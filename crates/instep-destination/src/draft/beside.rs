//! Rows beside the plan: about resources that it cannot decide about yet, or that are not its own.

use resourcesync::DateTime;

use crate::state::Actions;

/// The files of rows beside a plan, as far as its run needs them.
#[derive(Debug, Default)]
pub(super) struct BesidePlan {
    /// The links to versions that are still to be fetched; `None` unless versions are kept.
    pub(super) versions: Option<Actions>,
    /// Changes to undo; `None` unless a state older than any inventory is read.
    pub(super) undoing: Option<Undoing>,
    /// Resources that changed after the requested time; `None` unless a past state is read.
    pub(super) later: Option<Actions>,
}

/// Changes after the moment that is wanted, which are taken back.
#[derive(Debug)]
pub(super) struct Undoing {
    /// The first change of each resource: `Check` if it is older than the requested time, and so shows the state at
    /// that time, or later than the inventory, which shows it then; `Create` and `Update` if the resource was created or
    /// changed later.
    pub(super) first: Actions,
    /// The time at which the inventory was complete. It does not have later changes.
    pub(super) inventory: DateTime,
}
