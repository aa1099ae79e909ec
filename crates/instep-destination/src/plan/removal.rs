//! The action by which a set drops a held resource.

use crate::state::{ActionKind, HeldResource, SetId};

/// Returns the action by which a set drops a held resource: the file is removed only when the last set drops it (B16). One that
/// another set holds is given up also if nothing is deleted, because its file stays (O1083).
pub(crate) fn removal(held: &HeldResource, set: SetId, delete: bool) -> ActionKind {
    match (held.is_only_in(set), delete) {
        (false, _) => ActionKind::Leave,
        (true, true) => ActionKind::Delete,
        (true, false) => ActionKind::Keep,
    }
}
