//! Workers around one copy, second by second. Until `calm_from`, workers stop and die, and requests and answers are lost.

use std::time::Duration;

use instep_testkit::Dice;
use resourcesync::Uri;

use super::{
    rows::{Outcomes, Rows, ShareRow, SliceRow},
    *,
};
use crate::{
    plan::Desired,
    state::{Action, ActionKind, SharerId, SliceProgress},
};

pub(super) struct SimWorker {
    pub(super) id: SharerId,
    pub(super) has_copy: bool,
    pub(super) stopped_until: u64,
    /// The number of seconds by which its clock is ahead.
    pub(super) ahead: u64,
    pub(super) book: SliceBook,
    pub(super) watch: BeatWatch,
    pub(super) open: Vec<(SlicePlace, String)>,
    pub(super) group: Outcomes,
    /// The group that was sent and has no answer yet.
    pub(super) sent: Option<Outcomes>,
    pub(super) groups: u64,
    pub(super) claims: u64,
}

/// Workers around one copy.
pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) rows: Rows,
    pub(super) workers: Vec<SimWorker>,
    pub(super) all: Vec<String>,
    pub(super) next: SharerId,
    pub(super) now: u64,
    pub(super) calm_from: u64,
    /// The time at which the run that has the copy was seen last.
    pub(super) holder_seen: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Dice::of(seed);
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

    pub(super) fn is_calm(&self) -> bool {
        self.now >= self.calm_from
    }

    /// Returns `true` if a request, or its answer, is lost.
    pub(super) fn is_lost(&mut self) -> bool {
        !self.is_calm() && self.dice.one_in(6)
    }

    pub(super) fn worker(&mut self, has_copy: bool) -> SimWorker {
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

    /// Lets a new run take the copy over, plan what is not held, and seal the plan, unless it is killed before.
    pub(super) fn begin_run(&mut self) {
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

    pub(super) fn join(&mut self) {
        let is_free = self.rows.slices.values().any(|slice| slice.claimed.is_none());
        if self.rows.is_sealed && is_free {
            let worker = self.worker(false);
            self.rows.shares.insert(worker.id, ShareRow::default());
            self.workers.push(worker);
        }
    }

    pub(super) fn step(&mut self) {
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
    pub(super) fn act(&mut self, worker: &mut SimWorker) -> bool {
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
        if self.now.is_multiple_of(2)
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

    pub(super) fn fetch(&mut self, worker: &mut SimWorker) {
        for _ in 0..self.dice.below(20) {
            if worker.open.is_empty() {
                return;
            }
            let (place, uri) = worker.open.swap_remove(self.dice.below(worker.open.len() as u64) as usize);
            let progress = worker.book.settle(place).unwrap();
            assert_eq!(worker.book.settle(place), None, "an outcome counts once");
            worker.group.progress.insert(progress.slice, progress);
            if self.dice.one_in(10) { worker.group.owed.push(uri) } else { worker.group.held.push(uri) }
        }
    }

    /// Commits the resources that arrived. Returns `false` if the worker has lost its share.
    pub(super) fn commit(&mut self, worker: &mut SimWorker) -> bool {
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

    pub(super) fn claim(&mut self, worker: &mut SimWorker) -> bool {
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

    /// Lets the run that has the copy watch the other workers and conclude. Returns `false` after it has concluded.
    pub(super) fn look(&mut self, worker: &mut SimWorker) -> bool {
        let others = self.rows.shares.iter().filter(|(id, share)| **id != worker.id && !share.has_ended);
        let beats: Vec<_> = others.map(|(id, share)| (*id, share.beat)).collect();
        let now = Duration::from_secs(self.now + worker.ahead);
        if self.rows.holder.0 == worker.id {
            for (sharer, beat) in worker.watch.look(now, &beats) {
                self.rows.end_share(sharer, beat);
            }
        }
        let is_done = worker.sent.is_none() && worker.group.progress.is_empty() && !worker.book.has_any();
        // The condition of the statement that moves the checkpoint.
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

    /// Returns `false` if a helping worker leaves, because no slice is free.
    pub(super) fn stay(&mut self, worker: &SimWorker) -> bool {
        let is_free = self.rows.slices.values().any(|slice| slice.claimed.is_none());
        worker.sent.is_some() || !worker.group.progress.is_empty() || worker.book.has_any() || is_free
    }
}
