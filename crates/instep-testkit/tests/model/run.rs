//! One generated Source, phase by phase: `sync`, `audit`, and what the naive model says of both.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
    time::Duration,
};

use instep_destination::{
    AuditOptions, AuditReport, Durability, Error, MaxDelete, Shutdown, SyncOptions, SyncReport, TestMonitor,
    audit, sync,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    documents::{Site, body, render},
    draw::Draw,
    habits::Habits,
    naive::{Expected, Knowledge, Verdict},
    server::{Break, End, PageServer},
    source::{Set, Source},
    style::{Feature, Keeps, Style},
};

/// A difference between the Destination and the model, with all that is needed to understand it.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) seed: u64,
    pub(crate) what: Vec<String>,
    pub(crate) story: String,
}

struct Story<'a> {
    seed: u64,
    source: Source,
    server: PageServer,
    copy: TempDir,
    knowledge: Vec<Knowledge>,
    runtime: &'a Runtime,
    /// Decides about runs before the one that counts; apart from the Source, so that this stays the same.
    runs: Draw,
    stops: bool,
    repeats: bool,
    /// Decides about what the habits bring, apart from the Source as well.
    chances: Draw,
    habits: Habits,
    log: String,
}

/// A phase: what is broken in it, what was held before it.
struct Phase {
    site: Site,
    broken: BTreeMap<String, Break>,
    before: BTreeMap<String, Vec<u8>>,
}

/// The outcome of a run and of the audit after it.
struct Ended {
    sync: u8,
    audit: u8,
    /// Everything that an audit before the run said otherwise than the run did.
    contradictions: Vec<String>,
}

/// Follows the Source of a seed through all its phases; returns the first difference.
pub(crate) fn follow(seed: u64, runtime: &Runtime, allows: &dyn Fn(Feature) -> bool) -> Option<Difference> {
    let mut draw = Draw::new(seed);
    let mut style = Style::draw(&mut draw, allows);
    let mut chances = Draw::new(seed.rotate_left(32) ^ 0x5bd1_e995);
    let habits = Habits::draw(&mut chances, &mut style, allows);
    let server = PageServer::start(style.etag, habits.clone());
    let source = Source::new(style, habits.shares, &mut draw);
    let knowledge = vec![Knowledge::default(); source.sets.len()];
    let copy = TempDir::new().unwrap();
    let log = format!("{:#?}\n{habits:#?}\n", source.style);
    let mut runs = Draw::new(!seed);
    let (stops, repeats) = (runs.chance(30), runs.chance(30));
    let (stops, repeats) = (stops && allows(Feature::StoppedRun), repeats && allows(Feature::RepeatedRun));
    let mut story =
        Story { seed, source, server, copy, knowledge, runtime, runs, stops, repeats, chances, habits, log };
    let phases = draw.within(2, 5);
    for number in 0..=phases {
        let is_last = number == phases;
        if number > 0 {
            story.go_on(&mut draw, is_last);
        }
        let breaks = !is_last && (number > 0 || draw.chance(20));
        let what = story.run_phase(number, &mut draw, breaks);
        if !what.is_empty() {
            return Some(Difference { seed, what, story: story.log });
        }
    }
    None
}

