//! The meeting of a part of a list with what is held: the same for every engine.

use resourcesync::Uri;

use super::{HeldResource, Marks, Meet, SetId};
use crate::plan::Desired;

/// A part of a list while it meets what is held.
pub(super) struct Meeting<'a> {
    set: SetId,
    marks: &'a mut Marks,
    each: &'a mut Meet<'a>,
    joining: Vec<Uri>,
}

impl<'a> Meeting<'a> {
    /// Begins with the marks of the list.
    pub(super) fn new(set: SetId, marks: &'a mut Marks, each: &'a mut Meet<'a>) -> Self {
        Self { set, marks, each, joining: Vec::new() }
    }

    /// Hands on a desired state of which something is held, and marks that.
    pub(super) fn met(&mut self, desired: &Desired, held: &HeldResource) {
        let was_named = self.marks.has(held.id);
        self.marks.set(held.id);
        if !held.is_in(self.set) {
            self.joining.push(desired.uri.clone());
        }
        (self.each)(desired, Some(held), was_named);
    }

    /// Hands on a desired state of which nothing is held.
    pub(super) fn missed(&mut self, desired: &Desired) {
        (self.each)(desired, None, false);
    }

    /// Returns the resources that are held but not counted to the set.
    pub(super) fn joining(self) -> Vec<Uri> {
        self.joining
    }
}
