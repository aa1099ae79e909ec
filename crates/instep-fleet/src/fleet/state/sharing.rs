//! The share of this worker in what all workers do.

use std::collections::BTreeSet;

use super::FleetState;
use crate::{
    name::SourceName,
    record::FleetWorker,
    share::{LEFT_FOR, WorkerId, falls_to},
};

impl FleetState {
    /// Takes over the workers as the record has them.
    pub(in crate::fleet) fn set_workers(&mut self, workers: Vec<FleetWorker>) {
        let ids = |of: &[FleetWorker]| of.iter().map(|worker| worker.id).collect::<BTreeSet<WorkerId>>();
        let (before, after) = (ids(&self.workers), ids(&workers));
        self.workers = workers;
        self.share_bandwidth();
        if before != after {
            self.enqueue_all();
        }
        if !before.is_subset(&after) {
            self.note_unheard();
        }
    }

    pub(in crate::fleet) fn workers(&self) -> &[FleetWorker] {
        &self.workers
    }

    /// Limits the bandwidth to the share of this worker. A dead worker counts until it is removed.
    pub(super) fn share_bandwidth(&self) {
        self.shared.client.share_bandwidth(1.0 / self.workers.len().max(1) as f64);
    }

    /// Returns the time from which this worker looks at a Source that is due at a time: a little later if the Source
    /// falls to another worker.
    pub(super) fn turn(&self, name: &SourceName, due: i64) -> i64 {
        let workers = self.workers.iter().map(|worker| worker.id);
        let is_ours = falls_to(self.me, workers, name.as_str());
        if is_ours { due } else { due.saturating_add(LEFT_FOR) }
    }
}

#[cfg(test)]
mod tests {
    use instep_net::RequestGate;
    use tokio::time::Instant;

    use super::*;
    use crate::{
        FleetOptions, FleetPlace, SourceDefinition,
        record::{FleetRecord, ReadSources},
    };

    const SOURCES: usize = 300;

    /// Returns the state of one of three workers, at which each Source is due at 100.
    fn worker(me: WorkerId, record: &FleetRecord, dir: &std::path::Path) -> FleetState {
        let mut options = FleetOptions::new(dir);
        options.runs = SOURCES;
        let mut state = FleetState::new(options, RequestGate::open_until(Instant::now()), None).unwrap();
        state.become_worker(me);
        state.load(ReadSources::all(record.sources().unwrap()));
        let worker = |id| FleetWorker { id, name: "w".to_owned(), url: None, began: 1, running: 0, beat: 0 };
        state.set_workers([1, 2, 3].map(worker).into());
        state
    }

    #[tokio::test]
    async fn o502_each_source_falls_to_one_worker_first_and_to_the_others_if_that_one_is_busy() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
        let definition = |number| {
            let name = format!("s{number}");
            SourceDefinition::new(name.parse().unwrap(), format!("https://{name}.example/"))
        };
        record.add(&(0..SOURCES).map(definition).collect::<Vec<_>>(), 100).unwrap();
        let mut taken = BTreeSet::new();
        for me in [1, 2, 3] {
            let mut state = worker(me, &record, dir.path());
            let mut mine = 0;
            while let Some(next) = state.next(100) {
                assert!(taken.insert(next.name), "two workers want it");
                mine += 1;
            }
            assert!((SOURCES / 5..SOURCES / 2).contains(&mine), "{mine}");
            let mut left = 0;
            while state.next(100 + LEFT_FOR).is_some() {
                left += 1;
            }
            assert_eq!(mine + left, SOURCES, "nobody else took them");
        }
        assert_eq!(taken.len(), SOURCES);
    }
}
