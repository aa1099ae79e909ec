//! The program's part of a fleet: the `[[source]]` tables of the configuration file, and the output while it runs. The
//! fleet itself is in `instep-fleet`.

mod display;
mod opening;
mod tables;

pub(crate) use display::FleetDisplay;
pub(crate) use opening::opened;
pub(crate) use tables::{configured, times_of_day};
