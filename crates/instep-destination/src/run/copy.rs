//! The copy of a run: its folder, its state, and who commits to it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use resourcesync::Uri;

use crate::{
    Error, Guard, MaxDelete, Strategy, SyncOptions,
    clock::now,
    commit::{CommitError, CommitOptions, Committer},
    discover::{CapabilitySet, Way},
    map::{ExplicitMap, MapBase, Mapper},
    plan::Coverage,
    records::{self, PlanRules, RecentDeletions},
    state::{Actions, Problem, Run as LoggedRun, RunId, SetId, State},
    store::{FolderOptions, FolderStore, Store},
};

/// A copy that this run has.
#[derive(Debug)]
pub(crate) struct LocalCopy {
    own: PathBuf,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) mapper: Arc<Mapper>,
    /// Lent to the thread that commits while resources are transferred.
    committer: Option<Committer>,
    reader: State,
    run: Option<RunId>,
    plans: u32,
}

const OWN: &str = ".instep";
const STATE: &str = "state.sqlite";

impl LocalCopy {
    /// Returns `true` if a folder holds a copy.
    pub(crate) fn is_at(dir: &Path) -> bool {
        Self::state_file(dir).is_file()
    }

    /// The setting that keeps the operator's URL.
    pub(crate) const URL: &str = "url";

    /// The file that holds the state.
    pub(crate) fn state_file(dir: &Path) -> PathBuf {
        dir.join(OWN).join(STATE)
    }

    /// The folder of everything in a copy that is not a resource.
    pub(crate) fn own_folder(dir: &Path) -> PathBuf {
        dir.join(OWN)
    }

    /// Locks the folder, takes up what an earlier run left, and learns where resources lie.
    pub(crate) fn open(options: &SyncOptions) -> Result<Self, Error> {
        refuse_unknown_files(options)?;
        let mut folder = FolderOptions::new();
        folder.durability = options.durability;
        folder.backups.clone_from(&options.backup_dir);
        let folder = FolderStore::open(&options.dir, folder)?;
        let own = folder.own_folder();
        Actions::remove_leftovers(&own)?;
        let store: Arc<dyn Store> = Arc::new(folder);
        let mut state = State::open(&own.join(STATE))?;
        if options.changes.is_some() {
            state.record_changes();
        }
        let mut commits = CommitOptions::new();
        commits.durability = options.durability;
        commits.accepts_emptied = options.repair;
        commits.replaces_unknown = options.adopt;
        let (committer, _) = Committer::open(Arc::clone(&store), state, commits)?;
        let (mapper, base) = mapper(committer.state(), options)?;
        let mapper = Arc::new(mapper);
        let mut committer = committer.with_sink(options.changes.clone()).with_base(base);
        let mut run = None;
        if !options.dry_run {
            if committer.state().setting(Self::URL)?.as_deref() != Some(&options.url) {
                committer.state_mut().set_setting(Self::URL, &options.url)?;
                records::way::write(committer.state_mut(), None)?;
            }
            run = Some(committer.state_mut().begin_run(now(), "sync")?);
        }
        let reader = committer.state().reader()?;
        Ok(Self { own, store, mapper, committer: Some(committer), reader, run, plans: 0 })
    }

    /// The state, to read.
    pub(crate) fn state(&self) -> &State {
        &self.reader
    }

    /// Returns the folder for documents while they are read.
    pub(crate) fn spool(&self) -> &Path {
        &self.own
    }

    /// An empty plan.
    pub(crate) fn new_actions(&mut self) -> Result<Actions, Error> {
        self.plans += 1;
        Ok(Actions::create(&self.own.join(Actions::file_name(self.plans)))?)
    }

    /// Gives the committer away; [`Self::take_back`] ends that.
    pub(crate) fn lend(&mut self) -> Result<Committer, Error> {
        self.committer.take().ok_or_else(|| Error::Task { source: "the committer is lent already".into() })
    }

