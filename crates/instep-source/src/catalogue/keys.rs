//! Keys that are too long for an engine.

use super::{Catalogue, CatalogueError, Observation, Resource};

impl Catalogue {
    /// Returns the largest number of bytes in the key of a resource; `None` if there is no limit.
    pub(crate) fn longest_key(&self) -> Option<usize> {
        self.engine.longest_key()
    }

    /// Refuses resources whose keys are too long.
    pub(super) fn refuse_long_keys(&self, batch: &[Observation]) -> Result<(), CatalogueError> {
        let Some(most) = self.longest_key() else { return Ok(()) };
        match batch.iter().filter_map(Observation::found).find(|found| found.key.len() > most) {
            Some(Resource { key, uri, .. }) => {
                Err(CatalogueError::TooLong { uri: uri.as_str().to_owned(), bytes: key.len(), most })
            }
            None => Ok(()),
        }
    }
}
