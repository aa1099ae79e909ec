//! The folder of a fleet.

use std::path::PathBuf;

use clap::Args;

use super::values;

/// The fleet that a command is about.
#[derive(Clone, Debug, Args)]
pub(crate) struct FleetArgs {
    /// Folder of the fleet
    ///
    /// It holds the record, and the copies that have no folder of their own.
    #[arg(long = "fleet", global = true, value_parser = values::path, value_name = "DIR", default_value = "fleet")]
    pub(crate) folder: PathBuf,
}
