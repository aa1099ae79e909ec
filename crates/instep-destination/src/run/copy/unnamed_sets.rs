//! The sets of a copy that its Source does not name any more. `sync/unnamed.rs` decides about their resources.

use super::LocalCopy;
use crate::{
    Error,
    discover::{Discovered, Trouble},
    state::SetId,
};

/// A set that its Source does not name, although the copy has it.
#[derive(Debug)]
pub(crate) struct UnnamedSet {
    pub(crate) id: SetId,
    pub(crate) name: String,
    /// The number of its resources that are held.
    pub(crate) held: u64,
    /// `true` if a resource of it is pending.
    pub(crate) is_pending: bool,
}

impl UnnamedSet {
    fn is_empty(&self) -> bool {
        self.held == 0 && !self.is_pending
    }
}

impl LocalCopy {
    /// Returns the sets that a Source does not name, although the copy holds or awaits resources of them.
    pub(crate) fn unnamed_sets(&self, found: &Discovered) -> Result<Vec<UnnamedSet>, Error> {
        let mut unnamed = self.all_unnamed_sets(found)?;
        unnamed.retain(|set| !set.is_empty());
        Ok(unnamed)
    }

    /// Returns the sets that a Source does not name and of which nothing is left, although they have a checkpoint.
    pub(crate) fn ended_sets(&self, found: &Discovered) -> Result<Vec<SetId>, Error> {
        let mut ended = Vec::new();
        for set in self.all_unnamed_sets(found)? {
            if set.is_empty() && self.state().checkpoint(set.id)?.is_some() {
                ended.push(set.id);
            }
        }
        Ok(ended)
    }

    /// Returns the sets that a Source Description does not name, or the Sitemaps that robots.txt does not. A Source that
    /// was found by one of its sets, or in part, does not name the others.
    fn all_unnamed_sets(&self, found: &Discovered) -> Result<Vec<UnnamedSet>, Error> {
        // A line of robots.txt that never led to anything hides none of the Sitemaps that the others name (O396).
        let hides_sets = |trouble: &Trouble| {
            found.source_description.is_some() || trouble.costs_a_set || trouble.costs_entries
        };
        let is_whole = found.names_sets && !found.troubles.iter().any(hides_sets);
        let (Some(source), true) = (self.source, is_whole && found.other_sets.is_empty()) else {
            return Ok(Vec::new());
        };
        let of_source = self.state().sets_of(source)?;
        let is_named = |name: &str| found.sets.iter().any(|set| set.is_known_as(name));
        let mut unnamed = Vec::new();
        for (id, name) in self.state().sets()? {
            if of_source.contains(&id) && !is_named(&name) {
                let held = self.state().held_in(&[id])?;
                let is_pending = !self.state().owed_after(id, None, 1)?.is_empty();
                unnamed.push(UnnamedSet { id, name, held, is_pending });
            }
        }
        Ok(unnamed)
    }
}
