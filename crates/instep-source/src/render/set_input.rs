//! The input for the documents of one set.

use super::{SetPolicy, SourcePolicy, view::SetView};

/// A set while its documents are written: the rules for the Source and for the set, and the content of the set.
#[derive(Clone, Copy)]
pub(super) struct SetInput<'a> {
    pub(super) policy: &'a SourcePolicy,
    pub(super) set: &'a SetPolicy,
    pub(super) view: &'a dyn SetView,
}
