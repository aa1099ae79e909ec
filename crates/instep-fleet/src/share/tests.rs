//! The leases simulated: workers that are stopped, killed and born, answers that are lost, clocks that run apart, and a
//! record that fails over. Whatever happens, a Source is worked on by one worker at a time, nothing takes effect twice, a host
//! has no more transfers than its limit, each worker gets its turn, and nothing stays with a worker that is gone.

mod seats;

use std::time::Duration;

use super::*;
use seats::{HOSTS, SimulatedHost};

/// A source of numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }
}

/// The rows of the record, by the rules of its statements.
#[derive(Default)]
struct Rows {
    beats: BTreeMap<WorkerId, i64>,
    sources: Vec<SourceRow>,
    lanes: [Vec<LaneSeat>; HOSTS],
}

#[derive(Clone, Default)]
struct SourceRow {
    worker: Option<WorkerId>,
    epoch: u64,
    /// Looks that ended, by epoch.
    effects: Vec<u64>,
}

impl Rows {
    fn beat(&mut self, worker: WorkerId) -> bool {
        self.beats.get_mut(&worker).map(|beat| *beat += 1).is_some()
    }

    fn reap(&mut self, worker: WorkerId, beat: i64) {
        if self.beats.get(&worker) == Some(&beat) {
            self.beats.remove(&worker);
            let held = self.sources.iter_mut().filter(|source| source.worker == Some(worker));
            held.for_each(|source| source.worker = None);
            self.lanes.iter_mut().for_each(|lane| lane.retain(|seat| seat.worker != worker));
        }
    }

    fn claim(&mut self, worker: WorkerId, source: usize, epoch: u64) -> bool {
        let row = &mut self.sources[source];
        if !self.beats.contains_key(&worker) || row.worker.is_some() || row.epoch != epoch {
            return false;
        }
        (row.worker, row.epoch) = (Some(worker), epoch + 1);
        true
    }

    fn finish(&mut self, worker: WorkerId, source: usize, epoch: u64) -> bool {
        let row = &mut self.sources[source];
        if row.worker != Some(worker) || row.epoch != epoch {
            return false;
        }
        row.worker = None;
        row.effects.push(epoch);
        true
    }
}

/// An attempt to reach the record.
enum Answer<T> {
    Given(T),
    /// It was done, or it was not: nobody knows.
    Lost,
}

/// A look that a worker believes to have under way.
struct SimulatedLook {
    source: usize,
    epoch: u64,
    /// Requests that are left; none for one whose end has yet to be recorded.
    steps: u64,
}

struct Worker {
    keeper: Option<Keeper>,
    /// Its clock: an offset, and its rate in percent of the true one.
    clock: (u64, u64),
    looks: Vec<SimulatedLook>,
    lanes: LaneKeeper<usize>,
    hosts: [SimulatedHost; HOSTS],
    /// Stopped until this moment.
    stopped: u64,
    is_dead: bool,
}

impl Worker {
    fn now(&self, at: u64) -> Duration {
        Duration::from_millis(self.clock.0 + at * self.clock.1 / 100)
    }
}

const STEP: u64 = 250;
const SOURCES: usize = 6;
/// Faults end here, and everything is to be in order some time later.
const FAULTS_UNTIL: u64 = 240_000;
const END: u64 = FAULTS_UNTIL + 120_000;

