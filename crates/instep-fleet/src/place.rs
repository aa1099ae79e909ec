//! The place of a fleet: its folder, and the database that several workers share.

use std::path::PathBuf;

/// The place of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetPlace {
    /// The folder of the fleet; if its record is in a database, the folder of this worker.
    pub dir: PathBuf,
    /// The URL of the database that has the record and the states of the copies; `None` keeps them in the folder.
    pub state: Option<String>,
}

impl FleetPlace {
    /// Returns the place of a fleet in a folder.
    pub fn in_folder(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), state: None }
    }

    /// Returns this place with its record in the database at a URL.
    #[must_use]
    pub fn with_state(self, state: Option<String>) -> Self {
        Self { state, ..self }
    }
}
