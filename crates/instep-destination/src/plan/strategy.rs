use std::fmt;

/// The way that brings the copy in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Strategy {
    /// Nothing is new: no list is read.
    Nothing,
    /// Resource List, each resource by itself (§10).
    List,
    /// Resource Dump (§11).
    Dump,
    /// Batches of resources.
    Batch,
    /// Change Lists from the checkpoint on (§12).
    Changes,
    /// Change Dumps from the checkpoint on (§13).
    ChangeDump,
}

impl Strategy {
    /// One word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::List => "list",
            Self::Dump => "dump",
            Self::Batch => "batch",
            Self::Changes => "changes",
            Self::ChangeDump => "change-dump",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
