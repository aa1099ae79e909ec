//! The run in progress, followed by its events, and the monitor that receives them.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use instep_destination::{Event, InFlight, Monitor, Phase, PlanTotals, Traffic};
use tokio::sync::watch;

use super::figures::{FiguresFile, LiveFigures, LiveHost, LiveRequest};

/// The most hosts with figures of their own. All further hosts share one entry, so that memory is bounded.
const MOST_HOSTS: usize = 50;
/// The most requests in progress that pages show.
const MOST_REQUESTS: usize = 16;
/// The time over which a throughput is measured.
const WINDOW: Duration = Duration::from_secs(10);

/// The run in progress, according to its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveRun {
    phase: Option<Phase>,
    planned: PlanTotals,
    committed: u64,
    problems: u64,
    bytes: u64,
    requests: Vec<InFlight>,
    waiting: Vec<(String, Duration)>,
    hosts: BTreeMap<String, HostThroughput>,
    note: String,
    has_ended: bool,
}

/// The traffic with a host since the start, and its throughput.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostThroughput {
    traffic: Traffic,
    /// The bytes that arrived within [`WINDOW`], with the time.
    recent: Vec<(Option<Instant>, u64)>,
}

impl HostThroughput {
    /// Adds the traffic since the last call.
    pub(crate) fn add(&mut self, traffic: &Traffic, now: Instant) {
        self.traffic.add(traffic);
        self.recent.push((Some(now), traffic.bytes));
        self.forget(now);
    }

    fn forget(&mut self, now: Instant) {
        self.recent.retain(|(at, _)| at.is_some_and(|at| now.duration_since(at) < WINDOW));
    }

    /// Returns the bytes per second in the last ten seconds.
    pub(crate) fn rate(&self, now: Instant) -> u64 {
        let is_recent = |at: &Option<Instant>| at.is_some_and(|at| now.duration_since(at) < WINDOW);
        self.recent.iter().filter(|(at, _)| is_recent(at)).map(|(_, bytes)| bytes).sum::<u64>()
            / WINDOW.as_secs()
    }

    /// Returns the bytes that arrived.
    pub(crate) fn bytes(&self) -> u64 {
        self.traffic.bytes
    }

    /// Returns the number of answers, and of those that were errors or missing.
    fn answers(&self) -> (u64, u64) {
        let all = self.traffic.answers.values().sum();
        let errors = self.traffic.answers.iter().filter(|(status, _)| **status == 0 || **status >= 400);
        (all, errors.map(|(_, number)| number).sum())
    }

    /// Returns the figures of this moment.
    pub(crate) fn figures(&self, name: &str, now: Instant) -> LiveHost {
        let (answers, errors) = self.answers();
        LiveHost {
            name: name.to_owned(),
            rate: self.rate(now),
            bytes: self.traffic.bytes,
            answers,
            errors,
            retries: self.traffic.retries,
            transfers: self.traffic.transfers as u64,
            most_transfers: self.traffic.most_transfers as u64,
        }
    }
}

impl LiveRun {
    fn take(&mut self, event: &Event<'_>, now: Instant) {
        match event {
            Event::Phase(phase) => {
                // While following, the next round begins with a new phase after the last one has ended.
                if *phase != Phase::Waiting && std::mem::take(&mut self.has_ended) {
                    let hosts = std::mem::take(&mut self.hosts);
                    *self = Self { hosts, ..Self::default() };
                }
                self.phase = Some(*phase);
            }
            Event::Note(note) => (*note).clone_into(&mut self.note),
            // Added up: there is one event for each set, and one for each part of the changes that is read later.
            Event::Planned(totals) => {
                self.planned.fetches += totals.fetches;
                self.planned.deletions += totals.deletions;
                self.planned.bytes += totals.bytes;
            }
            Event::Committed(_) => self.committed += 1,
            Event::Progress { bytes } => self.bytes += bytes,
            Event::Problem(_) => self.problems += 1,
            Event::UnderWay { requests, waiting } => {
                self.requests = requests.to_vec();
                self.waiting = waiting.to_vec();
            }
            Event::Traffic { host, traffic } => {
                let is_known = self.hosts.contains_key(*host) || self.hosts.len() < MOST_HOSTS;
                self.hosts
                    .entry(if is_known { host } else { "other hosts" }.to_string())
                    .or_default()
                    .add(traffic, now);
            }
            Event::Ended { .. } => {
                self.has_ended = true;
                self.requests.clear();
                self.waiting.clear();
            }
            _ => {}
        }
    }

