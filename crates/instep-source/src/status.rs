//! The state of a running Source, as people and monitoring see it. Below `live`, which makes it, and `serve` and
//! `notify`, which show it.

mod current;
mod overview;

pub(crate) use current::{failed, overview};
pub use overview::{Overview, RecentChange, SetOverview};
