//! Folding: of several entries about a resource, one decides.

use super::{Desired, DesiredPresence, following, supersedes};

/// Folds a stretch of changes: of several about one resource the deciding one is left. The result is in the order of
/// the URIs. Returns how many entries others decided over.
pub(crate) fn fold(changes: &mut Vec<Desired>) -> u64 {
    // A stable sort keeps the order of reading within a resource.
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
