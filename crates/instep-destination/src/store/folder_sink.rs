//! The staging file of a copy in a folder.

use std::{fs::File, io::Write as _, sync::Arc};

use instep_store::{Staging, WRITTEN_BETWEEN_LOOKS, free_space};
use resourcesync::DateTime;
use rustix::fs::{Timespec, Timestamps, UTIME_OMIT};

use super::{
    StagedName, StoreError,
    partial::{self, PartInUse, PartsInUse},
    staging::StagingSink,
};

/// The folder of everything in a copy that is not a resource.
pub(super) const OWN: &str = ".instep";
pub(super) const STAGING: &str = "staging";

/// Returns the path of a staged file in its copy, for messages.
pub(super) fn shown(name: StagedName) -> String {
    format!("{OWN}/{STAGING}/{name}")
}

/// A file in the staging folder.
#[derive(Debug)]
pub(super) struct FolderStagingSink {
    file: File,
    name: StagedName,
    staging: Arc<Staging>,
    part: Option<PartInUse>,
    parts: PartsInUse,
    /// The number of bytes to leave free, as [`free_space`] takes it.
    reserve: Option<u64>,
    /// The bytes written since the free space was checked.
    unchecked: u64,
    finished: bool,
}

impl FolderStagingSink {
    pub(super) fn new(
        file: File,
        name: StagedName,
        staging: Arc<Staging>,
        parts: PartsInUse,
        reserve: Option<u64>,
    ) -> Self {
        Self { file, name, staging, part: None, parts, reserve, unchecked: 0, finished: false }
    }

    fn check_reserve(&mut self, written: usize) -> Result<(), StoreError> {
        self.unchecked += written as u64;
        if self.unchecked < WRITTEN_BETWEEN_LOOKS {
            return Ok(());
        }
        self.unchecked = 0;
        let space = free_space(&*self.staging, self.reserve);
        let space = space.map_err(|error| StoreError::of("read the free space of", STAGING, error))?;
        if space.usable() > 0 { Ok(()) } else { Err(StoreError::reserve_reached(space)) }
    }

    /// Makes the file continue a part, which keeps its name until it is complete.
    pub(super) fn continuing(mut self, part: PartInUse) -> Self {
        self.part = Some(part);
        self
    }
}

impl StagingSink for FolderStagingSink {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(bytes).map_err(|error| StoreError::io("write", shown(self.name), error))?;
        self.check_reserve(bytes.len())
    }

    fn finish(&mut self, modified: Option<DateTime>) -> Result<(), StoreError> {
        if let Some(part) = &self.part {
            partial::finish(&self.staging, part.name(), self.name)?;
        }
        if let Some(modified) = modified {
            let (seconds, nanos) = modified.instant();
            let times = Timestamps {
                last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
                last_modification: Timespec { tv_sec: seconds, tv_nsec: nanos.into() },
            };
            rustix::fs::futimens(&self.file, &times)
                .map_err(|error| StoreError::io("set the time of", shown(self.name), error))?;
        }
        self.finished = true;
        Ok(())
    }

    fn keep_for(&mut self, uri: &str, validator: &str) -> Result<(), StoreError> {
        // One kept part is enough, and another transfer from there keeps it.
        let Some(part) = self.parts.take(uri) else { return Ok(()) };
        partial::keep(&self.staging, self.name, part.name(), validator)?;
        self.part = Some(part);
        Ok(())
    }
}

impl Drop for FolderStagingSink {
    fn drop(&mut self) {
        if !self.finished && self.part.is_none() {
            // A failure is ignored, because the next start removes the file.
            let _ = self.staging.discard(self.name);
        }
    }
}
