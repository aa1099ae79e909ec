//! The guard of a Source: the deletions that a publication may announce.

/// The guard of a Source. An emptied folder or an unmounted disk looks like the deletion of everything; a publication
/// that would announce more deletions than this is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletionGuard {
    /// The most deletions of one publication; while a Source stays open, of one hour.
    pub most: MaxDeletions,
    /// `true` if a set may lose its last resource.
    pub allow_empty: bool,
}

impl DeletionGuard {
    /// Returns `true` if this many of the held resources cannot be taken for deleted.
    pub fn refuses(&self, gone: u64, held: u64) -> bool {
        let is_emptied = gone > 0 && gone >= held && !self.allow_empty;
        is_emptied || gone > self.most.limit(held)
    }
}

/// A number of deletions, for each set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxDeletions {
    /// At most 10 resources, or 10 % of the set if that is more.
    #[default]
    Default,
    /// At most this number of resources.
    Count(u64),
    /// At most this percentage of the resources of the set.
    Percent(u8),
}

impl MaxDeletions {
    /// Returns the most deletions among this number of resources.
    pub(crate) fn limit(self, resources: u64) -> u64 {
        match self {
            Self::Default => (resources / 10).max(10),
            Self::Count(count) => count,
            Self::Percent(percent) => resources.saturating_mul(u64::from(percent)) / 100,
        }
    }
}

/// The treatment of files that not everybody may read, and of files that cannot be read at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// They are left out and reported. One that was published before stays published as it was.
    #[default]
    Skip,
    /// The publication is refused, and the error names the first of them.
    Fail,
}
