//! The operator's maps of the last run: a run with others leaves the held resources where they are.

use super::LocalCopy;
use crate::{Error, SyncOptions, records::LastMaps};

impl LocalCopy {
    /// Remembers the maps of this run. Returns `true` if the copy holds resources, and the last run over this URL had
    /// other maps: one that was forgotten would scatter the copy over two places.
    pub(crate) fn has_other_maps(&mut self, options: &SyncOptions) -> Result<bool, Error> {
        let maps = LastMaps::of(&options.maps);
        // `None` also in a copy of an earlier version, of which nothing is known.
        let before = LastMaps::read(&*self.reader, &options.url)?;
        if before.as_ref() == Some(&maps) {
            return Ok(false);
        }
        if self.committer.is_some() {
            maps.write(self.state_mut()?, &options.url)?;
        }
        Ok(before.is_some() && !self.reader.held_after(None, 1)?.is_empty())
    }
}
