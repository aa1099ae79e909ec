//! The worker that a Source falls to: the same one in the opinion of all workers, without any exchange among them. PURE.
//!
//! Workers that look for due Sources at the same second would otherwise share them by chance: the first one takes all
//! that it has room for.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::WorkerId;

/// The seconds for which the other workers leave a Source to the one that it falls to. All look for due Sources once a
/// second, so by then it had its turn, and is busy or gone.
pub(crate) const LEFT_FOR: i64 = 2;

/// Returns `true` if a Source falls to a worker and to none of the others. When a worker comes or goes, only its own
/// Sources fall to another one than before.
pub(crate) fn falls_to(me: WorkerId, others: impl IntoIterator<Item = WorkerId>, source: &str) -> bool {
    let rank = |worker: WorkerId| {
        let mut hasher = DefaultHasher::new();
        (worker, source).hash(&mut hasher);
        (hasher.finish(), worker)
    };
    let mine = rank(me);
    others.into_iter().all(|other| rank(other) <= mine)
}
