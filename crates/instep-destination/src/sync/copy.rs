//! The copy of a run: its folder, its state, and who commits to it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use resourcesync::Uri;

use super::run::now;
use crate::{
    Error, Strategy, SyncOptions,
    commit::{CommitError, CommitOptions, Committer},
    discover::CapabilitySet,
    map::{ExplicitMap, MapBase, Mapper},
    records::PlanRules,
    state::{Actions, Problem, Run as LoggedRun, RunId, SetId, State},
    store::{FolderOptions, FolderStore, Store},
};

/// A copy that this run has.
#[derive(Debug)]
pub(crate) struct Copy {
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

impl Copy {
    /// Whether a folder holds a copy.
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
        let (committer, _) = Committer::open(Arc::clone(&store), state, commits)?;
        let (mapper, base) = mapper(committer.state(), options)?;
        let mapper = Arc::new(mapper);
        let mut committer = committer.with_sink(options.changes.clone()).with_base(base);
        let mut run = None;
        if !options.dry_run {
            if committer.state().setting(Self::URL)?.as_deref() != Some(&options.url) {
                committer.state_mut().set_setting(Self::URL, &options.url)?;
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

    /// Where documents are put aside.
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

    /// The set that was found, by its Capability List or what stands for it.
    pub(crate) fn set(&mut self, found: &CapabilitySet) -> Result<SetId, Error> {
        let alone = || found.capabilities.values().next().map(|offer| &offer.uri);
        let name = found.capability_list.as_ref().or_else(alone).map_or("", Uri::as_str).to_owned();
        Ok(self.state_mut()?.set(&name)?)
    }

    /// Returns `true` if the last plan of a set was made for what is wanted now.
    pub(crate) fn policy_stands(&self, set: SetId, options: &SyncOptions) -> Result<bool, Error> {
        let now = PlanRules::new(&options.selection, options.delete);
        Ok(PlanRules::read(self.state(), set)?.is_none_or(|held| held.stand_for(&now)))
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

/// Returns what gives resources their paths, and the base if it is yet to be recorded. The first commit decides it and later runs
/// keep to it, so that a path depends on nothing but the URI. While nothing is held nothing is decided, whatever an earlier version
/// recorded.
fn mapper(state: &State, options: &SyncOptions) -> Result<(Mapper, Option<String>), Error> {
    let usage = |what: String| Error::Usage { what };
    let holds_nothing = state.held_after(None, 1)?.is_empty();
    let recorded = state.setting(State::BASE)?.filter(|_| !holds_nothing);
    let undecided = recorded.is_none().then(|| options.url.clone());
    let base = recorded.unwrap_or_else(|| options.url.clone());
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
