//! Folding: reduces several changes of a resource to the one that decides.

use super::{Desired, DesiredPresence, following, supersedes};

/// Folds a part of the changes, so that each resource has one entry left: the one that decides. The result is in the
/// order of the URIs. Returns the number of entries that were removed.
pub(crate) fn fold(changes: &mut Vec<Desired>) -> u64 {
    // The sort is stable, so changes of one resource stay in the order in which they were read.
    changes.sort_by(|a, b| a.uri.cmp(&b.uri));
    let before = changes.len();
    changes.dedup_by(|later, earlier| {
        if later.uri != earlier.uri {
            return false;
        }
        if supersedes(later.place(), earlier.place()) {
            let mut desired = std::mem::take(later);
            if (earlier.presence, desired.presence) == (DesiredPresence::Present, DesiredPresence::Present) {
                desired = following(desired, earlier);
            }
            *earlier = desired;
        }
        true
    });
    (before - changes.len()) as u64
}

#[cfg(test)]
mod tests;
