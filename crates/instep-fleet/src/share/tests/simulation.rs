//! Simulated workers, and everything that goes wrong around them.

use std::time::Duration;

use instep_testkit::Dice;

use super::{
    rows::{Rows, SourceRow},
    seats::{HOSTS, SimulatedHost},
    *,
};

/// An attempt to reach the record.
pub(super) enum Answer<T> {
    Given(T),
    /// It was done, or it was not: nobody knows.
    Lost,
}

/// A look that a worker believes to have under way.
pub(super) struct SimulatedLook {
    pub(super) source: usize,
    pub(super) epoch: u64,
    /// Requests that are left; none for one whose end has yet to be recorded.
    pub(super) steps: u64,
}

pub(super) struct Worker {
    pub(super) lease_state: Option<LeaseState>,
    /// Its clock: an offset, and its rate in percent of the true one.
    pub(super) clock: (u64, u64),
    pub(super) looks: Vec<SimulatedLook>,
    pub(super) lanes: WorkerLanes<usize>,
    pub(super) hosts: [SimulatedHost; HOSTS],
    /// Stopped until this moment.
    pub(super) stopped: u64,
    pub(super) is_dead: bool,
    /// The killed worker whose folder it has.
    pub(super) former: Option<WorkerId>,
}

impl Worker {
    pub(super) fn now(&self, at: u64) -> Duration {
        Duration::from_millis(self.clock.0 + at * self.clock.1 / 100)
    }
}

pub(super) const STEP: u64 = 250;

pub(super) const SOURCES: usize = 6;

/// Faults end here, and everything is to be in order some time later.
pub(super) const FAULTS_UNTIL: u64 = 240_000;

pub(super) const END: u64 = FAULTS_UNTIL + 120_000;

pub(super) struct Simulation {
    pub(super) dice: Dice,
    pub(super) rows: Rows,
    pub(super) workers: Vec<Worker>,
    /// The record answers nobody until this moment.
    pub(super) down_until: u64,
    pub(super) next_id: WorkerId,
    pub(super) at: u64,
}

