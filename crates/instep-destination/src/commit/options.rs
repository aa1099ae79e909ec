//! The limits of a group, and how durable its commit is.

use std::time::Duration;

use crate::store::Durability;

/// The longest that a resource waits for others in its pack.
const LONGEST_WAIT_FOR_A_PACK: Duration = Duration::from_secs(30);

/// The resources with which a worker's pack is worth an object after [`CommitOptions::soon`].
const ENOUGH_OF_A_WORKER: usize = 64;

/// The limits of a group, and the durability of its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct CommitOptions {
    /// Most resources in a group.
    pub most_resources: usize,
    /// Most bytes in a group.
    pub most_bytes: u64,
    /// Longest a resource waits for its group.
    pub longest_wait: Duration,
    /// Longest that it waits in a group of [`Self::enough`] resources.
    pub soon: Duration,
    /// Resources with which a group does not wait for as many as it can have.
    pub enough: usize,
    /// The waiting of a commit for the disk; give the store the same.
    pub durability: Durability,
    /// `true` if files that the state does not have are replaced by resources of the same name (an adopted copy).
    pub replaces_unknown: bool,
    /// `true` if a copy is accepted although the state holds resources and the disk has no file at all (D35).
    pub accepts_emptied: bool,
}

impl CommitOptions {
    /// 2,048 resources, 64 MiB or 1 s, whichever comes first.
    pub(crate) fn new() -> Self {
        Self {
            most_resources: 2_048,
            most_bytes: 64 << 20,
            longest_wait: Duration::from_secs(1),
            soon: Duration::from_secs(1),
            enough: 0,
            durability: Durability::Group,
            replaces_unknown: false,
            accepts_emptied: false,
        }
    }

    /// Returns the limits of a copy in packs, which waits for 30 s: each request costs money, and a small pack is
    /// also an extra request for each reader. The last group of a run, or of a round of following, is committed at
    /// its end, at any size.
    pub(crate) fn for_packs() -> Self {
        Self { longest_wait: LONGEST_WAIT_FOR_A_PACK, soon: LONGEST_WAIT_FOR_A_PACK, ..Self::new() }
    }

    /// Returns those of a copy in packs that one of several workers brings in step. What a worker that is killed had not
    /// committed is fetched again by another one, so nothing waits for longer than a second once there is some of it: at
    /// full speed a group is as large as ever.
    pub(crate) fn for_worker() -> Self {
        Self { soon: Duration::from_secs(1), enough: ENOUGH_OF_A_WORKER, ..Self::for_packs() }
    }

    /// Returns those of a worker that helps another run, with groups of half the size: a pack still has a thousand resources.
    #[cfg(feature = "postgres")]
    pub(crate) fn for_share() -> Self {
        Self { most_resources: 1_024, ..Self::for_worker() }
    }
}

impl Default for CommitOptions {
    fn default() -> Self {
        Self::new()
    }
}
