//! The limits of a group, and how durable its commit is.

use std::time::Duration;

use crate::store::Durability;

/// The longest time that a resource waits for others in its pack.
const LONGEST_WAIT_FOR_A_PACK: Duration = Duration::from_secs(30);

/// The resources with which a worker's pack is worth an object after [`CommitOptions::soon`].
const ENOUGH_OF_A_WORKER: usize = 64;

/// The shortest time that a resource of a worker waits for others, and the fewest that are worth an object after it. In
/// this time their names are looked up together.
const EARLY_OF_A_WORKER: (Duration, usize) = (Duration::from_millis(500), 16);

/// The limits of a group, and the durability of its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct CommitOptions {
    /// The most resources in a group, by the weight of their commits.
    pub most_resources: usize,
    /// The most bytes in a group.
    pub most_bytes: u64,
    /// The longest time that a resource waits until its group is committed.
    pub longest_wait: Duration,
    /// The longest time that it waits if the group has [`Self::enough`] resources.
    pub soon: Duration,
    /// The number of resources from which on a group waits for [`Self::soon`] and not for [`Self::longest_wait`].
    pub enough: usize,
    /// The longest time that it waits if the group is one fiftieth of everything that the run has committed before, and
    /// has [`Self::few`] resources.
    pub early: Duration,
    /// The fewest resources of a group that waits for [`Self::early`] only.
    pub few: usize,
    /// The durability of a commit. The store must have the same.
    pub durability: Durability,
    /// `true` if files that the state does not have are replaced by resources of the same name (an adopted copy).
    pub replaces_unknown: bool,
    /// `true` if a copy is accepted although the state holds resources and the disk has no file at all (D35).
    pub accepts_emptied: bool,
}

impl CommitOptions {
    /// Returns the limits of a folder: 2,048 resources, 64 MiB or 1 s, whichever is reached first.
    pub(crate) fn new() -> Self {
        Self {
            most_resources: 2_048,
            most_bytes: 64 << 20,
            longest_wait: Duration::from_secs(1),
            soon: Duration::from_secs(1),
            enough: 0,
            early: Duration::from_secs(1),
            few: usize::MAX,
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

    /// Returns the limits of a copy in packs that one of several workers synchronizes. The resources that a killed
    /// worker had not committed are fetched again by another one, so a group of 64 resources waits for a second only.
    /// In a young run that would be a large part of it, so its groups are smaller and grow with it. At full speed
    /// groups are as large as otherwise.
    pub(crate) fn for_worker() -> Self {
        let (early, few) = EARLY_OF_A_WORKER;
        Self { soon: Duration::from_secs(1), enough: ENOUGH_OF_A_WORKER, early, few, ..Self::for_packs() }
    }

    /// Returns the limits of a worker that helps another run: groups of half the size, which still have a thousand
    /// resources in a pack.
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
