//! The counts of a run, which its events add up to.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use instep_destination::{Event, InFlight, Letter, Phase, PlanTotals};
use serde_json::{Value, json};

use crate::{
    exit::Exit,
    ui::format::{bytes, count, counted, elapsed},
};

/// The counts of a run. Those of `planned`, `done` and `bytes` begin anew with each round, problems and errors do not.
#[derive(Debug)]
pub(super) struct ProgressTally {
    pub(super) started: Instant,
    pub(super) phase: Option<Phase>,
    /// The work of all plans of this round.
    pub(super) planned: PlanTotals,
    /// Resources fetched and committed, or failed.
    pub(super) done: u64,
    /// Bytes of resources that arrived.
    pub(super) bytes: u64,
    /// Problems, including warnings.
    pub(super) problems: u64,
    /// Problems, without warnings.
    pub(super) errors: u64,
    /// The transfers in progress, each with its URI, the bytes so far, and the length if it is known.
    pub(super) transfers: Vec<(String, u64, Option<u64>)>,
    /// The hosts that are paused, each with the time that is left.
    pub(super) waiting: BTreeMap<String, Duration>,
    round: Round,
}

/// The counts of one round of a run that follows.
#[derive(Clone, Debug)]
pub(super) struct Round {
    started: Instant,
    elapsed: Duration,
    created: u64,
    updated: u64,
    deleted: u64,
    failed: u64,
    bytes: u64,
    requests: u64,
}

impl ProgressTally {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            started: now,
            phase: None,
            planned: PlanTotals::new(),
            done: 0,
            bytes: 0,
            problems: 0,
            errors: 0,
            transfers: Vec::new(),
            waiting: BTreeMap::new(),
            round: Round::new(now),
        }
    }

    /// Counts an event.
    pub(super) fn add(&mut self, event: &Event<'_>) {
        match event {
            Event::Phase(phase) => {
                self.phase = Some(*phase);
                if *phase == Phase::Waiting {
                    // The last report of a round may name requests that ended after it.
                    self.transfers.clear();
                    self.waiting.clear();
                }
            }
            Event::Planned(totals) => {
                self.planned.fetches += totals.fetches;
                self.planned.deletions += totals.deletions;
                self.planned.bytes += totals.bytes;
            }
            Event::Committed(item) => {
                match item.letter {
                    Letter::New => self.round.created += 1,
                    Letter::Gone => self.round.deleted += 1,
                    Letter::Changed => self.round.updated += 1,
                    _ => {}
                }
                if item.letter != Letter::Gone {
                    self.done += 1;
                }
            }
            Event::Progress { bytes } => {
                self.bytes += bytes;
                self.round.bytes += bytes;
            }
            Event::Traffic { traffic, .. } => {
                self.round.requests += traffic.answers.values().sum::<u64>();
            }
            Event::UnderWay { requests, waiting } => {
                let shown = |it: &InFlight| (it.uri.to_string(), it.received, it.length);
                self.transfers = requests.iter().map(shown).collect();
                self.waiting = waiting.iter().cloned().collect();
            }
            Event::Problem(_) => {
                self.problems += 1;
                self.errors += 1;
                self.round.failed += 1;
            }
            Event::Warning(_) => self.problems += 1,
            _ => {}
        }
    }

    /// Starts the round now if the run has waited until now: the wait is not a part of it.
    pub(super) fn end_wait(&mut self, now: Instant) {
        if self.phase == Some(Phase::Waiting) {
            (self.started, self.round.started) = (now, now);
        }
    }

    /// Returns the counts of the round that ends now, and starts the next.
    pub(super) fn end_round(&mut self, now: Instant) -> Round {
        let mut ended = std::mem::replace(&mut self.round, Round::new(now));
        ended.elapsed = now.duration_since(ended.started);
        self.planned = PlanTotals::new();
        (self.done, self.bytes, self.started) = (0, 0, now);
        ended
    }
}

impl Round {
    fn new(now: Instant) -> Self {
        let elapsed = Duration::ZERO;
        Self { started: now, elapsed, created: 0, updated: 0, deleted: 0, failed: 0, bytes: 0, requests: 0 }
    }

    /// Returns the round in a line for people.
    pub(super) fn line(&self, exit_code: u8) -> String {
        let time = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
        let mut line = match self.created + self.updated + self.deleted + self.failed {
            // "Nothing new" would be wrong if the Source could not be read.
            0 if !matches!(Exit::from_code(exit_code), Exit::Done | Exit::Problems) => {
                format!("{time}  nothing done: {}", Exit::from_code(exit_code).in_short())
            }
            0 => format!("{time}  nothing new"),
            _ => {
                format!("{time}  +{} ~{} -{}", count(self.created), count(self.updated), count(self.deleted))
            }
        };
        if self.failed > 0 {
            line.push_str(&format!(", {}", counted(self.failed, "problem")));
        }
        let requests = counted(self.requests, "request");
        format!("{line}; {} in {requests}, {}", bytes(self.bytes), elapsed(self.elapsed))
    }

    /// Returns the round as an object for programs.
    pub(super) fn fields(&self, exit_code: u8) -> Value {
        json!({
            "created": self.created,
            "updated": self.updated,
            "deleted": self.deleted,
            "failed": self.failed,
            "bytes": self.bytes,
            "requests": self.requests,
            "seconds": self.elapsed.as_secs_f64(),
            "exit_code": exit_code,
        })
    }
}