impl Simulation {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Dice::of(seed);
        let rows = Rows { sources: vec![SourceRow::default(); SOURCES], ..Rows::default() };
        let workers = 2 + dice.below(4);
        let mut simulation = Self { dice, rows, workers: Vec::new(), down_until: 0, next_id: 1, at: 0 };
        (0..workers).for_each(|_| simulation.add_worker());
        simulation
    }

    pub(super) fn add_worker(&mut self) {
        let clock = (self.dice.below(1_000_000), 92 + self.dice.below(17));
        let stopped = self.at + self.dice.below(3_000);
        self.workers.push(Worker {
            lease_state: None,
            clock,
            looks: Vec::new(),
            lanes: WorkerLanes::new(0),
            hosts: Default::default(),
            stopped,
            is_dead: false,
            former: None,
        });
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.at < FAULTS_UNTIL
    }

    /// Carries a statement out, unless the record is down or the message is lost on one of its ways.
    pub(super) fn ask<T>(&mut self, statement: impl FnOnce(&mut Rows) -> T) -> Answer<T> {
        if self.at < self.down_until || (self.is_faulty() && self.dice.one_in(40)) {
            return Answer::Lost;
        }
        let value = statement(&mut self.rows);
        if self.is_faulty() && self.dice.one_in(40) { Answer::Lost } else { Answer::Given(value) }
    }

    pub(super) fn run(mut self) -> Self {
        while self.at < END {
            self.break_something();
            self.end_transfers();
            for place in 0..self.workers.len() {
                if !self.workers[place].is_dead && self.workers[place].stopped <= self.at {
                    self.act(place);
                }
            }
            self.at += STEP;
        }
        self
    }

    pub(super) fn break_something(&mut self) {
        if !self.is_faulty() {
            self.workers.iter_mut().for_each(|worker| worker.stopped = worker.stopped.min(self.at));
            self.down_until = self.down_until.min(self.at);
            return;
        }
        let place = self.dice.below(self.workers.len() as u64) as usize;
        match self.dice.below(400) {
            0 => self.down_until = self.at + self.dice.below(45_000),
            1..=4 => self.workers[place].stopped = self.at + self.dice.below(60_000),
            5 => {
                let killed = &mut self.workers[place];
                killed.is_dead = true;
                killed.hosts = Default::default();
                let former = killed.lease_state.as_ref().map(LeaseState::me);
                self.add_worker();
                // It is started again with its folder, or another one takes its place.
                let is_started_again = self.dice.one_in(2);
                let next = self.workers.last_mut().unwrap();
                next.former = former.filter(|_| is_started_again);
            }
            _ => {}
        }
    }

    pub(super) fn act(&mut self, place: usize) {
        let now = self.workers[place].now(self.at);
        let Some(mut lease_state) = self.workers[place].lease_state.take() else {
            return self.register(place, now);
        };
        if lease_state.is_to_beat(now) {
            let me = lease_state.me();
            match self.ask(|rows| rows.beat(me)) {
                Answer::Given(true) => lease_state.beat(now, true),
                Answer::Lost => lease_state.beat(now, false),
                Answer::Given(false) => {
                    // Removed by another one: everything it has under way is void.
                    self.workers[place].looks.clear();
                    return;
                }
            }
        }
        if lease_state.is_to_look(now) {
            let seen = self.ask(|rows| rows.beats.iter().map(|(id, beat)| (*id, *beat)).collect::<Vec<_>>());
            if let Answer::Given(beats) = seen {
                for (dead, beat) in lease_state.seen(now, &beats) {
                    let _ = self.ask(|rows| rows.reap(dead, beat));
                }
                self.give_back(place, lease_state.me());
            }
        }
        if now < lease_state.acts_until() {
            self.work(place, lease_state.me());
            self.transfer(place);
            self.seat(place, lease_state.me(), now);
        }
        self.workers[place].lease_state = Some(lease_state);
    }

    pub(super) fn register(&mut self, place: usize, now: Duration) {
        let (id, former) = (self.next_id, self.workers[place].former);
        self.next_id += 1;
        if let Answer::Given(()) = self.ask(|rows| {
            former.iter().for_each(|former| rows.remove(*former));
            rows.beats.insert(id, 0);
        }) {
            self.workers[place].lease_state = Some(LeaseState::new(id, now));
            self.workers[place].lanes = WorkerLanes::new(id);
            self.workers[place].hosts.iter_mut().for_each(|host| host.granted = 0);
        }
    }

    /// Gives back what the record says that the worker has, and it knows nothing of.
    pub(super) fn give_back(&mut self, place: usize, me: WorkerId) {
        for source in 0..SOURCES {
            let is_known = self.workers[place].looks.iter().any(|look| look.source == source);
            if !is_known {
                let _ = self.ask(|rows| {
                    let row = &mut rows.sources[source];
                    if row.worker == Some(me) {
                        row.worker = None;
                    }
                });
            }
        }
    }

    pub(super) fn work(&mut self, place: usize, me: WorkerId) {
        if self.workers[place].looks.len() < 2 && self.dice.one_in(3) {
            let source = self.dice.below(SOURCES as u64) as usize;
            let epoch = self.rows.sources[source].epoch;
            let is_free = self.workers[place].looks.iter().all(|look| look.source != source);
            if is_free && matches!(self.ask(|rows| rows.claim(me, source, epoch)), Answer::Given(true)) {
                let steps = 1 + self.dice.below(120);
                self.workers[place].looks.push(SimulatedLook { source, epoch: epoch + 1, steps });
            }
        }
        let mut looks = std::mem::take(&mut self.workers[place].looks);
        looks.retain_mut(|look| {
            if look.steps > 0 {
                // A request goes out: nobody else may have the Source.
                let now = self.rows.sources[look.source].epoch;
                let (at, own) = (self.at, look.epoch);
                assert_eq!(
                    now, own,
                    "at {at} worker {me} sends a request of look {own}, and look {now} is under way"
                );
                look.steps -= 1;
                return true;
            }
            let (source, epoch) = (look.source, look.epoch);
            match self.ask(|rows| rows.finish(me, source, epoch)) {
                Answer::Given(_) => false,
                // Tried again: what was done already is not done twice.
                Answer::Lost => true,
            }
        });
        self.workers[place].looks = looks;
    }
}