    pub(crate) fn take_back(&mut self, committer: Committer) {
        self.committer = Some(committer);
    }

    /// The state, to write what belongs to no group.
    pub(crate) fn state_mut(&mut self) -> Result<&mut State, Error> {
        let committer = self.committer.as_mut();
        committer
            .map(Committer::state_mut)
            .ok_or_else(|| Error::Task { source: "the committer is lent".into() })
    }

    /// Refuses a Source of which the copy follows no set although it follows sets: it is another one (B25).
    pub(crate) fn expect_known(&self, sets: &[CapabilitySet], options: &SyncOptions) -> Result<(), Error> {
        let mut followed = Vec::new();
        for (set, name) in self.state().sets()? {
            if name != crate::versions::SET && self.state().checkpoint(set)?.is_some() {
                followed.push(name);
            }
        }
        let is_followed =
            |set: &CapabilitySet| followed.iter().any(|name| name == set.name() || name == set.former_name());
        if options.add_source || followed.is_empty() || sets.iter().any(is_followed) {
            return Ok(());
        }
        let what = format!(
            "{} holds a copy of {}, and {} is another Source",
            options.dir.display(),
            followed[0],
            options.url
        );
        Err(Error::Refused { guard: Guard::OtherSource, what })
    }

    /// Returns the set that was found, by what was asked for to find it.
    pub(crate) fn set(&mut self, found: &CapabilitySet) -> Result<SetId, Error> {
        let (name, former) = (found.name(), found.former_name());
        let state = self.state_mut()?;
        if name != former && state.known_set(name)?.is_none() {
            state.rename_set(former, name)?;
        }
        Ok(state.set(name)?)
    }

    /// Returns `true` if the last plan of a set was made for what is wanted now.
    pub(crate) fn policy_stands(&self, set: SetId, options: &SyncOptions) -> Result<bool, Error> {
        let now = PlanRules::new(&options.selection, options.delete);
        Ok(PlanRules::read(self.state(), set)?.is_none_or(|held| held.stand_for(&now)))
    }

    /// Returns how many resources runs with the same limit removed within the last day.
    pub(crate) fn recent_deletions(&self, limit: MaxDelete) -> Result<u64, Error> {
        Ok(RecentDeletions::read(self.state())?.count(now(), limit))
    }

    /// Remembers how many resources a run removed.
    pub(crate) fn add_deletions(&mut self, limit: MaxDelete, count: u64) -> Result<(), Error> {
        if count == 0 || self.run.is_none() {
            return Ok(());
        }
        let mut recent = RecentDeletions::read(self.state())?;
        recent.add(now(), limit, count);
        Ok(recent.write(self.state_mut()?)?)
    }

    /// Returns how the operator's URL led to the Source in the last run. `None` if it did not yet.
    pub(crate) fn way(&self) -> Result<Option<Way>, Error> {
        Ok(records::way::read(self.state())?)
    }

    /// Remembers how the operator's URL led to the Source. A dry run remembers nothing.
    pub(crate) fn keep_way(&mut self, way: Way) -> Result<(), Error> {
        if self.run.is_some() && self.way()? != Some(way) {
            records::way::write(self.state_mut()?, Some(way))?;
        }
        Ok(())
    }

    /// Returns how much of a set is known. A state of an earlier version does not say: then its checkpoint counted as complete.
    pub(crate) fn coverage(&self, set: SetId) -> Result<Coverage, Error> {
        match records::coverage::read(self.state(), set)? {
            Some(coverage) => Ok(coverage),
            None => {
                let at = self.state().checkpoint(set)?.and_then(|checkpoint| checkpoint.datetime);
                Ok(if at.is_some() { Coverage::Complete { at } } else { Coverage::Unknown })
            }
        }
    }

    /// Returns how many resources of a set are kept although they are gone at the Source.
    pub(crate) fn kept(&self, set: SetId) -> Result<u64, Error> {
        Ok(records::kept::read(self.state(), set)?)
    }

