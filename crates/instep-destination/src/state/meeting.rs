//! Compares a part of a list with the held resources: the same code for every engine.

use resourcesync::Uri;

use super::{HeldResource, Meet, RowSet, SetId};
use crate::plan::{Desired, DesiredPresence};

/// A part of a list while it is compared with the held resources.
pub(super) struct Meeting<'a> {
    set: SetId,
    named: &'a mut RowSet,
    each: &'a mut Meet<'a>,
    joining: Vec<Uri>,
}

impl<'a> Meeting<'a> {
    /// Begins a comparison with a part of a list whose earlier parts have named some resources.
    pub(super) fn new(set: SetId, named: &'a mut RowSet, each: &'a mut Meet<'a>) -> Self {
        Self { set, named, each, joining: Vec::new() }
    }

    /// Passes on a desired state with a held resource, which is named now.
    pub(super) fn met(&mut self, desired: &Desired, held: &HeldResource) {
        let was_named = self.named.contains(held.id);
        self.named.insert(held.id);
        // A deletion names a resource too, and a set has none of those that it only deletes.
        if !held.is_in(self.set) && desired.presence != DesiredPresence::Absent {
            self.joining.push(desired.uri.clone());
        }
        (self.each)(desired, Some(held), was_named);
    }

    /// Passes on a desired state without a held resource.
    pub(super) fn missed(&mut self, desired: &Desired) {
        (self.each)(desired, None, false);
    }

    /// Returns the resources that are held but do not belong to the set yet.
    pub(super) fn joining(self) -> Vec<Uri> {
        self.joining
    }
}
