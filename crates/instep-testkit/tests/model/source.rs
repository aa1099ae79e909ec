//! A generated Source over time: its resources, their changes, and its clock.

mod publishing;

use crate::{
    draw::Draw,
    style::{Precision, Style},
};

/// 2024-01-01T00:00:00Z in microseconds.
const BEGINNING: i64 = 1_704_067_200_000_000;

const SECOND: i64 = 1_000_000;

/// A new state of a resource: a version, or `None` if it was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time: i64,
    pub(crate) resource: usize,
    pub(crate) version: Option<u32>,
}

/// A list of the changes in (`from`, `until`].
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) name: String,
    pub(crate) from: i64,
    /// `None` while the list is open.
    pub(crate) until: Option<i64>,
}

/// A set of resources of a Source, and what is published of it.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    /// The folder of its resources and documents, with a final slash; empty if the Source has no other set.
    pub(crate) folder: String,
    resources: usize,
    /// Every change so far, oldest first.
    pub(crate) events: Vec<Event>,
    versions: u32,
    /// The time of the published inventory.
    pub(crate) inventory: i64,
    /// The time of the published Resource Dump, which may be older.
    pub(crate) dump: i64,
    /// The published Change Lists, oldest first.
    pub(crate) segments: Vec<Segment>,
    pub(crate) archived: Vec<Segment>,
    /// The time of the last publication, up to which changes are published.
    pub(crate) published: i64,
    /// The paths of its first resources that are those of another set.
    shared: Vec<String>,
    /// The folder of resources on the other host, in the copy and among the pages.
    elsewhere: String,
    /// `true` if its resources are now on the other host.
    is_elsewhere: bool,
    /// The time of the publication before the last one.
    before: i64,
    /// The number of segments so far.
    number: usize,
}

impl Set {
    fn new(folder: String, resources: usize, elsewhere: &str) -> Self {
        Self {
            folder,
            resources,
            elsewhere: elsewhere.to_owned(),
            is_elsewhere: false,
            events: Vec::new(),
            versions: 0,
            inventory: BEGINNING,
            dump: BEGINNING,
            segments: Vec::new(),
            archived: Vec::new(),
            published: BEGINNING,
            shared: Vec::new(),
            before: BEGINNING,
            number: 0,
        }
    }

    /// Returns the state of each resource as of a time: the version, or `None` if it does not exist.
    pub(crate) fn state_at(&self, time: i64) -> Vec<Option<Event>> {
        let mut state = vec![None; 2 * self.resources];
        for event in self.events.iter().filter(|event| event.time <= time) {
            state[event.resource] = event.version.map(|_| *event);
        }
        state
    }

    /// Returns the changes of a list as it is written: from the beginning of the day or second that it states as
    /// `from`.
    pub(crate) fn listed(&self, segment: &Segment, precision: Precision) -> Vec<Event> {
        let unit = match precision {
            Precision::Micros => 1,
            Precision::Seconds => SECOND,
            Precision::Days => 86_400 * SECOND,
        };
        let from = if unit == 1 { segment.from } else { segment.from.div_euclid(unit) * unit - 1 };
        self.changes(from, segment.until.unwrap_or(self.published))
    }

    /// Returns the changes in (`from`, `until`].
    pub(crate) fn changes(&self, from: i64, until: i64) -> Vec<Event> {
        self.events.iter().filter(|event| from < event.time && event.time <= until).copied().collect()
    }

    /// Returns `true` if a change is the first state of its resource, or the first after a deletion.
    pub(crate) fn is_creation(&self, event: &Event) -> bool {
        event.version.is_some() && self.state_before(event).is_none()
    }

    /// Returns the state of a resource before a change of it; `None` if it did not exist.
    pub(crate) fn state_before(&self, event: &Event) -> Option<&Event> {
        let mut earlier =
            self.events.iter().filter(|one| one.resource == event.resource && one.time < event.time);
        earlier.next_back().filter(|earlier| earlier.version.is_some())
    }

    /// Returns the versions that a resource got after one of them.
    pub(crate) fn versions_since(&self, resource: usize, version: Option<u32>) -> impl Iterator<Item = u32> {
        let events = self.events.iter().filter(move |event| event.resource == resource);
        events.filter_map(|event| event.version).filter(move |later| version.is_some_and(|one| one < *later))
    }

    /// Returns the path of a resource in the copy and with [`PageServer`](crate::server::PageServer). Numbers from the
    /// number of resources on are those of the same resources on the other host.
    pub(crate) fn path(&self, resource: usize) -> String {
        match resource.checked_sub(self.resources) {
            Some(number) => format!("{}/{}", self.elsewhere, self.path_at_home(number)),
            None => self.path_at_home(resource),
        }
    }

    fn path_at_home(&self, resource: usize) -> String {
        let own = || format!("{}d{}/r{resource}.txt", self.folder, resource % 3);
        self.shared.get(resource).cloned().unwrap_or_else(own)
    }