    /// Remembers how many resources of a set are kept although they are gone at the Source.
    pub(crate) fn keep_kept(&mut self, set: SetId, kept: u64) -> Result<(), Error> {
        if self.kept(set)? != kept {
            records::kept::write(self.state_mut()?, set, kept)?;
        }
        Ok(())
    }

    /// Remembers how much of a set is known.
    pub(crate) fn keep_coverage(&mut self, set: SetId, coverage: Coverage) -> Result<(), Error> {
        Ok(records::coverage::write(self.state_mut()?, set, coverage)?)
    }

    /// Records what the plan that is done now was made for.
    pub(crate) fn keep_policy(&mut self, set: SetId, options: &SyncOptions) -> Result<(), Error> {
        let now = PlanRules::new(&options.selection, options.delete);
        if PlanRules::read(self.state(), set)?.as_ref() != Some(&now) {
            now.write(self.state_mut()?, set)?;
        }
        Ok(())
    }

    /// Writes down how the run ended, and makes that durable with all that it did.
    pub(crate) fn finish(
        &mut self,
        strategy: Strategy,
        (exit_code, summary): (u8, String),
        problems: &[Problem],
    ) -> Result<(), Error> {
        let Some(id) = self.run else { return Ok(()) };
        let mut run = LoggedRun::new(id, now(), strategy.as_str());
        run.finished = Some(now());
        run.exit_code = Some(exit_code);
        run.summary = Some(summary);
        self.state_mut()?.finish_run(&run, problems)?;
        if let Some(committer) = &mut self.committer {
            committer.finish()?;
        }
        Ok(())
    }
}

/// Refuses a first run into a folder that holds files, unless the operator said what becomes of them (B25).
fn refuse_unknown_files(options: &SyncOptions) -> Result<(), Error> {
    if options.adopt || options.into_existing || LocalCopy::is_at(&options.dir) {
        return Ok(());
    }
    let Ok(entries) = std::fs::read_dir(&options.dir) else { return Ok(()) };
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let Some(found) = names.find(|name| name != OWN && name != "lost+found") else { return Ok(()) };
    let what = format!(
        "{} is no copy and holds files, {} among them",
        options.dir.display(),
        found.to_string_lossy()
    );
    Err(Error::Refused { guard: Guard::UnknownFiles, what })
}

/// Returns what gives resources their paths, and the base if it is yet to be recorded. The first commit decides it and later runs
/// keep to it, so that a path depends on nothing but the URI. While nothing is held nothing is decided, whatever an earlier version
/// recorded.
fn mapper(state: &State, options: &SyncOptions) -> Result<(Mapper, Option<String>), Error> {
    let usage = |what: String| Error::Usage { what };
    let holds_nothing = state.held_after(None, 1)?.is_empty();
    let recorded = state.setting(State::BASE)?.filter(|_| !holds_nothing);
    // An audit without the network names no URL. If nothing is held either, no place is asked for, and any base does (B8).
    let url = Some(options.url.as_str()).filter(|url| !url.is_empty());
    let undecided = if recorded.is_none() { url.map(str::to_owned) } else { None };
    let base = recorded.unwrap_or_else(|| url.unwrap_or("http://source.invalid/").to_owned());
    let base = Uri::parse(&base).map_err(|error| usage(format!("{base:?} is not a URL: {error}")))?;
    let base = MapBase::of(&base).map_err(|error| usage(error.to_string()))?;
    let maps = options.maps.iter().map(|(uri, path)| ExplicitMap::new(uri, path));
    let maps = maps.collect::<Result<_, _>>().map_err(|error| usage(error.to_string()))?;
    Ok((Mapper::new(base, maps), undecided))
}

impl From<CommitError> for Error {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Store(error) => error.into(),
            CommitError::State(error) => error.into(),
        }
    }
}
