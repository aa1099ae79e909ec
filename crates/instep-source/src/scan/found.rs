//! Resources that a preview finds. A publication has recorded them before its guard counts the deletions, so the guard of
//! a preview adds them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    catalogue::{CatalogueError, Observation, Resource, Snapshot},
    content::Holdings,
};

/// The most sets of a Source.
pub(super) const SETS: usize = 64;

/// Numbers of resources by set.
#[derive(Clone, Debug)]
pub(super) struct FoundCounts {
    /// Resources that the catalogue does not have at their place.
    pub(super) new: Vec<u64>,
    /// Those among them with the URI of another resource, which for readers is not gone if they replace it.
    pub(super) moved: Vec<u64>,
}

impl Default for FoundCounts {
    fn default() -> Self {
        Self { new: vec![0; SETS], moved: vec![0; SETS] }
    }
}

/// The counts of a preview, which several threads add to.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundResources(Arc<Mutex<FoundCounts>>);

impl FoundResources {
    /// Counts the resource of an observation if it is new. `held` is the one of the catalogue at its place.
    pub(super) fn add(
        &self,
        observation: &Observation,
        held: Option<&Resource>,
        snapshot: &Snapshot,
        holdings: &Holdings,
    ) -> Result<(), CatalogueError> {
        let Some(resource) = observation.found().filter(|_| held.is_none()) else { return Ok(()) };
        let mut is_moved = false;
        for key in holdings.keys_of(resource.uri.as_str()).filter(|key| *key != resource.key) {
            let other = snapshot.resource(&key)?;
            is_moved |= other.is_some_and(|other| other.uri == resource.uri);
        }
        let mut counts = self.lock();
        count(&mut counts.new, resource.sets);
        if is_moved {
            count(&mut counts.moved, resource.sets);
        }
        Ok(())
    }

    /// Returns the counts so far.
    pub(super) fn counts(&self) -> FoundCounts {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, FoundCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one for each of some sets.
pub(super) fn count(by_set: &mut [u64], sets: u64) {
    for (number, count) in by_set.iter_mut().enumerate() {
        *count += sets >> number & 1;
    }
}
