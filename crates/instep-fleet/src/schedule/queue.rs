//! The order in which Sources run: fair between Sources, between hosts, and between new Sources and those that are
//! due again. PURE.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Seconds of waiting that one step of priority counts as.
const STEP: i64 = 300;

/// The Sources of a fleet in the order in which they are looked at.
///
/// Half of the slots are for Sources that were never visited and half for those that are due again, by how long they
/// have been due; either half takes slots that the other has no use for. Hosts take turns, and each has a limit of
/// Sources at a time.
///
/// ```
/// use instep_fleet::SourceQueue;
///
/// let mut queue = SourceQueue::new(2, 1);
/// queue.put("a", "https://one.example", 10, 0, false);
/// queue.put("b", "https://one.example", 20, 0, false);
/// queue.put("c", "https://two.example", 30, 0, false);
/// assert_eq!(queue.next(5), None, "nothing is due");
/// assert_eq!(queue.next(40), Some("a"));
/// assert_eq!(queue.next(40), Some("c"), "the first host has its one Source under way");
/// queue.done(&"a");
/// assert_eq!(queue.next(40), Some("b"));
/// ```
#[derive(Debug)]
pub struct SourceQueue<K> {
    sources: BTreeMap<K, QueuedSource>,
    /// Those that are not due yet.
    waiting: BTreeSet<(i64, K)>,
    hosts: BTreeMap<Arc<str>, HostLine<K>>,
    /// Hosts whose limit others have used up.
    held_back: BTreeSet<Arc<str>>,
    /// The hosts with a Source that is due and with room for it, in the order of their turns; for each kind.
    turns: [BTreeSet<(u64, Arc<str>)>; 2],
    turn: u64,
    slots: usize,
    per_host: usize,
    /// The Sources under way, for each kind.
    running: [usize; 2],
}

#[derive(Debug)]
struct QueuedSource {
    host: Arc<str>,
    due: i64,
    rank: i64,
    kind: usize,
    place: QueuePlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueuePlace {
    Waiting,
    Ready,
    Running,
}

#[derive(Debug)]
struct HostLine<K> {
    ready: [BTreeSet<(i64, K)>; 2],
    running: usize,
    turn: u64,
    has_turn: [bool; 2],
}

impl<K: Ord + Clone> SourceQueue<K> {
    /// Returns an empty queue for a number of Sources at a time, in all and of one host; at least 1.
    pub fn new(slots: usize, per_host: usize) -> Self {
        Self {
            sources: BTreeMap::new(),
            waiting: BTreeSet::new(),
            hosts: BTreeMap::new(),
            held_back: BTreeSet::new(),
            turns: [BTreeSet::new(), BTreeSet::new()],
            turn: 0,
            slots: slots.max(1),
            per_host: per_host.max(1),
            running: [0, 0],
        }
    }

    /// Changes the limits; running Sources continue.
    pub fn limit(&mut self, slots: usize, per_host: usize) {
        (self.slots, self.per_host) = (slots.max(1), per_host.max(1));
        let hosts: Vec<_> = self.hosts.keys().cloned().collect();
        hosts.iter().for_each(|host| self.refresh(host));
    }

    /// Adds a Source that is due at a time, or moves it there. One that is under way stays so; [`Self::done`] ends that.
    pub fn put(&mut self, key: K, host: &str, due: i64, priority: i8, is_new: bool) {
        if self.sources.get(&key).is_some_and(|source| source.place == QueuePlace::Running) {
            return;
        }
        self.remove(&key);
        self.waiting.insert((due, key.clone()));
        let rank = due.saturating_sub(i64::from(priority) * STEP);
        let source = QueuedSource {
            host: host.into(),
            due,
            rank,
            kind: usize::from(is_new),
            place: QueuePlace::Waiting,
        };
        self.sources.insert(key, source);
    }

    /// Takes a Source out. One that is under way still counts until [`Self::done`].
    pub fn remove(&mut self, key: &K) {
        let Some(source) = self.sources.get(key) else { return };
        match source.place {
            QueuePlace::Running => return,
            QueuePlace::Waiting => drop(self.waiting.remove(&(source.due, key.clone()))),
            QueuePlace::Ready => {
                let (host, kind, rank) = (Arc::clone(&source.host), source.kind, source.rank);
                if let Some(line) = self.hosts.get_mut(&host) {
                    line.ready[kind].remove(&(rank, key.clone()));
                }
                self.refresh(&host);
            }
        }
        self.sources.remove(key);
    }

