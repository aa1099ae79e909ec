//! Copies of the documents of another server, staged with their times.

use std::{fs::File, path::PathBuf, time::SystemTime};

use instep_store::SpaceWatch;

use super::{FolderSink, Rank, TwinRule};
use crate::Error;

impl FolderSink {
    /// Returns a sink for copies of the documents of another server, below `path`.
    pub(crate) fn of_copies(path: impl Into<PathBuf>) -> Self {
        let (path, purpose) = (path.into(), "copies".to_owned());
        let (twins, space) = (TwinRule::AsNamed, SpaceWatch::default());
        Self { path, purpose, twins, open: None, staged: Vec::new(), space }
    }

    /// Stages a copy of a document that was modified at a time, unless `fill` finds that it cannot be completed; returns
    /// `true` if it is staged. Copies are put in place in the order in which they are staged.
    pub(crate) fn stage_copy(
        &mut self,
        name: &str,
        modified: SystemTime,
        fill: impl FnOnce(&mut File) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let (path, mut is_whole) = (self.path.join(name), false);
        let staged = self.stage_file(name, |_, file| {
            is_whole = fill(file)?;
            file.set_modified(modified).map_err(Error::write(path))
        })?;
        if is_whole {
            self.take_in(Rank::Part, name, staged);
        } else {
            self.discard(staged.0);
        }
        Ok(is_whole)
    }
}