struct Simulation {
    dice: Dice,
    rows: Rows,
    workers: Vec<Worker>,
    /// The record answers nobody until this moment.
    down_until: u64,
    next_id: WorkerId,
    at: u64,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let rows = Rows { sources: vec![SourceRow::default(); SOURCES], ..Rows::default() };
        let workers = 2 + dice.below(4);
        let mut simulation = Self { dice, rows, workers: Vec::new(), down_until: 0, next_id: 1, at: 0 };
        (0..workers).for_each(|_| simulation.add_worker());
        simulation
    }

    fn add_worker(&mut self) {
        let clock = (self.dice.below(1_000_000), 92 + self.dice.below(17));
        let stopped = self.at + self.dice.below(3_000);
        self.workers.push(Worker {
            keeper: None,
            clock,
            looks: Vec::new(),
            lanes: LaneKeeper::new(0),
            hosts: Default::default(),
            stopped,
            is_dead: false,
        });
    }

    fn is_faulty(&self) -> bool {
        self.at < FAULTS_UNTIL
    }

    /// Carries a statement out, unless the record is down or the message is lost on one of its ways.
    fn ask<T>(&mut self, statement: impl FnOnce(&mut Rows) -> T) -> Answer<T> {
        if self.at < self.down_until || (self.is_faulty() && self.dice.one_in(40)) {
            return Answer::Lost;
        }
        let value = statement(&mut self.rows);
        if self.is_faulty() && self.dice.one_in(40) { Answer::Lost } else { Answer::Given(value) }
    }

    fn run(mut self) -> Self {
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

    fn break_something(&mut self) {
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
                self.workers[place].is_dead = true;
                self.workers[place].hosts = Default::default();
                self.add_worker();
            }
            _ => {}
        }
    }

    fn act(&mut self, place: usize) {
        let now = self.workers[place].now(self.at);
        let Some(mut keeper) = self.workers[place].keeper.take() else { return self.register(place, now) };
        if keeper.is_to_beat(now) {
            let me = keeper.me();
            match self.ask(|rows| rows.beat(me)) {
                Answer::Given(true) => keeper.beat(now, true),
                Answer::Lost => keeper.beat(now, false),
                Answer::Given(false) => {
                    // Removed by another one: everything it has under way is void.
                    self.workers[place].looks.clear();
                    return;
                }
            }
        }
        if keeper.is_to_look(now) {
            let seen = self.ask(|rows| rows.beats.iter().map(|(id, beat)| (*id, *beat)).collect::<Vec<_>>());
            if let Answer::Given(beats) = seen {
                for (dead, beat) in keeper.seen(now, &beats) {
                    let _ = self.ask(|rows| rows.reap(dead, beat));
                }
                self.give_back(place, keeper.me());
            }
        }
        if now < keeper.acts_until() {
            self.work(place, keeper.me());
            self.transfer(place);
            self.seat(place, keeper.me(), now);
        }
        self.workers[place].keeper = Some(keeper);
    }

    fn register(&mut self, place: usize, now: Duration) {
        let id = self.next_id;
        self.next_id += 1;
        if let Answer::Given(()) = self.ask(|rows| {
            rows.beats.insert(id, 0);
        }) {
            self.workers[place].keeper = Some(Keeper::new(id, now));
            self.workers[place].lanes = LaneKeeper::new(id);
            self.workers[place].hosts.iter_mut().for_each(|host| host.granted = 0);
        }
    }

    /// Gives back what the record says that the worker has, and it knows nothing of.
    fn give_back(&mut self, place: usize, me: WorkerId) {
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

    fn work(&mut self, place: usize, me: WorkerId) {
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

#[test]
fn a_source_has_one_worker_a_host_no_more_than_its_limit_nothing_is_done_twice_or_orphaned() {
    let seeds = if std::env::var_os("INSTEP_LONG").is_some() { 5_000 } else { 300 };
    for seed in 0..seeds {
        let ended = Simulation::new(seed).run();
        let live: BTreeSet<_> = ended
            .workers
            .iter()
            .filter(|worker| !worker.is_dead)
            .filter_map(|worker| worker.keeper.as_ref().map(Keeper::me))
            .collect();
        let registered: BTreeSet<_> = ended.rows.beats.keys().copied().collect();
        assert!(registered.is_subset(&live), "seed {seed}: {registered:?} and {live:?}");
        for source in &ended.rows.sources {
            assert!(source.effects.is_sorted_by(|a, b| a < b), "seed {seed}: {:?}", source.effects);
            assert!(source.worker.is_none_or(|worker| live.contains(&worker)), "seed {seed}");
            let late = source.effects.last().copied().unwrap_or_default();
            assert!(late + 3 >= source.epoch && late > 0, "seed {seed}: {late} of {}", source.epoch);
        }
        let orphans: Vec<_> = ended.rows.lanes.iter().flatten().collect();
        assert!(orphans.is_empty(), "seed {seed}: seats that nobody wants: {orphans:?}");
        let starved = ended.starved();
        assert!(starved.is_empty(), "seed {seed}: no turn for {starved:?}");
    }
}

#[test]
fn an_outage_of_the_record_kills_nobody() {
    let mut keeper = Keeper::new(1, Duration::ZERO);
    let second = Duration::from_secs(1);
    for look in 0..8 {
        assert!(keeper.seen(look * 2 * second, &[(1, 0), (2, 7)]).is_empty());
    }
    // Nobody answered for an hour; then the other one has four seconds, and more, to beat.
    assert!(keeper.seen(3_600 * second, &[(1, 0), (2, 7)]).is_empty());
    assert!(keeper.seen(3_602 * second, &[(1, 0), (2, 8)]).is_empty());
    for look in 1..10 {
        assert!(keeper.seen((3_602 + 2 * look) * second, &[(2, 8)]).is_empty());
    }
    assert_eq!(keeper.seen(3_622 * second, &[(2, 8)]), [(2, 8)]);
}
