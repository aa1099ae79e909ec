//! Shared plans simulated: workers that are stopped, killed and born, requests and answers that are lost, and runs that take
//! the copy over. Whatever happens, nothing takes effect twice, no slice stays with a worker that is gone, and no checkpoint
//! passes what is neither held nor pending.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use resourcesync::Uri;

use super::*;
use crate::{
    plan::Desired,
    state::{Action, ActionKind, SharerId, SliceId, SliceProgress},
};

/// A source of numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }
}

/// The rows, by the rules of the statements in `state/postgres/slices.rs`.
#[derive(Default)]
struct Rows {
    /// The run that has the copy, and the number of its last transaction.
    holder: (SharerId, u64),
    is_sealed: bool,
    slices: BTreeMap<SliceId, SliceRow>,
    shares: BTreeMap<SharerId, ShareRow>,
    held: BTreeSet<String>,
    owed: BTreeSet<String>,
    has_checkpoint: bool,
}

struct SliceRow {
    claimed: Option<(SharerId, u64)>,
    progress: SliceProgress,
    uris: Vec<String>,
}

#[derive(Default)]
struct ShareRow {
    beat: i64,
    group: u64,
    has_ended: bool,
}

/// The outcomes of a group, and how far its slices are done with them.
#[derive(Clone, Default)]
struct Outcomes {
    held: Vec<String>,
    owed: Vec<String>,
    progress: BTreeMap<SliceId, SliceProgress>,
}

impl Rows {
    fn take_over(&mut self, run: SharerId) {
        self.holder = (run, 0);
        self.is_sealed = false;
        self.slices.clear();
        self.shares.clear();
    }

    /// Begins a transaction with its number. `Some(true)` if it was committed before, `None` if the right to it is gone.
    fn begin(&mut self, worker: &SimWorker, number: u64) -> Option<bool> {
        let last = match self.shares.get_mut(&worker.id) {
            _ if worker.has_copy => (self.holder.0 == worker.id).then_some(&mut self.holder.1),
            share => share.filter(|share| !share.has_ended).map(|share| &mut share.group),
        }?;
        let was_done = *last == number;
        assert!(was_done || *last + 1 == number, "numbers follow each other");
        *last = number;
        Some(was_done)
    }

