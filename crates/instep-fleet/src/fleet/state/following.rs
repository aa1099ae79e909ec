//! The channels of followed Sources, and their announcements.

use std::sync::Arc;

use instep_destination::{SharedCallbacks, SyncOptions};
use tokio::task::JoinHandle;

use super::{BETWEEN_PUSHED, BETWEEN_PUSHED_FAILURES, FleetState};
use crate::{fleet::watching::SourceWatch, name::SourceName, share::falls_to, standing::FleetSource};

/// The most watches that begin together: each sends requests.
const TOGETHER: usize = 32;

impl FleetState {
    /// Returns the options by which the channels of a Source are found; `None` if they are not wanted, or listened to
    /// already.
    pub(in crate::fleet) fn to_watch(&self, source: &FleetSource) -> Option<SyncOptions> {
        let (definition, standing) = (&source.definition, &source.standing);
        if !self.follows {
            return None;
        }
        let is_well = standing.success.is_some() && standing.failures == 0 && !standing.paused;
        let is_watched = self.watches.get(&definition.name).is_some_and(|watch| !watch.task.is_finished());
        if !definition.follow || !is_well || is_watched {
            return None;
        }
        let mut options = definition.run_options(&self.options).ok()?;
        options.access.shared = Some(self.shared.client.clone());
        Some(options)
    }

    /// Returns Sources whose channels are to be listened to and that no look will lead to soon, as after a start or at the end
    /// of a pause: the next look may be weeks ahead.
    pub(in crate::fleet) fn unwatched(&self, now: i64) -> Vec<Arc<FleetSource>> {
        if !self.follows {
            return Vec::new();
        }
        let followed = self.sources.iter().filter(|source| source.definition.follow);
        let unwatched = followed.filter(|source| self.is_unwatched(source, now));
        unwatched.take(TOGETHER).map(Arc::clone).collect()
    }

    fn is_unwatched(&self, source: &FleetSource, now: i64) -> bool {
        let (name, standing) = (&source.definition.name, &source.standing);
        let is_at_rest = source.hold.worker.is_none() && !standing.wanted && standing.due_at(now) > now;
        // A watch that has ended stays known: its Source has no channel, and the next look tries again.
        if !is_at_rest || self.watches.contains_key(name) {
            return false;
        }
        // A worker that has looked at it listens to it, and may have left since.
        let is_left = self.unheard.contains(name)
            || self.workers.iter().all(|worker| {
                worker.id == self.me || standing.ended.is_none_or(|ended| ended < worker.began)
            });
        let workers = self.workers.iter().map(|worker| worker.id);
        is_left && falls_to(self.me, workers, name.as_str()) && self.to_watch(source).is_some()
    }

    /// Notes the Sources to which only a worker that has left may have listened: the record does not say which worker listens to
    /// a Source. If another one still does, two listen until the next look.
    pub(super) fn note_unheard(&mut self) {
        let followed = self.sources.iter().filter(|source| source.definition.follow);
        let names = followed.map(|source| &source.definition.name);
        self.unheard = names.filter(|name| !self.watches.contains_key(*name)).cloned().collect();
    }

    /// Records that the channels of a Source are listened to.
    pub(in crate::fleet) fn watched(&mut self, watch: SourceWatch) {
        self.watches.insert(watch.definition.name.clone(), watch);
    }

    /// Lets channels be listened to from now on, until [`Self::end_watches`].
    pub(in crate::fleet) fn begin_watches(&mut self) {
        self.follows = true;
    }

    /// Takes over the server at which hubs deliver.
    pub(in crate::fleet) fn deliver_at(&mut self, callbacks: Option<SharedCallbacks>) {
        self.callbacks = callbacks;
    }

    pub(in crate::fleet) fn callbacks(&self) -> Option<SharedCallbacks> {
        self.callbacks.clone()
    }

    /// Requests the end of all watches, and returns them. A look that ends later begins none: nobody would end it.
    pub(in crate::fleet) fn end_watches(&mut self) -> Vec<JoinHandle<()>> {
        self.follows = false;
        let watches = std::mem::take(&mut self.watches).into_values();
        watches.inspect(|watch| watch.ending.request()).map(|watch| watch.task).collect()
    }