impl Story<'_> {
    /// Resources change, and documents are published.
    fn go_on(&mut self, draw: &mut Draw, anew: bool) {
        let style = &self.source.style;
        let replaces = matches!(style.keeps, Keeps::SinceLast | Keeps::SinceInventory);
        let publications = if replaces && !style.loses { 1 } else { draw.within(1, 3) };
        for number in 0..publications {
            for set in 0..self.source.sets.len() {
                (0..draw.below(5)).for_each(|_| self.source.change(set, draw));
            }
            self.source.publish(draw, anew && number + 1 == publications);
        }
    }

    fn run_phase(&mut self, number: u64, draw: &mut Draw, breaks: bool) -> Vec<String> {
        let vanishes = self.habits.vanishes && number > 0 && breaks && self.chances.chance(50);
        let sets = self.source.sets.len() as u64;
        self.source.vanished = vanishes.then(|| usize::try_from(self.chances.below(sets)).unwrap());
        let site = render(&self.source, self.seed, &self.server.url());
        let mut broken = BTreeMap::new();
        if breaks && self.source.style.breaks_documents && draw.chance(50) {
            let documents: BTreeSet<_> = site
                .offers
                .iter()
                .flat_map(|offer| {
                    let parts = offer.inventories.iter().flat_map(|inventory| &inventory.parts);
                    parts.chain(&offer.changes).chain(&offer.archived)
                })
                .flat_map(|part| part.needs.iter().chain(&part.or).cloned())
                .filter(|path| *path != site.start)
                .collect();
            let documents: Vec<_> = documents.into_iter().collect();
            if !documents.is_empty() {
                let path = documents[usize::try_from(draw.below(documents.len() as u64)).unwrap()].clone();
                let how = draw.pick(&Break::DOCUMENT);
                let other = self.chances.pick(&Break::TRUNCATED);
                let is_other = self.chances.chance(50) && self.habits.truncates && !path.ends_with(".zip");
                broken.insert(path, if is_other { other } else { how });
            }
        }
        if breaks && self.source.style.breaks_resources && draw.chance(50) {
            let set = &self.source.sets[usize::try_from(draw.below(self.source.sets.len() as u64)).unwrap()];
            for _ in 0..draw.within(1, 3) {
                let events = set.events.len() as u64;
                let event = set.events[usize::try_from(draw.below(events)).unwrap()];
                broken.insert(set.path(event.resource), draw.pick(&Break::RESOURCE));
            }
        }
        self.server.serve(site.pages.clone(), broken.clone(), self.source.now);
        let before = files(self.copy.path());
        let paths: BTreeSet<_> = broken.keys().cloned().collect();
        let sets = self.source.sets.iter().zip(&site.offers).zip(&mut self.knowledge).enumerate();
        let vanished = self.source.vanished;
        let verdicts: Vec<_> = sets
            .map(|(number, ((set, offer), knowledge))| match vanished {
                Some(vanished) if vanished == number => knowledge.stay(),
                _ => knowledge.read(offer, &paths, set.published),
            })
            .collect();
        let _ = writeln!(self.log, "== phase {number}; broken: {broken:?}, without set {vanished:?}");
        self.tell_documents(&site);
        let ended = self.sync_and_audit(&site);
        let phase = Phase { site, broken, before };
        self.judge(&phase, &verdicts, &ended)
    }

    fn tell_documents(&mut self, site: &Site) {
        for (path, page) in &site.pages {
            let text = String::from_utf8_lossy(page);
            let is_document = path.ends_with(".xml") || path.contains(".well-known");
            let shown = if is_document { &text } else { text.lines().next().unwrap_or_default() };
            let shown = if path.ends_with(".zip") { "(package)" } else { shown };
            let _ = writeln!(self.log, "-- {path}\n{}", shown.trim_end());
        }
    }

    fn options(&self, url: &str) -> SyncOptions {
        let mut options = SyncOptions::new(url, self.copy.path());
        options.delete = self.source.style.delete;
        options.max_delete = MaxDelete::Percent(100);
        options.allow_empty = true;
        options.durability = Durability::None;
        options.access.retries = 0;
        options
    }

    /// Runs before the one that counts: they may do a part of its work, and nothing else.
    fn sync_before(&mut self, url: &str) {
        self.sync_in_vain(url);
        let mut options = self.options(url);
        let is_stopped = self.stops && self.runs.chance(50);
        if is_stopped {
            options.shutdown = Shutdown::new();
            let end = End::Stop(options.shutdown.clone());
            self.server.end_after(usize::try_from(self.runs.within(2, 12)).unwrap(), end);
        }
        if is_stopped || self.repeats && self.runs.chance(30) {
            let result = self.runtime.block_on(sync(&options, &TestMonitor::new()));
            let how = if is_stopped { "stopped" } else { "once more" };
            let _ = writeln!(self.log, "-- sync, {how}: {result:?}");
        }
    }

    /// Runs that a server or the operator cuts off.
    fn sync_in_vain(&mut self, url: &str) {
        let (is_refused, is_hurried) = (self.chances.chance(50), self.chances.chance(50));
        let after = usize::try_from(self.chances.within(1, 14)).unwrap();
        let most = Duration::from_millis(self.chances.below(40));
        if self.habits.refuses && is_refused {
            self.server.end_after(after, End::Refusal);
            let result = self.runtime.block_on(sync(&self.options(url), &TestMonitor::new()));
            self.server.recover();
            let _ = writeln!(self.log, "-- sync, refused: {result:?}");
        }
        if self.habits.hurries && is_hurried {
            let mut options = self.options(url);
            options.max_duration = Some(most);
            let result = self.runtime.block_on(sync(&options, &TestMonitor::new()));
            let _ = writeln!(self.log, "-- sync, hurried: {result:?}");
        }
    }

    fn sync_and_audit(&mut self, site: &Site) -> Ended {
        let url = format!("{}{}", self.server.url(), site.start);
        self.sync_before(&url);
        let foretold = self.foretell(&url);
        let options = self.options(&url);
        let monitor = TestMonitor::new();
        let result = self.runtime.block_on(sync(&options, &monitor));
        let heard = monitor.recorded();
        let _ = writeln!(
            self.log,
            "-- sync: {result:#?}\nnotes {:#?}\nproblems {:#?}\nwarnings {:#?}\ncommitted {:#?}\nrequests {:#?}",
            heard.notes,
            heard.problems,
            heard.warnings,
            heard.committed,
            self.server.log()
        );
        let contradictions = match (foretold, &result) {
            (Some(audit), Ok(report)) => contradictions(&audit, report, self.source.style.delete),
            _ => Vec::new(),
        };
        let ended = result.map_or_else(|error| error.exit_code(), |report| report.exit_code());
        let result = self.audit(&url);
        let audited = result.map_or_else(|error| error.exit_code(), |report| report.exit_code());
        Ended { sync: ended, audit: audited, contradictions }
    }

    /// Audits the copy before a run, if there is one: of every other Source, since it takes time. An audit counts what two
    /// sets share for each of them, and a run once.
    fn foretell(&mut self, url: &str) -> Option<AuditReport> {
        let has_copy = self.copy.path().join(".instep").exists();
        let is_asked = has_copy && self.seed.is_multiple_of(2) && !self.habits.shares;
        if is_asked { self.audit(url).ok() } else { None }
    }

    fn audit(&mut self, url: &str) -> Result<AuditReport, Error> {
        let mut options = AuditOptions::new(Some(url.to_owned()), self.copy.path());
        options.access.retries = 0;
        let monitor = TestMonitor::new();
        let result = self.runtime.block_on(audit(&options, &monitor));
        let heard = monitor.recorded();
        let _ = writeln!(
            self.log,
            "-- audit: {result:#?}\n{:#?}\nnotes {:#?}\nproblems {:#?}",
            heard.itemized, heard.notes, heard.problems
        );
        result
    }

    /// Returns the state of each path that is right.
    fn expected(&self, verdicts: &[Verdict]) -> BTreeMap<String, (&Set, usize, Expected)> {
        let mut all: BTreeMap<String, (&Set, usize, Expected)> = BTreeMap::new();
        for (set, verdict) in self.source.sets.iter().zip(verdicts) {
            for (resource, expected) in &verdict.resources {
                let path = set.path(*resource);
                let expected = match all.remove(&path) {
                    Some((_, _, other)) => expected.clone().with(other),
                    None => expected.clone(),
                };
                all.insert(path, (set, *resource, expected));
            }
        }
        all
    }

    /// Returns everything that is not as the model has it.
    fn judge(&self, phase: &Phase, verdicts: &[Verdict], ended: &Ended) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut held = files(self.copy.path());
        let mut state = Judged::default();
        for (path, (set, resource, expected)) in self.expected(verdicts) {
            let now = set.state_at(i64::MAX);
            let bytes = |version| body(&self.source.style, self.seed, set, resource, version);
            let one = Resource {
                is: held.remove(&path),
                was: phase.before.get(&path).cloned(),
                served: now[resource].and_then(|event| event.version).map(bytes),
                right: expected.version.map(bytes),
                later: later(set, resource, &expected).into_iter().map(bytes).collect(),
                or: expected.or.iter().map(|version| version.map(bytes)).collect(),
                is_broken: phase.broken.contains_key(&path),
                is_kept: !self.source.style.delete,
            };
            one.judge(&path, &expected, &mut state, &mut wrong);
        }
        wrong.extend(held.keys().map(|path| format!("{path} is held, and nothing ever named it")));
        let misses = verdicts.iter().any(|verdict| verdict.misses);
        let doubtful = verdicts.iter().any(|verdict| verdict.doubtful);
        let untroubled = phase.broken.is_empty() && !state.stale && !doubtful;
        if ended.sync == 0 && misses {
            wrong.push("exit code 0, and something new is listed where it could not be read".to_owned());
        }
        if ended.sync == 0 && state.unsatisfied {
            wrong.push("exit code 0, and something that is listed differs".to_owned());
        }
        if ended.sync != 0 && untroubled {
            wrong.push(format!("exit code {} although everything can be read and had", ended.sync));
        }
        let named =
            phase.site.offers.iter().enumerate().filter(|(set, _)| self.source.vanished != Some(*set));
        let anything_readable = named.map(|(_, offer)| offer).any(|offer| {
            // A dump that does not say its time may be older than the list that was applied.
            let usable = if offer.certain { 2 } else { 1 };
            let inventories = offer.inventories.iter().take(usable);
            let parts = inventories.flat_map(|inventory| &inventory.parts).chain(&offer.changes);
            parts.into_iter().any(|part| part.is_whole(&|path| phase.broken.contains_key(path)))
        });
        if !matches!(ended.sync, 0 | 3) && anything_readable {
            wrong.push(format!("exit code {}: what could be read was not used", ended.sync));
        }
        if !matches!(ended.audit, 0 | 3 | 20) && anything_readable {
            wrong.push(format!("audit ends with {}: what could be read was not used", ended.audit));
        }
        // A document that one of them does not need may be missed by the other.
        let alike = phase.broken.is_empty() || misses || state.unsatisfied;
        if (ended.sync == 0) != (ended.audit == 0) && alike && !state.kept_surplus && !doubtful {
            wrong.push(format!("sync ends with {}, audit with {}", ended.sync, ended.audit));
        }
        if untroubled && !state.kept_surplus {
            wrong.extend(ended.contradictions.iter().cloned());
        }
        wrong
    }
}

