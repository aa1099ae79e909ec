//! Follows one generated Source phase by phase: runs `sync` and `audit`, and compares both with the naive model.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    damage::damage,
    documents::{Site, render},
    draw::Draw,
    feature::Feature,
    habits::Habits,
    judge::Phase,
    naive::Knowledge,
    oddities::Oddities,
    server::{Break, PageServer},
    source::Source,
    style::{Keeps, Style},
    wishes::Wishes,
};

/// A difference between the Destination and the model, with the log of everything that led to it.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) seed: u64,
    pub(crate) what: Vec<String>,
    pub(crate) story: String,
}

/// A Source, its server, a copy, and everything that happens to them.
pub(crate) struct Story<'a> {
    pub(crate) seed: u64,
    pub(crate) source: Source,
    pub(crate) server: PageServer,
    pub(crate) copy: TempDir,
    pub(crate) knowledge: Vec<Knowledge>,
    pub(crate) runtime: &'a Runtime,
    /// Decides about runs before the judged one. It is separate from the draws of the Source, so that they stay the
    /// same.
    pub(crate) runs: Draw,
    pub(crate) stops: bool,
    pub(crate) repeats: bool,
    /// Decides when habits have an effect.
    pub(crate) chances: Draw,
    pub(crate) habits: Habits,
    /// Decides when oddities have an effect.
    pub(crate) whims: Draw,
    /// Decides about selections and damage.
    pub(crate) tastes: Draw,
    /// `true` in a phase that repairs the copy.
    pub(crate) repairs: bool,
    pub(crate) oddities: Oddities,
    /// The operator's wishes in this phase.
    pub(crate) wishes: Wishes,
    /// `true` if resources may have been left out in an earlier phase because of a limit or a selection.
    pub(crate) was_narrow: bool,
    /// `true` if the Source's clock has gone back.
    pub(crate) clock_went_back: bool,
    pub(crate) log: String,
    /// The URL of the state if it is in a database; `None` for a file.
    pub(crate) state: Option<String>,
}

/// Follows the Source of a seed through all its phases. Returns the first difference; `None` if there is none. The
/// state of the copy is in the `database`, if one is given.
pub(crate) fn follow(
    seed: u64,
    runtime: &Runtime,
    allows: &dyn Fn(Feature) -> bool,
    database: Option<&str>,
) -> Option<Difference> {
    let mut draw = Draw::new(seed);
    let mut style = Style::draw(&mut draw, allows);
    let mut chances = Draw::new(seed.rotate_left(32) ^ 0x5bd1_e995);
    let habits = Habits::draw(&mut chances, &mut style, allows);
    let mut whims = Draw::new(seed.rotate_left(17) ^ 0x2c1b_3c6d);
    let mut tastes = Draw::new(seed.rotate_left(7) ^ 0x1f83_d9ab);
    let oddities = Oddities::draw(&mut whims, &mut tastes, &style, &habits, allows);
    let server = PageServer::start(style.etag, habits.clone(), oddities.clone());
    let shares = oddities.shares.max(usize::from(habits.shares));
    let source = Source::new(style, shares, &server.elsewhere(), &mut draw);
    let knowledge = vec![Knowledge::default(); source.sets.len()];
    let copy = TempDir::new().unwrap();
    let log = format!("{:#?}\n{habits:#?}\n{oddities:#?}\n", source.style);
    let wishes = Wishes::of_all(source.style.delete);
    let mut runs = Draw::new(!seed);
    let (stops, repeats) = (runs.chance(30), runs.chance(30));
    let (stops, repeats) = (stops && allows(Feature::StoppedRun), repeats && allows(Feature::RepeatedRun));
    let mut story = Story {
        seed,
        source,
        server,
        copy,
        knowledge,
        runtime,
        runs,
        stops,
        repeats,
        chances,
        habits,
        whims,
        tastes,
        repairs: false,
        oddities,
        wishes,
        was_narrow: false,
        clock_went_back: false,
        log,
        state: database.map(|url| format!("{url}?schema=seed_{seed}")),
    };
    let phases = draw.within(2, 5);
    for number in 0..=phases {
        let is_last = number == phases;
        if number > 0 {
            let renews = is_last && !story.oddities.restores_times;
            story.go_on(&mut draw, renews);
        }
        let breaks = !is_last && (number > 0 || draw.chance(20));
        story.wish(is_last);
        let what = story.run_phase(number, &mut draw, breaks);
        if !what.is_empty() {
            return Some(Difference { seed, what, story: story.log });
        }
    }
    None
}