    /// Takes the Source whose turn it is; `None` if nothing is due or there is no room.
    pub fn next(&mut self, now: i64) -> Option<K> {
        self.become_ready(now);
        if self.running[0] + self.running[1] >= self.slots {
            return None;
        }
        let first = usize::from(self.running[1] < self.running[0]);
        let kind = [first, 1 - first].into_iter().find(|kind| !self.turns[*kind].is_empty())?;
        let (_, host) = self.turns[kind].first().cloned()?;
        self.turn += 1;
        let turn = self.turn;
        let line = self.hosts.get_mut(&host)?;
        let (_, key) = line.ready[kind].pop_first()?;
        line.running += 1;
        self.running[kind] += 1;
        self.sources.get_mut(&key)?.place = QueuePlace::Running;
        self.take_turns(&host);
        if let Some(line) = self.hosts.get_mut(&host) {
            line.turn = turn;
        }
        self.refresh(&host);
        Some(key)
    }

    /// Ends the look at a Source and removes it; [`Self::put`] adds it again.
    pub fn done(&mut self, key: &K) {
        let Some(source) = self.sources.get(key).filter(|source| source.place == QueuePlace::Running) else {
            return;
        };
        let (host, kind) = (Arc::clone(&source.host), source.kind);
        self.sources.remove(key);
        self.running[kind] -= 1;
        if let Some(line) = self.hosts.get_mut(&host) {
            line.running -= 1;
        }
        self.held_back.remove(&host);
        self.refresh(&host);
    }

    /// Takes no Source of a host until one of its own is done, or until [`Self::let_go`]: other processes use all
    /// looks of the host.
    pub fn hold_back(&mut self, host: &str) {
        let host = host.into();
        self.held_back.insert(Arc::clone(&host));
        self.refresh(&host);
    }

    /// Ends all that [`Self::hold_back`] began.
    pub fn let_go(&mut self) {
        std::mem::take(&mut self.held_back).iter().for_each(|host| self.refresh(host));
    }

    /// Returns the time at which the next Source is due that is not due yet.
    pub fn next_due(&self) -> Option<i64> {
        self.waiting.first().map(|(due, _)| *due)
    }

    /// Returns the number of Sources under way.
    pub fn running(&self) -> usize {
        self.running[0] + self.running[1]
    }

    /// Returns the number of Sources that are due and wait for a slot: those due again, and those never visited.
    pub fn ready(&self) -> [usize; 2] {
        [0, 1].map(|kind| self.hosts.values().map(|line| line.ready[kind].len()).sum())
    }

    /// Returns `true` if nothing is kept of any Source or host.
    #[cfg(test)]
    pub(super) fn is_forgotten(&self) -> bool {
        let has_turns = self.turns.iter().any(|turns| !turns.is_empty());
        self.sources.is_empty() && self.waiting.is_empty() && self.hosts.is_empty() && !has_turns
    }

    fn become_ready(&mut self, now: i64) {
        while let Some((due, key)) = self.waiting.first().filter(|(due, _)| *due <= now).cloned() {
            self.waiting.remove(&(due, key.clone()));
            let Some(source) = self.sources.get_mut(&key) else { continue };
            source.place = QueuePlace::Ready;
            let (host, kind, rank) = (Arc::clone(&source.host), source.kind, source.rank);
            // A host that returns is placed after those that have waited meanwhile.
            let turn = self.turn;
            let new = || HostLine { ready: Default::default(), running: 0, turn, has_turn: [false, false] };
            self.hosts.entry(Arc::clone(&host)).or_insert_with(new).ready[kind].insert((rank, key));
            self.refresh(&host);
        }
    }

    /// Takes a host out of the turns, because its number is about to change.
    fn take_turns(&mut self, host: &Arc<str>) {
        let Some(line) = self.hosts.get_mut(host) else { return };
        for kind in [0, 1] {
            if std::mem::take(&mut line.has_turn[kind]) {
                self.turns[kind].remove(&(line.turn, Arc::clone(host)));
            }
        }
    }

    /// Puts a host among the turns if it has room and a Source that is due, and forgets it if it has nothing at all.
    fn refresh(&mut self, host: &Arc<str>) {
        let is_held_back = self.held_back.contains(host);
        let Some(line) = self.hosts.get_mut(host) else { return };
        for kind in [0, 1] {
            let has_turn = !line.ready[kind].is_empty() && line.running < self.per_host && !is_held_back;
            if has_turn && !line.has_turn[kind] {
                self.turns[kind].insert((line.turn, Arc::clone(host)));
            } else if !has_turn && line.has_turn[kind] {
                self.turns[kind].remove(&(line.turn, Arc::clone(host)));
            }
            line.has_turn[kind] = has_turn;
        }
        if line.running == 0 && line.ready.iter().all(BTreeSet::is_empty) {
            self.hosts.remove(host);
        }
    }
}
