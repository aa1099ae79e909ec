//! The numbers of sets. A copy has only so many, so that of a set that has nothing any more is given to another one.

use super::LocalCopy;
use crate::{
    Error,
    records::{clock_step, coverage, held_though_gone, kept, last_gap, policy, unusable},
    state::{Checkpoint, SetId},
    versions,
};

impl LocalCopy {
    /// Gives a set the number of one that holds nothing, has nothing pending and no checkpoint, as after its Source renamed
    /// it (O416). Returns `None` if there is no such set.
    pub(super) fn take_over_number(&mut self, name: &str) -> Result<Option<SetId>, Error> {
        for (set, known) in self.state().sets()? {
            if known != versions::SET && self.has_nothing_of(set)? {
                self.state_mut()?.reuse_set(set, name, &records_of(set))?;
                return Ok(Some(set));
            }
        }
        Ok(None)
    }

    fn has_nothing_of(&self, set: SetId) -> Result<bool, Error> {
        let state = self.state();
        let is_begun = state.checkpoint(set)?.is_some_and(|checkpoint| checkpoint != Checkpoint::new());
        Ok(!is_begun && state.owed_after(set, None, 1)?.is_empty() && state.held_in(&[set])? == 0)
    }
}

/// Returns the names of the records of a set.
fn records_of(set: SetId) -> [String; 7] {
    [
        clock_step::name(set),
        coverage::name(set),
        held_though_gone::name(set),
        kept::name(set),
        last_gap::name(set),
        policy::name(set),
        unusable::name(set),
    ]
}