/// Returns what a run did otherwise than an audit just before it said. What could not be compared may turn out either way.
fn contradictions(audit: &AuditReport, run: &SyncReport, deletes: bool) -> Vec<String> {
    let changes = audit.missing + audit.differing;
    let possible = changes..=changes + audit.unauditable + audit.failed;
    let mut wrong = Vec::new();
    if !possible.contains(&(run.created + run.updated)) {
        let (created, updated) = (run.created, run.updated);
        wrong.push(format!(
            "an audit finds {changes} to fetch, and then {created} are created, {updated} updated"
        ));
    }
    if deletes && run.deleted != audit.surplus {
        wrong.push(format!("an audit finds {} to delete, and then {} are", audit.surplus, run.deleted));
    }
    wrong
}

/// Returns the versions of a resource after those that may be right: what is fetched may be newer than what is listed.
fn later(set: &Set, resource: usize, expected: &Expected) -> BTreeSet<u32> {
    let right = expected.or.iter().chain([&expected.version]);
    right.flat_map(|version| set.versions_since(resource, *version)).collect()
}

/// The observations of all resources.
#[derive(Default)]
struct Judged {
    /// Something is not as it is listed.
    unsatisfied: bool,
    /// Something that is listed is not what is served, or cannot be had.
    stale: bool,
    /// Something deleted is kept, as the operator wants it.
    kept_surplus: bool,
}

