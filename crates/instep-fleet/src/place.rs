//! The place of a fleet: its folder, and the database that several workers share.

use std::{fmt, path::PathBuf};

/// The place of a fleet.
#[derive(Clone, PartialEq, Eq)]
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

/// Leaves out the URL of the database, which may contain a password.
impl fmt::Debug for FleetPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetPlace").field("dir", &self.dir).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FleetOptions;

    #[test]
    fn o910_the_password_of_the_database_of_a_fleet_is_not_shown() {
        let mut options = FleetOptions::new("fleet");
        options.state = Some("postgres://fleet:hunter2@db.example.org/fleet".to_owned());
        options.webhook = Some("https://chat.example.org/hooks/hunter2".to_owned());
        let place = FleetPlace::in_folder("fleet").with_state(options.state.clone());
        for shown in [format!("{options:?}"), format!("{place:?}")] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}
