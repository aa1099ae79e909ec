//! The dashboard of a fleet: all Sources with their states, a page for each, the actions of operators, and the same
//! data as JSON and as metrics.

mod access;
mod api;
mod detail;
mod json;
mod metrics;
mod overview;
mod page_of_source;
mod selection;
mod served;
mod server;
mod signing;
mod surveyed;

pub(crate) use access::OperatorAccess;
pub(crate) use json::source_object;
pub(crate) use server::{FleetListener, FleetServer};