struct Resource {
    is: Option<Vec<u8>>,
    was: Option<Vec<u8>>,
    served: Option<Vec<u8>>,
    right: Option<Vec<u8>>,
    /// The states after the right one: a resource that could not be had at first may have come in one of them.
    later: Vec<Vec<u8>>,
    or: Vec<Option<Vec<u8>>>,
    is_broken: bool,
    is_kept: bool,
}

impl Resource {
    fn judge(&self, path: &str, expected: &Expected, state: &mut Judged, wrong: &mut Vec<String>) {
        // Listed is a state that the Source does not serve any more: the rest was in a list that is lost.
        let outdated = self.right.is_some() && self.right != self.served;
        state.stale |= outdated || (self.is_broken && self.is != self.right);
        let is_surplus = self.right.is_none() && self.is.is_some() && self.is_kept && self.is == self.was;
        state.kept_surplus |= is_surplus;
        if self.is == self.right || self.or.contains(&self.is) || is_surplus {
            return;
        }
        let is_outdated = |state: &Option<Vec<u8>>| state.is_some() && *state != self.served;
        let may_be_later = outdated || self.or.iter().any(is_outdated);
        if may_be_later
            && (self.is == self.served || self.is.as_ref().is_some_and(|is| self.later.contains(is)))
        {
            return;
        }
        state.unsatisfied = true;
        if (self.is_broken || outdated || expected.may_wait) && self.is == self.was {
            return;
        }
        let name = |bytes: &Option<Vec<u8>>| {
            let text = bytes.as_deref().map(String::from_utf8_lossy);
            text.map_or("absent".to_owned(), |text| text.lines().next().unwrap_or_default().to_owned())
        };
        wrong.push(format!(
            "{path} is {:?}; right is {:?} (version {:?}, or {:?}); it was {:?}, served is {:?}",
            name(&self.is),
            name(&self.right),
            expected.version,
            expected.or,
            name(&self.was),
            name(&self.served)
        ));
    }
}

/// The files of a copy.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let visible = |entry: &walkdir::DirEntry| entry.file_name() != ".instep";
    let files = walkdir::WalkDir::new(folder).min_depth(1).into_iter().filter_entry(visible);
    let files = files.filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    let read = |entry: walkdir::DirEntry| {
        let path = entry.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        (path, fs::read(entry.path()).unwrap())
    };
    files.map(read).collect()
}
