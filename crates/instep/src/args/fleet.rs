//! Options for the place of a fleet: its folder, and the database that its workers share.

use std::path::PathBuf;

use clap::Args;
use instep_fleet::{FleetPlace, SourceState};

use super::values;

/// The fleet that a command is about.
#[derive(Clone, Debug, Args)]
pub(crate) struct FleetArgs {
    /// Folder of the fleet
    ///
    /// It has the record, and the copies without their own folder. With --state it belongs to this worker only.
    #[arg(long = "fleet", global = true, value_parser = values::path, value_name = "DIR", default_value = "fleet")]
    pub(crate) folder: PathBuf,
    /// Keep the record and the states of all copies in PostgreSQL, which many workers share: postgres://USER@HOST/DATABASE
    #[arg(long, global = true, value_name = "URL", hide_short_help = true)]
    state: Vec<String>,
}

impl FleetArgs {
    /// Returns the place.
    pub(crate) fn place(&self) -> FleetPlace {
        FleetPlace::in_folder(&self.folder).with_state(self.state.last().cloned())
    }

    /// Removes the value of `--state` that is a state of Sources, such as `failing`, and returns it; `None` if all
    /// values are URLs. The command that lists Sources has this option in both meanings, and a URL is known by its
    /// `://`.
    ///
    /// Errors: a value that is neither a URL nor a state.
    pub(crate) fn take_state_of_sources(&mut self) -> anyhow::Result<Option<SourceState>> {
        let is_word = |value: &String| !value.contains("://");
        let Some(place) = self.state.iter().rposition(is_word) else { return Ok(None) };
        let word = self.state.remove(place);
        word.parse::<SourceState>()
            .map(Some)
            .map_err(|known| anyhow::anyhow!("--state {word}: not a state; {known}"))
    }
}
