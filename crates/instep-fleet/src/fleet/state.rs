//! The fleet in memory: every Source with its standing, the queue, and the looks under way. It never waits; the record
//! has everything that it decides.

mod following;
mod loading;
mod outcome;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use instep_destination::{Client, SharedCallbacks, Shutdown, Traffic};

use super::{figures::FleetFigures, look::LookTask, watching::SourceWatch};
use crate::{
    FleetError, index::SourceIndex, name::SourceName, options::FleetOptions, record::FleetRecord,
    schedule::SourceQueue, standing::FleetSource,
};

/// Seconds between two looks at a Source that announces one change after the other.
const BETWEEN_PUSHED: i64 = 2;
/// The least that a look may transfer when the disk is nearly full.
const LEAST_GRANT: u64 = 1 << 20;

pub(super) struct FleetState {
    record: FleetRecord,
    /// The version of the record that `sources` is.
    version: i64,
    sources: SourceIndex,
    queue: SourceQueue<SourceName>,
    /// The looks under way: what ends them, and the bytes that they may add.
    looks: BTreeMap<SourceName, (Shutdown, u64)>,
    /// The channels that are listened to.
    watches: BTreeMap<SourceName, SourceWatch>,
    /// The server at which hubs deliver, for all Sources; `None` if none can.
    callbacks: Option<SharedCallbacks>,
    /// Sources that announced something while they were looked at.
    pushed: BTreeSet<SourceName>,
    options: FleetOptions,
    client: Client,
    figures: FleetFigures,
}

impl FleetState {
    pub(super) fn new(record: FleetRecord, options: FleetOptions) -> Result<Self, FleetError> {
        Ok(Self {
            version: record.version()?,
            record,
            sources: SourceIndex::default(),
            queue: SourceQueue::new(options.runs, options.runs_per_host),
            looks: BTreeMap::new(),
            watches: BTreeMap::new(),
            callbacks: None,
            pushed: BTreeSet::new(),
            client: client(&options)?,
            options,
            figures: FleetFigures::default(),
        })
    }

    /// Puts a Source where it belongs in the queue, or takes it out.
    fn enqueue(&mut self, name: &SourceName) {
        let Some(source) = self.sources.get(name) else { return };
        let (definition, standing) = (&source.definition, &source.standing);
        if standing.paused || standing.waits_for_approval(definition.approve) {
            self.queue.remove(name);
            return;
        }
        let due = if standing.wanted { standing.due.min(0) } else { standing.due };
        self.queue.put(name.clone(), &definition.host(), due, definition.priority, standing.is_new());
    }

    /// Takes the Source whose turn it is, and writes down that a look at it begins.
    pub(super) fn next(&mut self, shutdown: &Shutdown, now: i64) -> Result<Option<LookTask>, FleetError> {
        let (grant, held_back) = self.grant();
        self.figures.held_back = held_back;
        if self.figures.held_back.is_some() {
            return Ok(None);
        }
        let Some(name) = self.queue.next(now) else { return Ok(None) };
        let Some(source) = self.sources.get(&name) else {
            self.queue.done(&name);
            return Ok(None);
        };
        let mut source = FleetSource::clone(source);
        source.running = Some(now);
        source.standing.began = Some(now);
        source.standing.wanted = false;
        self.record.write(&name, &source.standing)?;
        let ending = shutdown.child();
        let task = LookTask {
            dir: self.options.dir.join(source.definition.folder()),
            definition: source.definition.clone(),
            standing: source.standing.clone(),
            client: self.client.clone(),
            access: self.options.access.clone(),
            began: now,
            grant,
            shutdown: ending.clone(),
        };
        self.looks.insert(name, (ending, grant.unwrap_or(0)));
        self.sources.insert(Arc::new(source));
        Ok(Some(task))
    }

    /// Returns the bytes that the next look may transfer, and the reason if none may begin.
    fn grant(&self) -> (Option<u64>, Option<String>) {
        if self.options.min_free > 0 {
            let free = rustix::fs::statvfs(&self.options.dir)
                .map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
            if free.is_ok_and(|free| free < self.options.min_free) {
                return (None, Some("the disk has less free space than is to be kept".to_owned()));
            }
        }
        let Some(disk) = self.options.disk else { return (None, None) };
        let granted: u64 = self.looks.values().map(|(_, grant)| *grant).sum();
        let left = disk.saturating_sub(self.figures.bytes).saturating_sub(granted);
        match left {
            left if left < LEAST_GRANT && self.looks.is_empty() => {
                (None, Some("the copies have as many bytes as they may have".to_owned()))
            }
            left if left < LEAST_GRANT => {
                (None, Some("looks under way may need the rest of the disk".to_owned()))
            }
            left => (Some((left / 2).max(LEAST_GRANT)), None),
        }
    }

    /// Asks all looks to end.
    pub(super) fn end_all(&self) {
        self.looks.values().for_each(|(ending, _)| ending.request());
    }

    /// Returns the number of looks under way.
    pub(super) fn running(&self) -> usize {
        self.looks.len()
    }

    pub(super) fn record(&mut self) -> &mut FleetRecord {
        &mut self.record
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

    pub(super) fn take_traffic(&self) -> Vec<(String, Traffic)> {
        self.client.take_traffic()
    }

    pub(super) fn figures(&self) -> FleetFigures {
        let [ready, ready_new] = self.queue.ready();
        let waiting = self.client.waiting().into_iter().map(|(host, left)| (host, left.as_secs())).collect();
        FleetFigures { running: self.looks.len(), ready, ready_new, waiting, ..self.figures.clone() }
    }
}

/// Returns a client whose connections and limits all looks share.
fn client(options: &FleetOptions) -> Result<Client, FleetError> {
    // Each look has a scope of its own; the shared one is that of nobody.
    Ok(Client::new(options.access.http_options("file:")?)?)
}
