//! The rows of the record in memory, by the rules of its statements.

use super::{seats::HOSTS, *};

/// The rows of the record, by the rules of its statements.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) beats: BTreeMap<WorkerId, i64>,
    pub(super) sources: Vec<SourceRow>,
    pub(super) lanes: [Vec<LaneSeat>; HOSTS],
}

#[derive(Clone, Default)]
pub(super) struct SourceRow {
    pub(super) worker: Option<WorkerId>,
    pub(super) epoch: u64,
    /// Looks that ended, by epoch.
    pub(super) effects: Vec<u64>,
}

impl Rows {
    pub(super) fn beat(&mut self, worker: WorkerId) -> bool {
        self.beats.get_mut(&worker).map(|beat| *beat += 1).is_some()
    }

    pub(super) fn reap(&mut self, worker: WorkerId, beat: i64) {
        if self.beats.get(&worker) == Some(&beat) {
            self.remove(worker);
        }
    }

    pub(super) fn remove(&mut self, worker: WorkerId) {
        self.beats.remove(&worker);
        let held = self.sources.iter_mut().filter(|source| source.worker == Some(worker));
        held.for_each(|source| source.worker = None);
        self.lanes.iter_mut().for_each(|lane| lane.retain(|seat| seat.worker != worker));
    }

    pub(super) fn claim(&mut self, worker: WorkerId, source: usize, epoch: u64) -> bool {
        let row = &mut self.sources[source];
        if !self.beats.contains_key(&worker) || row.worker.is_some() || row.epoch != epoch {
            return false;
        }
        (row.worker, row.epoch) = (Some(worker), epoch + 1);
        true
    }

    pub(super) fn finish(&mut self, worker: WorkerId, source: usize, epoch: u64) -> bool {
        let row = &mut self.sources[source];
        if row.worker != Some(worker) || row.epoch != epoch {
            return false;
        }
        row.worker = None;
        row.effects.push(epoch);
        true
    }
}