impl Story<'_> {
    /// Draws the wishes of the operator for a phase. In the last phase the operator wants the whole copy.
    fn wish(&mut self, is_last: bool) {
        self.was_narrow |= self.wishes.is_narrow();
        let delete = self.source.style.delete;
        self.wishes = Wishes::draw(&mut self.whims, &mut self.tastes, &self.oddities, delete, is_last);
    }

    /// Lets the Source's clock jump, or all resources move, at random.
    fn turn(&mut self) {
        let (steps, moves) = (self.whims.chance(40), self.whims.chance(30));
        if self.oddities.clock_steps && steps {
            self.clock_went_back |= self.source.step_clock(&mut self.whims);
        }
        if self.oddities.moves && moves {
            self.source.move_host(&mut self.whims);
        }
    }

    /// Changes resources and publishes documents, once or several times. The last publication has a new inventory if it
    /// is to be `anew`.
    fn go_on(&mut self, draw: &mut Draw, anew: bool) {
        self.turn();
        let style = &self.source.style;
        let replaces = matches!(style.keeps, Keeps::SinceLast | Keeps::SinceInventory);
        let is_index = style.parts > 1 || self.oddities.lone_index;
        let publications = if replaces && !style.loses { 1 } else { draw.within(1, 3) };
        for number in 0..publications {
            for set in 0..self.source.sets.len() {
                (0..draw.below(5)).for_each(|_| self.source.change(set, draw));
            }
            self.source.publish(draw, anew && number + 1 == publications, is_index);
        }
    }

    /// Serves the documents, some of them broken if the phase `breaks` them, and runs `sync` and `audit`. Returns the
    /// differences from the model.
    fn run_phase(&mut self, number: u64, draw: &mut Draw, breaks: bool) -> Vec<String> {
        let vanishes = self.habits.vanishes && number > 0 && breaks && self.chances.chance(50);
        let sets = self.source.sets.len() as u64;
        self.source.vanished = vanishes.then(|| usize::try_from(self.chances.below(sets)).unwrap());
        let site = render(&self.source, &self.oddities, self.seed, &self.server.url());
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
        let now = self.source.clock.stated(self.source.now);
        self.server.serve(site.pages.clone(), broken.clone(), now);
        let is_damaged = number > 0 && self.oddities.damages && self.tastes.chance(50);
        self.repairs = is_damaged && damage(self.copy.path(), &mut self.tastes);
        let before = files(self.copy.path());
        let paths: BTreeSet<_> = broken.keys().cloned().collect();
        let sets = self.source.sets.iter().zip(&site.offers).zip(&mut self.knowledge).enumerate();
        let (vanished, was_narrow) = (self.source.vanished, self.was_narrow);
        let verdicts: Vec<_> = sets
            .map(|(number, ((set, offer), knowledge))| match vanished {
                Some(vanished) if vanished == number => knowledge.stay(),
                _ => knowledge.read(offer, &paths, set.published, was_narrow),
            })
            .collect();
        let wishes = self.wishes;
        let _ = writeln!(
            self.log,
            "== phase {number}; broken: {broken:?}, without set {vanished:?}, {wishes:?}, repairs {}",
            self.repairs
        );
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
}

/// Returns the files of a copy by their paths, without instep's own.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let visible = |entry: &walkdir::DirEntry| entry.file_name() != ".instep";
    let files = walkdir::WalkDir::new(folder).min_depth(1).into_iter().filter_entry(visible);
    let files = files.filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    let read = |entry: walkdir::DirEntry| {
        let path = entry.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        (path, fs::read(entry.path()).unwrap())
    };
    files.map(read).collect()
}
