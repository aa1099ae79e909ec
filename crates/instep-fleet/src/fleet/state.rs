//! The fleet in memory: every Source with its standing, the queue, and the looks in progress. It never waits; its
//! callers write its decisions into the record.

mod claiming;
mod client;
mod disk;
mod following;
#[cfg(feature = "postgres")]
mod helping;
mod loading;
mod outcome;
mod sharing;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use instep_destination::{SharedCallbacks, Shutdown, Traffic};
use instep_net::{RequestGate, SharedSeats};

use super::{figures::FleetFigures, watching::SourceWatch};
use crate::{
    FleetError,
    index::SourceIndex,
    name::SourceName,
    options::FleetOptions,
    record::{FleetWorker, LookEnding},
    schedule::SourceQueue,
    share::WorkerId,
    standing::{CLOCKS_APART, SourceHold},
};
pub(super) use claiming::AfterClaim;
use client::FleetClient;

/// Seconds between two looks at a Source that announces many changes in a row.
const BETWEEN_PUSHED: i64 = 2;

/// Seconds between two looks at a failing Source that announces changes: it may be there again before its pause is over.
const BETWEEN_PUSHED_FAILURES: i64 = 60;

/// A Source whose turn it is.
pub(super) struct NextSource {
    pub(super) name: SourceName,
    pub(super) epoch: i64,
    pub(super) host: String,
    changed: i64,
    grant: Option<u64>,
}

/// A look that has begun and not ended.
struct LookInProgress {
    /// Ends it early.
    ending: Shutdown,
    /// The bytes that it may add.
    grant: u64,
    /// The folder of the copy.
    dir: PathBuf,
    /// The right to it.
    hold: SourceHold,
}

pub(super) struct FleetState {
    /// This worker.
    me: WorkerId,
    /// All workers, as the record has them.
    workers: Vec<FleetWorker>,
    sources: SourceIndex,
    queue: SourceQueue<SourceName>,
    looks: BTreeMap<SourceName, LookInProgress>,
    /// The results of looks that are not recorded yet, because the record could not be written.
    unwritten: Vec<LookEnding>,
    /// Sources whose look has ended without a record of it, and which this worker still holds.
    unrecorded: Vec<(SourceName, SourceHold)>,
    /// The channels that are listened to.
    watches: BTreeMap<SourceName, SourceWatch>,
    /// Followed Sources to which a worker that has left may have been the only one to listen.
    unheard: BTreeSet<SourceName>,
    /// `true` while channels may be listened to: the fleet runs.
    follows: bool,
    /// The server at which hubs deliver, for all Sources; `None` if none can.
    callbacks: Option<SharedCallbacks>,
    /// Sources that announced something during a look.
    pushed: BTreeSet<SourceName>,
    /// Sources whose announcements are not recorded yet, and the time from which each is due.
    announced: BTreeMap<SourceName, i64>,
    options: FleetOptions,
    shared: FleetClient,
    gate: RequestGate,
    seats: Option<SharedSeats>,
    figures: FleetFigures,
    /// The reason why no look begins, as it was reported last.
    reported: Option<String>,
    /// The time of the last search for a Source that is due; before the first one, later than any.
    searched: i64,
}

impl FleetState {
    pub(super) fn new(
        options: FleetOptions,
        gate: RequestGate,
        seats: Option<SharedSeats>,
    ) -> Result<Self, FleetError> {
        Ok(Self {
            me: 0,
            workers: Vec::new(),
            sources: SourceIndex::default(),
            queue: SourceQueue::new(options.runs, options.runs_per_host),
            looks: BTreeMap::new(),
            unwritten: Vec::new(),
            unrecorded: Vec::new(),
            watches: BTreeMap::new(),
            unheard: BTreeSet::new(),
            follows: false,
            callbacks: None,
            pushed: BTreeSet::new(),
            announced: BTreeMap::new(),
            shared: FleetClient::new(&options, &gate, seats.as_ref())?,
            gate,
            seats,
            options,
            figures: FleetFigures::default(),
            reported: None,
            searched: i64::MAX,
        })
    }