    /// Returns the URL of a resource of a Source at this base URL.
    pub(crate) fn url(&self, base: &str, resource: usize) -> String {
        match resource.checked_sub(self.resources) {
            Some(number) => format!("{}{}", elsewhere(base), self.path_at_home(number)),
            None => format!("{base}{}", self.path_at_home(resource)),
        }
    }

    fn next_segment(&mut self, from: i64) {
        self.number += 1;
        let name = format!("changes-{}.xml", self.number);
        self.segments.push(Segment { name, from, until: None });
    }
}

/// The clock of a Source: the times at which it was set, each with the offset since then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Vec<(i64, i64)>);

impl Clock {
    /// Returns the time that the clock showed at a time.
    pub(crate) fn stated(&self, time: i64) -> i64 {
        let step = self.0.iter().rfind(|(since, _)| *since < time);
        time + step.map_or(0, |(_, offset)| *offset)
    }
}

/// Returns a base URL at the other host.
pub(crate) fn elsewhere(base: &str) -> String {
    base.replace("127.0.0.1", "localhost")
}

/// A Source of one or more sets.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) style: Style,
    pub(crate) sets: Vec<Set>,
    pub(crate) now: i64,
    pub(crate) clock: Clock,
    /// The set that the Source Description leaves out in this phase; `None` if it names all.
    pub(crate) vanished: Option<usize>,
}

impl Source {
    /// Returns a Source of a style, after its first publication. Its second set names `shares` resources of the first
    /// one. `elsewhere` is the folder of resources on the other host.
    pub(crate) fn new(style: Style, shares: usize, elsewhere: &str, draw: &mut Draw) -> Self {
        let alone = style.sets == 1;
        let folder = |number: usize| if alone { String::new() } else { format!("s{number}/") };
        let mut sets: Vec<_> = (0..style.sets)
            .map(|number| Set::new(folder(number), usize::try_from(draw.within(3, 12)).unwrap(), elsewhere))
            .collect();
        if shares > 0 {
            sets[1].shared = (0..shares).map(|resource| sets[0].path(resource)).collect();
        }
        let mut source = Self { style, sets, now: BEGINNING, clock: Clock::default(), vanished: None };
        source.pass_time(draw);
        for set in 0..source.sets.len() {
            let initial = draw.within(1, source.sets[set].resources as u64);
            (0..initial).for_each(|_| source.change(set, draw));
        }
        source.pass_time(draw);
        source.begin(draw);
        source
    }

    fn pass_time(&mut self, draw: &mut Draw) {
        let step = match self.style.precision {
            Precision::Micros => draw.within(1, 3_600_000_000),
            Precision::Seconds => draw.within(1, 3_000_000),
            Precision::Days => draw.within(3_600, 70_000) * 1_000_000,
        };
        self.now += i64::try_from(step).unwrap();
    }

    /// Gives one resource another state.
    pub(crate) fn change(&mut self, set: usize, draw: &mut Draw) {
        self.pass_time(draw);
        let now = self.now;
        let resource = usize::try_from(draw.below(self.sets[set].resources as u64)).unwrap();
        let is_shared = set < 2 && self.sets.get(1).is_some_and(|set| resource < set.shared.len());
        let first = &self.sets[set];
        let resource = if first.is_elsewhere { resource + first.resources } else { resource };
        let sets = if is_shared { &mut self.sets[..2] } else { &mut self.sets[set..=set] };
        let exists = sets[0].state_at(now)[resource].is_some();
        let next = sets.iter().map(|set| set.versions).max().unwrap() + 1;
        let version = (!exists || !draw.chance(30)).then_some(next);
        for set in sets {
            set.versions = version.unwrap_or(set.versions);
            set.events.push(Event { time: now, resource, version });
        }
    }

    /// Moves all resources to the other host, or back: they are deleted at one host and created at the other.
    pub(crate) fn move_host(&mut self, draw: &mut Draw) {
        for set in 0..self.sets.len() {
            let to_elsewhere = !self.sets[set].is_elsewhere;
            let (now, count) = (self.now, self.sets[set].resources);
            for event in self.sets[set].state_at(now).into_iter().flatten() {
                self.pass_time(draw);
                let resource = if to_elsewhere { event.resource + count } else { event.resource - count };
                let set = &mut self.sets[set];
                set.versions += 1;
                set.events.push(Event { time: self.now, resource: event.resource, version: None });
                self.now += SECOND;
                set.events.push(Event { time: self.now, resource, version: Some(set.versions) });
            }
            self.sets[set].is_elsewhere = to_elsewhere;
        }
        self.pass_time(draw);
    }

    /// Sets the clock ahead by years, back by days, or to the right time. Returns `true` if it goes back.
    pub(crate) fn step_clock(&mut self, draw: &mut Draw) -> bool {
        const DAY: i64 = 86_400 * SECOND;
        let before = self.clock.0.last().map_or(0, |(_, offset)| *offset);
        let days = draw.pick(&[-3, -1, 0, 0, 1_826]);
        self.clock.0.push((self.now, days * DAY));
        days * DAY < before
    }
}
