//! The choice between all documents of a set, and those that changed since they were read last.

/// The treatment of documents that are as they were when they were read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unchanged {
    /// The copy has what they list.
    Skip,
    /// They are read like new ones: the copy may lack what they list, or another plan needs it.
    Read,
}

impl Unchanged {
    /// Returns [`Self::Read`] if everything is read anew.
    pub(crate) fn read_if(anew: bool) -> Self {
        if anew { Self::Read } else { Self::Skip }
    }
}
