//! The numbers of sets. A copy has only so many, so that of a set that has nothing any more is given to another one.

use super::LocalCopy;
use crate::{
    Error,
    discover::CapabilitySet,
    records::{clock_step, coverage, held_though_gone, kept, last_gap, older_inventory, policy, unusable},
    state::{Checkpoint, SetId, StateError},
    versions,
};

impl LocalCopy {
    /// Returns the set of that name, or a number that no set has, for a copy that is only read.
    pub(super) fn set_beside(&mut self, found: &CapabilitySet) -> Result<SetId, Error> {
        let name = found.name();
        for known in std::iter::once(name).chain(found.former_names()) {
            if let Some(set) = self.reader.known_set(known)? {
                return Ok(set);
            }
        }
        let place = self.unfollowed.iter().position(|unfollowed| unfollowed == name);
        let place = place.unwrap_or_else(|| {
            self.unfollowed.push(name.to_owned());
            self.unfollowed.len() - 1
        });
        match self.reader.free_set(place, name) {
            Err(full @ StateError::TooManySets { .. }) => {
                // The sets before it have the last free numbers, and the first ones that a run would give away.
                let is_without = |before: &usize| self.reader.free_set(*before, name).is_err();
                let taken = (0..place).filter(is_without).count();
                Ok(self.numbers_to_take_over()?.get(taken).copied().ok_or(full)?)
            }
            free => Ok(free?),
        }
    }

    /// Gives a set the number of one that holds nothing, has nothing pending and no checkpoint, as after its Source renamed
    /// it (O416). Returns `None` if there is no such set.
    pub(super) fn take_over_number(&mut self, name: &str) -> Result<Option<SetId>, Error> {
        let set = self.numbers_to_take_over()?.first().copied();
        if let Some(set) = set {
            self.state_mut()?.reuse_set(set, name, &records_of(set))?;
        }
        Ok(set)
    }

    /// Returns the numbers of the sets that have nothing.
    fn numbers_to_take_over(&self) -> Result<Vec<SetId>, Error> {
        let mut numbers = Vec::new();
        for (set, known) in self.state().sets()? {
            if known != versions::SET && self.has_nothing_of(set)? {
                numbers.push(set);
            }
        }
        Ok(numbers)
    }

    fn has_nothing_of(&self, set: SetId) -> Result<bool, Error> {
        let state = self.state();
        let is_begun = state.checkpoint(set)?.is_some_and(|checkpoint| checkpoint != Checkpoint::new());
        Ok(!is_begun && state.owed_after(set, None, 1)?.is_empty() && state.held_in(&[set])? == 0)
    }
}

/// Returns the names of the records of a set.
fn records_of(set: SetId) -> [String; 8] {
    [
        clock_step::name(set),
        coverage::name(set),
        held_though_gone::name(set),
        kept::name(set),
        last_gap::name(set),
        older_inventory::name(set),
        policy::name(set),
        unusable::name(set),
    ]
}
