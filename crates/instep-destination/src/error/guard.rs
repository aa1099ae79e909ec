//! The guards, which refuse a plan that may do harm.

use std::fmt;

/// The guard that refuses a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guard {
    /// Too many deletions.
    MaxDelete,
    /// An empty inventory.
    Empty,
    /// A list older than the one applied.
    TimeWentBack,
    /// The Source has not changed for too long.
    Frozen,
    /// The copy's own folder is gone although the copy is not new.
    MarkerMissing,
    /// A folder that is no copy yet holds files.
    UnknownFiles,
    /// A place in object storage that is no copy yet has objects.
    UnknownObjects,
    /// A copy of another Source.
    OtherSource,
    /// A state that is not empty at the place of a new one.
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
