//! The rows of a shared plan in memory, by the rules of the statements in `state/postgres/slices.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::world::SimWorker;
use crate::state::{SharerId, SliceId, SliceProgress};

/// The rows, by the rules of the statements in `state/postgres/slices.rs`.
#[derive(Default)]
pub(super) struct Rows {
    /// The run that has the copy, and the number of its last transaction.
    pub(super) holder: (SharerId, u64),
    pub(super) is_sealed: bool,
    pub(super) slices: BTreeMap<SliceId, SliceRow>,
    pub(super) shares: BTreeMap<SharerId, ShareRow>,
    pub(super) held: BTreeSet<String>,
    pub(super) owed: BTreeSet<String>,
    pub(super) has_checkpoint: bool,
}

pub(super) struct SliceRow {
    pub(super) claimed: Option<(SharerId, u64)>,
    pub(super) progress: SliceProgress,
    pub(super) uris: Vec<String>,
}

#[derive(Default)]
pub(super) struct ShareRow {
    pub(super) beat: i64,
    pub(super) group: u64,
    pub(super) has_ended: bool,
}

/// The outcomes of a group, and the progress of its slices after it.
#[derive(Clone, Default)]
pub(super) struct Outcomes {
    pub(super) held: Vec<String>,
    pub(super) owed: Vec<String>,
    pub(super) progress: BTreeMap<SliceId, SliceProgress>,
}

impl Rows {
    pub(super) fn take_over(&mut self, run: SharerId) {
        self.holder = (run, 0);
        self.is_sealed = false;
        self.slices.clear();
        self.shares.clear();
    }

    /// Begins a transaction with its number. Returns `Some(true)` if it was committed before, and `None` if the worker
    /// has lost its share.
    pub(super) fn begin(&mut self, worker: &SimWorker, number: u64) -> Option<bool> {
        let last = match self.shares.get_mut(&worker.id) {
            _ if worker.has_copy => (self.holder.0 == worker.id).then_some(&mut self.holder.1),
            share => share.filter(|share| !share.has_ended).map(|share| &mut share.group),
        }?;
        let was_done = *last == number;
        assert!(was_done || *last + 1 == number, "numbers follow each other");
        *last = number;
        Some(was_done)
    }

    pub(super) fn commit(&mut self, worker: &SimWorker, number: u64, group: &Outcomes) -> Option<()> {
        if self.begin(worker, number)? {
            return Some(());
        }
        for (id, progress) in &group.progress {
            let row = self.slices.get_mut(id).expect("a slice stays until it is done");
            assert_eq!(row.claimed.map(|claim| claim.0), Some(worker.id), "its slices are its own");
            row.progress = *progress;
            if progress.is_finished() {
                self.slices.remove(id);
            }
        }
        for uri in &group.held {
            assert!(self.held.insert(uri.clone()), "{uri} takes effect twice");
            self.owed.remove(uri);
        }
        self.owed.extend(group.owed.iter().cloned());
        Some(())
    }

    pub(super) fn claim(
        &mut self,
        sharer: SharerId,
        claim: u64,
        actions: usize,
    ) -> Option<Vec<(SliceProgress, Vec<String>)>> {
        self.shares.get(&sharer).filter(|share| !share.has_ended && self.is_sealed)?;
        let is_new = self.slices.values().all(|slice| slice.claimed != Some((sharer, claim)));
        let mut sum = 0;
        let mut claimed = Vec::new();
        for slice in self.slices.values_mut() {
            if is_new && slice.claimed.is_none() && sum < actions {
                slice.claimed = Some((sharer, claim));
                sum += slice.uris.len();
            }
            if slice.claimed == Some((sharer, claim)) {
                claimed.push((slice.progress, slice.uris.clone()));
            }
        }
        Some(claimed)
    }

    pub(super) fn end_share(&mut self, sharer: SharerId, beat: i64) {
        if let Some(share) = self.shares.get_mut(&sharer).filter(|share| share.beat == beat) {
            share.has_ended = true;
            let its = self.slices.values_mut().filter(|slice| slice.claimed.is_some_and(|by| by.0 == sharer));
            its.for_each(|slice| slice.claimed = None);
        }
    }
}