    /// Makes a Source due because it announced something. Returns the time; `None` if nothing should be done now.
    pub(in crate::fleet) fn push(&mut self, name: &SourceName, now: i64) -> Option<i64> {
        if self.looks.contains_key(name) {
            self.pushed.insert(name.clone());
            return None;
        }
        let mut source = FleetSource::clone(self.sources.get(name)?);
        // A Source that announces changes continuously is not visited more often than that.
        let between = if source.standing.failures == 0 { BETWEEN_PUSHED } else { BETWEEN_PUSHED_FAILURES };
        let earliest = source.standing.ended.unwrap_or(0).saturating_add(between);
        let due = earliest.clamp(now, now.saturating_add(between));
        source.standing.due = source.standing.due.min(due);
        self.sources.insert(Arc::new(source));
        self.enqueue(name);
        self.announced.insert(name.clone(), due);
        Some(due)
    }

    /// Makes a Source due that has announced something since its look ended, while the result was not recorded yet.
    pub(in crate::fleet) fn push_again(&mut self, name: &SourceName, now: i64) {
        if self.pushed.remove(name) {
            self.push(name, now);
        }
    }

    /// Returns the Sources whose announcements are not recorded yet, with the time from which each is due.
    pub(in crate::fleet) fn announced(&self) -> Vec<(SourceName, i64)> {
        self.announced.iter().map(|(name, due)| (name.clone(), *due)).collect()
    }

    /// Forgets an announcement that is recorded, unless another one has come since.
    pub(in crate::fleet) fn forget_announced(&mut self, name: &SourceName, due: i64) {
        if self.announced.get(name) == Some(&due) {
            self.announced.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use instep_net::RequestGate;
    use tokio::time::Instant;

    use super::*;
    use crate::{
        FleetOptions, FleetPlace, SourceDefinition,
        record::{FleetRecord, FleetWorker},
        share::WorkerId,
    };

    /// Returns the state of worker 1, with a followed Source whose last look ended at 500 and which is due at 10,000.
    fn following(dir: &Path) -> FleetState {
        let mut record = FleetRecord::open(&FleetPlace::in_folder(dir)).unwrap();
        let mut definition = SourceDefinition::new("a".parse().unwrap(), "https://a.example/");
        definition.follow = true;
        record.add(&[definition], 100).unwrap();
        let mut source = record.sources().unwrap().remove(0);
        (source.standing.success, source.standing.ended) = (Some(500), Some(500));
        source.standing.due = 10_000;
        let gate = RequestGate::open_until(Instant::now());
        let mut state = FleetState::new(FleetOptions::new(dir), gate, None).unwrap();
        state.become_worker(1);
        state.sources.insert(Arc::new(source));
        state
    }

    fn worker(id: WorkerId, began: i64) -> FleetWorker {
        FleetWorker { id, name: "w".to_owned(), url: None, began, running: 0, beat: 0 }
    }

    #[tokio::test]
    async fn o942_a_source_is_listened_to_again_when_the_worker_that_listened_to_it_has_left() {
        let dir = tempfile::tempdir().unwrap();
        let mut state = following(dir.path());
        state.begin_watches();
        state.set_workers([1, 2, 3].map(|id| worker(id, 400)).into());
        assert!(state.unwatched(2_000).is_empty(), "one that has looked at it listens to it");
        state.set_workers([1, 2].map(|id| worker(id, 400)).into());
        let is_first = !state.unwatched(2_000).is_empty();
        state.become_worker(2);
        assert_ne!(is_first, !state.unwatched(2_000).is_empty(), "it falls to one of the two that are left");
        // After a look the worker that made it listens.
        for holder in [Some(1), None] {
            let mut source = FleetSource::clone(state.sources.get(&"a".parse().unwrap()).unwrap());
            source.hold.worker = holder;
            source.hold.changed += 1;
            state.take(source);
        }
        for me in [1, 2] {
            state.become_worker(me);
            assert!(state.unwatched(2_000).is_empty());
        }
    }

    #[tokio::test]
    async fn o904_a_source_that_is_not_due_is_listened_to_by_one_worker() {
        let dir = tempfile::tempdir().unwrap();
        let mut state = following(dir.path());
        state.set_workers(vec![worker(1, 1_000)]);
        assert!(state.unwatched(2_000).is_empty(), "the fleet does not run");
        state.begin_watches();
        assert_eq!(state.unwatched(2_000).len(), 1);
        assert!(state.unwatched(10_000).is_empty(), "it is due, and its look leads to the channels");
        // The other worker may have looked at it, and listens to it then.
        state.set_workers(vec![worker(1, 1_000), worker(2, 400)]);
        assert!(state.unwatched(2_000).is_empty());
        // It falls to one of two workers that have begun since.
        state.set_workers(vec![worker(1, 1_000), worker(2, 1_000)]);
        let is_first = !state.unwatched(2_000).is_empty();
        state.become_worker(2);
        assert_ne!(is_first, !state.unwatched(2_000).is_empty());
    }
}
