//! The operator's maps of the last run. A run with other maps leaves the held resources at their paths.

use super::LocalCopy;
use crate::{Error, SyncOptions, records::LastMaps};

impl LocalCopy {
    /// Records the maps of this run. Returns `true` if the copy holds resources and the last run over this URL had
    /// other maps. The operator should know this, because a forgotten map spreads the copy over two places.
    pub(crate) fn has_other_maps(&mut self, options: &SyncOptions) -> Result<bool, Error> {
        let maps = LastMaps::of(&options.maps);
        // Earlier versions did not record their maps, so `None` does not mean that there were none.
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
