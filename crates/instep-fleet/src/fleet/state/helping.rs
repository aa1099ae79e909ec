//! Plans of other workers that this one may help with.

use std::{fs, path::PathBuf};

use instep_destination::SyncOptions;

use super::FleetState;
use crate::{name::SourceName, record::FleetRecord};

impl FleetState {
    /// Returns the folder for incoming files of copies that other workers run.
    fn folder_of_help(&self) -> PathBuf {
        FleetRecord::own_folder(&self.options.dir).join("shares")
    }

    /// Removes incoming files of a killed process: this process has the lock of the fleet's folder.
    pub(in crate::fleet) fn sweep_help(&self) {
        // A failure is ignored: the files only take room on the disk.
        let _ = fs::remove_dir_all(self.folder_of_help());
    }

    /// Returns the options for claiming slices of the plan of a Source, beside a number of others. `None` if
    /// something is due here, there is no free slot, or the Source is running here, paused or unknown.
    pub(in crate::fleet) fn to_help(&self, name: &SourceName, beside: usize) -> Option<SyncOptions> {
        let is_idle = self.queue.ready() == [0, 0] && self.looks.len() + beside < self.options.runs;
        let source = self.sources.get(name)?;
        if !is_idle || self.looks.contains_key(name) || source.standing.paused {
            return None;
        }
        let mut options = source.definition.run_options(&self.options).ok()?;
        options.dir = self.folder_of_help();
        options.access.shared = Some(self.shared.client.clone());
        Some(options)
    }
}
