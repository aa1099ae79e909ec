//! The options of a fleet.

use std::{fmt, path::PathBuf};

use instep_destination::{AccessOptions, CopyPlace};

use crate::{place::FleetPlace, schedule::PacingRules};

/// Options for keeping a fleet current: its folder, and the budgets of all its Sources together.
#[derive(Clone)]
#[non_exhaustive]
pub struct FleetOptions {
    /// The folder of the fleet: its record, and the copies of Sources that name no folder.
    pub dir: PathBuf,
    /// The URL of a database of PostgreSQL that has the record and the states of all copies, for a fleet that several workers
    /// keep; `None` for the folder.
    pub state: Option<String>,
    /// The object storage that has the bytes of all copies, each below its name; `None` for folders.
    pub store: Option<CopyPlace>,
    /// Sources that run at the same time.
    pub runs: usize,
    /// Sources of one host that run at the same time.
    pub runs_per_host: usize,
    /// Options of access to the network; their limits hold for all Sources together.
    pub access: AccessOptions,
    /// The limits of the intervals between looks.
    pub pacing: PacingRules,
    /// The bytes of all copies together; no look begins beyond that.
    pub disk: Option<u64>,
    /// Bytes that stay free on the disk; no look begins below that.
    pub min_free: u64,
    /// A URL that alerts are sent to, as JSON.
    pub webhook: Option<String>,
    /// An address that alerts are sent to, by `sendmail`.
    pub mail: Option<String>,
    /// Failures in a row after which the operator gets an alert.
    pub alert_after: u32,
}

impl FleetOptions {
    /// Returns the defaults of the program: 32 Sources at a time, 4 of one host, no budgets, no alerts.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            state: None,
            store: None,
            runs: 32,
            runs_per_host: 4,
            access: AccessOptions::default(),
            pacing: PacingRules::default(),
            disk: None,
            min_free: 0,
            webhook: None,
            mail: None,
            alert_after: 3,
        }
    }

    /// Takes the place of the record and of the copies from the options that a fleet was opened with: its record is open,
    /// and the copies are not found elsewhere.
    pub(crate) fn stay_at(&mut self, former: &Self) {
        self.dir.clone_from(&former.dir);
        self.state.clone_from(&former.state);
        self.store.clone_from(&former.store);
    }

    /// Returns `true` if the record and the copies are in the same place with other options.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        let store =
            |options: &Self| options.store.as_ref().map(|store| (store.place.to_string(), store.layout));
        self.place() == other.place() && store(self) == store(other)
    }

    /// Returns the place of the fleet.
    pub(crate) fn place(&self) -> FleetPlace {
        FleetPlace::in_folder(&self.dir).with_state(self.state.clone())
    }
}

/// Shows which fleet the options are for: the URLs of its database and of its webhook may contain secrets.
impl fmt::Debug for FleetOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetOptions")
            .field("dir", &self.dir)
            .field("runs", &self.runs)
            .field("runs_per_host", &self.runs_per_host)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}