    /// Returns the figures of this moment.
    pub(crate) fn figures(&self) -> LiveFigures {
        let now = Instant::now();
        let request = |flight: &InFlight| LiveRequest {
            uri: flight.uri.to_string(),
            received: flight.received,
            length: flight.length,
        };
        LiveFigures {
            process: 0,
            phase: self.phase.map_or("", Phase::as_str).to_owned(),
            actions: self.planned.fetches + self.planned.deletions,
            planned_bytes: self.planned.bytes,
            committed: self.committed,
            problems: self.problems,
            bytes: self.bytes,
            requests: self.requests.iter().take(MOST_REQUESTS).map(request).collect(),
            waiting: self.waiting.clone(),
            hosts: self.hosts.iter().map(|(name, host)| host.figures(name, now)).collect(),
            note: self.note.clone(),
        }
    }
}

/// A monitor that keeps the run under way for pages, and passes each event on.
pub(crate) struct CopyMonitor<'a> {
    run: Arc<Mutex<LiveRun>>,
    changed: watch::Sender<u64>,
    file: Option<FiguresFile>,
    beside: &'a dyn Monitor,
}

impl<'a> CopyMonitor<'a> {
    /// Creates a monitor beside another one.
    pub(crate) fn new(beside: &'a dyn Monitor) -> Self {
        Self { run: Arc::default(), changed: watch::Sender::new(0), file: None, beside }
    }

    /// Writes the figures also to a file in the copy in a folder, for pages of other processes.
    pub(crate) fn shared_in(mut self, dir: &Path) -> Self {
        self.file = Some(FiguresFile::of(dir));
        self
    }

    /// Returns the run in progress, which continues to change.
    pub(crate) fn run(&self) -> Arc<Mutex<LiveRun>> {
        Arc::clone(&self.run)
    }

    /// Returns a number that grows with each event, for those who wait for the next one.
    pub(crate) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, LiveRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor for CopyMonitor<'_> {
    fn event(&self, event: Event<'_>) {
        let mut run = self.lock();
        run.take(&event, Instant::now());
        if let Some(file) = &self.file {
            // A new phase is urgent: if no events follow, the file would show the former phase for the whole time.
            file.write(matches!(event, Event::Phase(_)), || run.figures());
        }
        drop(run);
        // Without subscribers the wake-ups are saved. A later subscriber reads the run before it waits.
        if self.changed.receiver_count() > 0 {
            self.changed.send_modify(|number| *number += 1);
        }
        self.beside.event(event);
    }
}

#[cfg(test)]
mod tests {
    use instep_destination::{Item, Letter, VoidMonitor};

    use super::*;

    #[test]
    fn a_round_counts_for_itself_and_hosts_for_all_rounds() {
        let monitor = CopyMonitor::new(&VoidMonitor);
        let mut traffic = Traffic::default();
        (traffic.bytes, traffic.answers) = (1_000, BTreeMap::from([(200, 3), (503, 1), (0, 1)]));
        monitor.event(Event::Phase(Phase::Fetching));
        monitor.event(Event::Committed(Item::new(Letter::New, "http://a/b", None)));
        monitor.event(Event::Traffic { host: "http://a", traffic: &traffic });
        monitor.event(Event::Ended { exit_code: 0 });
        monitor.event(Event::Phase(Phase::Waiting));
        assert_eq!(monitor.lock().committed, 1);
        monitor.event(Event::Phase(Phase::Reading));
        let run = monitor.lock();
        assert_eq!((run.committed, run.hosts["http://a"].answers()), (0, (5, 2)));
        assert_eq!(run.hosts["http://a"].rate(Instant::now()), 100);
    }
}