    /// Returns a client for new options: the present one if these would make the same. With another one a host gets more
    /// requests than it may while looks with the former one are under way, and the pauses that hosts requested are forgotten.
    pub(super) fn client_for(&self, options: &FleetOptions) -> Result<FleetClient, FleetError> {
        if self.shared.is_still_right(&self.options.access, &options.access) {
            return Ok(self.shared.clone());
        }
        FleetClient::new(options, &self.gate, self.seats.as_ref())
    }

    /// Applies new options with their client; looks in progress finish with their former ones.
    pub(super) fn reload(&mut self, options: FleetOptions, client: FleetClient) {
        self.shared = client;
        self.share_bandwidth();
        self.queue.limit(options.runs, options.runs_per_host);
        self.options = options;
    }

    /// Puts a Source into its place in the queue, or removes it.
    fn enqueue(&mut self, name: &SourceName) {
        let Some(source) = self.sources.get(name) else { return };
        let (definition, standing) = (&source.definition, &source.standing);
        let is_elsewhere = source.hold.worker.is_some();
        if is_elsewhere || standing.paused || standing.waits_for_approval(definition.approve) {
            self.queue.remove(name);
            return;
        }
        let due = standing.due_at(self.searched);
        let due = if standing.wanted { due.min(0) } else { due };
        let due = self.turn(name, due);
        self.queue.put(name.clone(), &definition.host(), due, definition.priority, standing.is_new());
    }

    /// Puts all Sources into their places, because the clock or the workers have changed.
    fn enqueue_all(&mut self) {
        let names: Vec<_> = self.sources.iter().map(|source| source.definition.name.clone()).collect();
        names.iter().for_each(|name| self.enqueue(name));
    }

    /// Returns the next Source. It counts as running until [`Self::put_back`] or the end of its look.
    pub(super) fn next(&mut self, now: i64) -> Option<NextSource> {
        let was_set_back = self.searched.saturating_sub(CLOCKS_APART) > now;
        self.searched = now;
        if was_set_back {
            self.enqueue_all();
        }
        let (grant, held_back) = self.grant();
        self.figures.held_back = held_back;
        if self.figures.held_back.is_some() {
            return None;
        }
        loop {
            let name = self.queue.next(now)?;
            let Some(source) = self.sources.get(&name) else {
                self.queue.done(&name);
                continue;
            };
            let (definition, is_new) = (&source.definition, source.standing.is_new());
            let dir = definition.copy(&self.options.place()).dir;
            if self.looks.values().any(|look| look.dir == dir) {
                // The Source that had this folder until now has a look that is still ending.
                self.queue.done(&name);
                self.queue.put(name, &definition.host(), now + 1, definition.priority, is_new);
                continue;
            }
            let (hold, host) = (source.hold, definition.host());
            return Some(NextSource { name, epoch: hold.epoch, host, changed: hold.changed, grant });
        }
    }

    /// Requests the end of all looks.
    pub(super) fn end_all(&self) {
        self.looks.values().for_each(|look| look.ending.request());
    }

    /// Returns the number of looks in progress.
    pub(super) fn running(&self) -> usize {
        self.looks.len()
    }

    /// Becomes a worker.
    pub(super) fn become_worker(&mut self, me: WorkerId) {
        self.me = me;
    }

    pub(super) fn me(&self) -> WorkerId {
        self.me
    }

    pub(super) fn options(&self) -> &FleetOptions {
        &self.options
    }

    pub(super) fn sources(&self) -> &SourceIndex {
        &self.sources
    }

    pub(super) fn sources_mut(&mut self) -> &mut SourceIndex {
        &mut self.sources
    }

    /// Lets the queue use hosts again that it was holding back. Returns the requests to each host since the last
    /// call.
    pub(super) fn tick(&mut self) -> Vec<(String, Traffic)> {
        self.queue.let_go();
        self.shared.client.take_traffic()
    }

    pub(super) fn figures(&self) -> FleetFigures {
        let [ready, ready_new] = self.queue.ready();
        let waiting =
            self.shared.client.waiting().into_iter().map(|(host, left)| (host, left.as_secs())).collect();
        FleetFigures { running: self.looks.len(), ready, ready_new, waiting, ..self.figures.clone() }
    }
}
