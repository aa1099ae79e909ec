//! The slices that a worker has claimed, and their progress.

use std::collections::BTreeMap;

use crate::state::{SliceId, SliceProgress};

/// The least number of actions that a worker has in hand after a claim: enough to keep its transfers busy while a claim
/// waits for the group of another worker, and few enough that the others have something to do.
const LEAST_AHEAD: usize = 512;

/// The place of an action within a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlicePlace {
    pub(crate) slice: SliceId,
    pub(crate) place: u16,
}

/// The slices that a worker has claimed.
#[derive(Debug)]
pub(crate) struct SliceBook {
    slices: BTreeMap<SliceId, SliceProgress>,
    in_hand: usize,
    /// The number of actions in hand after a claim.
    ahead: usize,
}

impl SliceBook {
    /// Returns the book of a worker with this number of parallel transfers.
    pub(crate) fn new(transfers: usize) -> Self {
        Self { slices: BTreeMap::new(), in_hand: 0, ahead: LEAST_AHEAD.max(4 * transfers) }
    }

    /// Returns how many actions to claim now; zero if there is enough to do.
    pub(crate) fn wanted(&self) -> usize {
        // Nothing is claimed before half of them are done, because each claim is a transaction.
        if self.in_hand > self.ahead / 2 { 0 } else { self.ahead - self.in_hand }
    }

    /// Returns `true` if there are actions without an outcome.
    pub(crate) fn has_any(&self) -> bool {
        self.in_hand > 0
    }

    /// Takes a claimed slice. Returns the places of the actions that are not done: an earlier worker may have done
    /// the others.
    pub(crate) fn take(&mut self, progress: SliceProgress) -> Vec<SlicePlace> {
        let slice = progress.slice;
        self.slices.insert(slice, progress);
        let open = (0..progress.total).filter(|place| !progress.done.has(*place));
        let open: Vec<_> = open.map(|place| SlicePlace { slice, place }).collect();
        self.in_hand += open.len();
        open
    }

    /// Records the outcome of an action. Returns the progress of its slice once all outcomes so far are committed;
    /// `None` if it was already recorded.
    pub(crate) fn settle(&mut self, at: SlicePlace) -> Option<SliceProgress> {
        let progress = self.slices.get_mut(&at.slice).filter(|slice| !slice.done.has(at.place))?;
        progress.done.insert(at.place);
        self.in_hand -= 1;
        let progress = *progress;
        if progress.is_finished() {
            self.slices.remove(&at.slice);
        }
        Some(progress)
    }
}