    fn commit(&mut self, worker: &SimWorker, number: u64, group: &Outcomes) -> Option<()> {
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

    fn claim(
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

    fn end_share(&mut self, sharer: SharerId, beat: i64) {
        if let Some(share) = self.shares.get_mut(&sharer).filter(|share| share.beat == beat) {
            share.has_ended = true;
            let its = self.slices.values_mut().filter(|slice| slice.claimed.is_some_and(|by| by.0 == sharer));
            its.for_each(|slice| slice.claimed = None);
        }
    }
}

struct SimWorker {
    id: SharerId,
    has_copy: bool,
    stopped_until: u64,
    /// Seconds that its clock is ahead.
    ahead: u64,
    book: SliceBook,
    watch: BeatWatch,
    open: Vec<(SlicePlace, String)>,
    group: Outcomes,
    /// A group that was sent and has no answer.
    sent: Option<Outcomes>,
    groups: u64,
    claims: u64,
}

/// A world of workers around one copy.
struct World {
    dice: Dice,
    rows: Rows,
    workers: Vec<SimWorker>,
    all: Vec<String>,
    next: SharerId,
    now: u64,
    calm_from: u64,
    /// The time at which the run that has the copy was seen last.
    holder_seen: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let origins = 1 + dice.below(6);
        let mut all = Vec::new();
        for origin in 0..origins {
            all.extend((0..1 + dice.below(60)).map(|number| format!("http://h{origin}/{number:03}")));
        }
        all.sort();
        let calm_from = 60 + dice.below(200);
        let (rows, workers) = (Rows::default(), Vec::new());
        Self { dice, rows, workers, all, next: 1, now: 0, calm_from, holder_seen: 0 }
    }

    fn is_calm(&self) -> bool {
        self.now >= self.calm_from
    }

    /// Returns `true` if a request, or its answer, is lost.
    fn is_lost(&mut self) -> bool {
        !self.is_calm() && self.dice.one_in(6)
    }

    fn worker(&mut self, has_copy: bool) -> SimWorker {
        self.next += 1;
        SimWorker {
            id: self.next,
            has_copy,
            stopped_until: 0,
            ahead: self.dice.below(1_000_000),
            book: SliceBook::new(16),
            watch: BeatWatch::default(),
            open: Vec::new(),
            group: Outcomes::default(),
            sent: None,
            groups: 0,
            claims: 0,
        }
    }

    /// A run takes the copy over, makes a plan of what is not held, and seals it, unless it is killed before.
    fn begin_run(&mut self) {
        let mut worker = self.worker(true);
        self.rows.take_over(worker.id);
        self.holder_seen = self.now;
        let mut cutter = SliceCutter::default();
        let mut cut = Vec::new();
        for uri in self.all.iter().filter(|uri| !self.rows.held.contains(*uri)) {
            let action = Action::new(ActionKind::Create, Desired::new(Uri::parse(uri).unwrap()));
            cut.extend(cutter.push(action, &uri[..9]));
        }
        cut.extend(cutter.finish());
        for slice in cut {
            let progress = SliceProgress {
                slice: slice.id,
                done: Default::default(),
                total: slice.actions.len() as u16,
            };
            let uris = slice.actions.iter().map(|action| action.desired.uri.as_str().to_owned()).collect();
            self.rows.slices.insert(slice.id, SliceRow { claimed: None, progress, uris });
        }
        if !self.is_calm() && self.dice.one_in(8) {
            return;
        }
        self.rows.is_sealed = true;
        self.rows.shares.insert(worker.id, ShareRow::default());
        worker.groups = 0;
        self.workers.push(worker);
    }

    fn join(&mut self) {
        let is_free = self.rows.slices.values().any(|slice| slice.claimed.is_none());
        if self.rows.is_sealed && is_free {
            let worker = self.worker(false);
            self.rows.shares.insert(worker.id, ShareRow::default());
            self.workers.push(worker);
        }
    }

    fn step(&mut self) {
        self.now += 1;
        let has_holder = self.workers.iter().any(|worker| {
            worker.has_copy && worker.id == self.rows.holder.0 && worker.stopped_until <= self.now
        });
        if has_holder {
            self.holder_seen = self.now;
        } else if self.now - self.holder_seen > 20 && !self.rows.has_checkpoint {
            self.begin_run();
        }
        if self.workers.len() < 4 && self.dice.one_in(4) {
            self.join();
        }
        let mut at = 0;
        while at < self.workers.len() {
            let mut worker = self.workers.remove(at);
            if self.act(&mut worker) {
                self.workers.insert(at, worker);
                at += 1;
            }
        }
    }

    /// Lets a worker act for a second. Returns `false` if it is gone.
    fn act(&mut self, worker: &mut SimWorker) -> bool {
        if worker.stopped_until > self.now {
            return true;
        }
        if !self.is_calm() {
            if self.dice.one_in(60) {
                return false;
            }
            if self.dice.one_in(30) {
                worker.stopped_until = self.now + self.dice.below(60);
                return true;
            }
        }
        if self.now.is_multiple_of(5)
            && let Some(share) = self.rows.shares.get_mut(&worker.id).filter(|share| !share.has_ended)
        {
            share.beat += 1;
        }
        self.fetch(worker);
        if (worker.sent.is_some() || self.dice.one_in(4)) && !self.commit(worker) {
            return false;
        }
        if worker.book.wanted() > 0 && !self.claim(worker) {
            return false;
        }
        if worker.has_copy { self.look(worker) } else { self.stay(worker) }
    }

    fn fetch(&mut self, worker: &mut SimWorker) {
        for _ in 0..self.dice.below(20) {
            if worker.open.is_empty() {
                return;
            }
            let (place, uri) = worker.open.swap_remove(self.dice.below(worker.open.len() as u64) as usize);
            let progress = worker.book.settle(place).unwrap();
            assert_eq!(worker.book.settle(place), None, "an outcome counts once");
            worker.group.progress.insert(progress.slice, progress);
            match self.dice.one_in(10) {
                true => worker.group.owed.push(uri),
                false => worker.group.held.push(uri),
            }
        }
    }

    /// Commits what has come. Returns `false` if the worker has lost its share.
    fn commit(&mut self, worker: &mut SimWorker) -> bool {
        let group = worker.sent.take().unwrap_or_else(|| std::mem::take(&mut worker.group));
        if group.progress.is_empty() {
            return true;
        }
        if self.is_lost() {
            worker.sent = Some(group);
            return true;
        }
        let done = self.rows.commit(worker, worker.groups + 1, &group);
        if done.is_some() && self.is_lost() {
            worker.sent = Some(group);
            return true;
        }
        worker.groups += 1;
        done.is_some()
    }

    fn claim(&mut self, worker: &mut SimWorker) -> bool {
        if self.is_lost() {
            return true;
        }
        let Some(claimed) = self.rows.claim(worker.id, worker.claims + 1, 1 + worker.book.wanted() / 16)
        else {
            return false;
        };
        if self.is_lost() {
            return true;
        }
        worker.claims += 1;
        for (progress, uris) in claimed {
            let open = worker.book.take(progress);
            worker.open.extend(open.into_iter().map(|at| (at, uris[usize::from(at.place)].clone())));
        }
        true
    }

    /// The run that has the copy looks at the others, and concludes. Returns `false` once it has.
    fn look(&mut self, worker: &mut SimWorker) -> bool {
        let others = self.rows.shares.iter().filter(|(id, share)| **id != worker.id && !share.has_ended);
        let beats: Vec<_> = others.map(|(id, share)| (*id, share.beat)).collect();
        let now = Duration::from_secs(self.now + worker.ahead);
        if self.rows.holder.0 == worker.id {
            for (sharer, beat) in worker.watch.look(now, &beats) {
                self.rows.end_share(sharer, beat);
            }
        }
        let is_done = worker.sent.is_none() && worker.group.progress.is_empty() && !worker.book.has_any();
        // As the statement of the checkpoint has it.
        if is_done && self.rows.holder.0 == worker.id && self.rows.slices.is_empty() {
            for uri in &self.all {
                let is_known = self.rows.held.contains(uri) || self.rows.owed.contains(uri);
                assert!(is_known, "the checkpoint passes {uri}");
            }
            self.rows.has_checkpoint = true;
            return false;
        }
        true
    }

    /// A worker that helps leaves when nothing is free. Returns `false` then.
    fn stay(&mut self, worker: &SimWorker) -> bool {
        let is_free = self.rows.slices.values().any(|slice| slice.claimed.is_none());
        worker.sent.is_some() || !worker.group.progress.is_empty() || worker.book.has_any() || is_free
    }
}

#[test]
fn a_shared_plan_takes_effect_once_whoever_is_stopped_killed_or_not_answered() {
    let (mut shared, mut longest) = (0, 0);
    for seed in 0..5_000 {
        let mut world = World::new(seed);
        world.begin_run();
        while !world.rows.has_checkpoint {
            world.step();
            let patience = world.calm_from + 300;
            assert!(world.now < patience, "seed {seed}: a slice stays with a worker that is gone");
            shared += u64::from(world.workers.len() > 2);
        }
        longest = longest.max(world.now);
    }
    assert!(shared > 5_000 && longest > 100, "the simulation has too little in it: {shared}, {longest}");
}

#[test]
fn who_looked_away_has_not_seen_that_others_did_not_beat() {
    let mut watch = BeatWatch::default();
    let at = Duration::from_secs;
    assert!(watch.look(at(0), &[(1, 7)]).is_empty());
    // A pause of hours counts as four seconds.
    assert!(watch.look(at(9_000), &[(1, 7)]).is_empty());
    for second in 1..16 {
        assert!(watch.look(at(9_000 + second), &[(1, 7), (2, 0)]).is_empty());
    }
    assert_eq!(watch.look(at(9_016), &[(1, 7), (2, 0)]), [(1, 7)]);
    assert!(watch.look(at(9_017), &[(1, 8), (2, 0)]).is_empty(), "it has beaten");
}

#[test]
fn a_worker_claims_more_when_half_of_what_it_has_is_done() {
    let mut book = SliceBook::new(16);
    let progress = |slice| SliceProgress { slice, done: Default::default(), total: 256 };
    assert_eq!(book.wanted(), 512);
    let first = book.take(progress(1));
    assert_eq!((first.len(), book.wanted()), (256, 256));
    let second = book.take(progress(2));
    assert_eq!(book.wanted(), 0);
    let done: Vec<_> = first.into_iter().filter_map(|place| book.settle(place)).collect();
    assert_eq!((done.len(), book.wanted()), (256, 256));
    assert!(done[255].is_finished() && !done[254].is_finished());
    // What another one has done before is not done again.
    let mut half = done[127];
    half.slice = 3;
    assert_eq!(book.take(half).first().map(|at| at.place), Some(128));
    assert_eq!(second.len(), 256);
}
