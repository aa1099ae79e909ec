//! A fleet as the program describes it: the `[[source]]` tables of the configuration file, and what is shown while it
//! runs.

mod display;
mod tables;

pub(crate) use display::FleetDisplay;
pub(crate) use tables::{configured, times_of_day};
