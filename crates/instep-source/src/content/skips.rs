//! The files that are not published, by reason: how many, and the first of each.

use crate::LeftOutCounts;

/// The files that a walk passed over, by reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skips {
    pub(crate) private: Skipped,
    pub(crate) links: Skipped,
    pub(crate) special: Skipped,
    pub(crate) names: Skipped,
    pub(crate) unreadable: u64,
    /// Resources whose URI or state no document can express.
    pub(crate) unpublishable: u64,
}

impl Skips {
    /// Adds those of another walk.
    pub(crate) fn add(&mut self, other: &Self) {
        self.private.merge(&other.private);
        self.links.merge(&other.links);
        self.special.merge(&other.special);
        self.names.merge(&other.names);
        self.unreadable += other.unreadable;
        self.unpublishable += other.unpublishable;
    }

    /// Returns the number of files that were left out unintentionally; hidden names do not count.
    pub(crate) fn count(&self) -> u64 {
        self.private.count + self.links.count + self.special.count + self.unreadable + self.unpublishable
    }
}

impl From<&Skips> for LeftOutCounts {
    fn from(skips: &Skips) -> Self {
        let Skips { private, links, special, names, .. } = skips;
        Self { private: private.count, links: links.count, special: special.count, names: names.count }
    }
}

/// The number of files that were passed over for one reason, and the first of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) count: u64,
    pub(crate) first: Vec<u8>,
}

impl Skipped {
    pub(super) fn add(&mut self, path: &[u8]) {
        if self.count == 0 {
            self.first = path.to_vec();
        }
        self.count += 1;
    }

    fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            self.first.clone_from(&other.first);
        }
        self.count += other.count;
    }
}
