//! The guards, which refuse a plan that may do harm.

use std::fmt;

/// The guard that refuses a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guard {
    /// The plan would delete more resources than the operator allows in one run, or in the runs of a day.
    MaxDelete,
    /// The inventory lists nothing, so that the plan would empty the copy.
    Empty,
    /// A document is older than the one that was applied: a cache may have answered, or the Source was restored from a
    /// backup.
    TimeWentBack,
    /// The newest state of the Source is older than the operator allows: it has stopped changing, or only an old state
    /// is shown.
    Frozen,
    /// The state records resources, and nothing of the copy is at its place: its disk may not be mounted.
    MarkerMissing,
    /// The folder of a new copy has files already, which the copy could overwrite.
    UnknownFiles,
    /// The place of a new copy in object storage has objects already, which the copy could overwrite.
    UnknownObjects,
    /// The folder has a copy of another Source, which the plan would replace.
    OtherSource,
    /// The new place of the state has a state already, which would be lost.
    StateInUse,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MaxDelete => "max-delete",
            Self::Empty => "empty",
            Self::TimeWentBack => "time-went-back",
            Self::Frozen => "frozen",
            Self::MarkerMissing => "marker-missing",
            Self::UnknownFiles => "unknown-files",
            Self::UnknownObjects => "unknown-objects",
            Self::OtherSource => "other-source",
            Self::StateInUse => "state-in-use",
        })
    }
}
