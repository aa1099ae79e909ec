//! All data that a copy writes for a later run and that is not a plain column of its state: one format each, with its
//! version.
//!
//! A later version of this program reads every version that was ever written; `tests/golden` has one of each. An
//! unreadable record is an error that names the state and the record, never a default. The plan of a run is not such a
//! record: it is removed with its run.

pub(crate) mod clock_step;
pub(crate) mod coverage;
mod desired;
mod document_note;
pub(crate) mod held_though_gone;
pub(crate) mod kept;
pub(crate) mod last_gap;
mod maps;
mod metadata;
pub(crate) mod older_inventory;
pub(crate) mod operations;
mod package;
pub(crate) mod policy;
mod recent_deletions;
pub(crate) mod slice;
pub(crate) mod state_line;
pub(crate) mod unusable;
mod versioned;
pub(crate) mod way;

pub(crate) use desired::WrittenDesired;
pub(crate) use document_note::DocumentNote;
pub(crate) use maps::LastMaps;
pub(crate) use package::WrittenPackage;
pub(crate) use policy::PlanRules;
pub(crate) use recent_deletions::RecentDeletions;
pub(crate) use unusable::UnusableEntries;

#[cfg(test)]
mod tests;
