//! A fleet in the program: the `[[source]]` tables of the configuration file, and the output while it runs.

mod display;
mod tables;

pub(crate) use display::FleetDisplay;
pub(crate) use tables::{configured, times_of_day};
