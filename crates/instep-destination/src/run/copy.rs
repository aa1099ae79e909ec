//! The copy of a run: its folder, its state, and its committer.

mod discarding;
mod doubts;
mod hidden;
#[cfg(feature = "postgres")]
pub(crate) mod joining;
mod maps;
mod opening;
mod remembered;
mod set_numbers;
pub(crate) mod storage;
mod unnamed_sets;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;

use crate::{
    CopyLocation, Error, Guard, MaxDelete, Strategy, SyncOptions,
    clock::now,
    commit::Committer,
    discover::{CapabilitySet, Discovered},
    map::Mapper,
    records::{self, PlanRules, RecentDeletions},
    state::{
        Actions, CopyState, LoggedProblem, LoggedRun, ReachedPoint, ReadState, RowSet, RunId, SetId,
        SourceId, StateError, StatePlace,
    },
    store::CopyStore,
    web_archive::WebArchive,
};
use doubts::SetDoubts;
pub(crate) use unnamed_sets::UnnamedSet;

/// The copy that this run has taken.
#[derive(Debug)]
pub(crate) struct LocalCopy {
    /// The folder for plans and for documents while they are read.
    own: PathBuf,
    pub(crate) store: CopyStore,
    pub(crate) mapper: Arc<Mapper>,
    /// The committer. It is `None` while the thread that commits transfers has it, and for a copy that is only read.
    committer: Option<Committer>,
    reader: Box<dyn ReadState>,
    run: Option<RunId>,
    /// The Source that the operator's URL leads to; `None` before a run has found it.
    source: Option<SourceId>,
    plans: u32,
    /// The sets that the copy does not follow yet, if it is only read.
    unfollowed: Vec<String>,
    /// The doubts that a run which changes nothing would record about each set.
    doubts: BTreeMap<SetId, SetDoubts>,
    /// The folder for everything that is written while a copy is only read.
    scratch: Option<TempDir>,
}

const OWN: &str = ".instep";

impl LocalCopy {
    /// Returns `true` if a folder holds a copy.
    pub(crate) fn is_at(dir: &Path) -> bool {
        StatePlace::is_in(&Self::own_folder(dir))
    }

    /// Checks that a folder holds a copy.
    ///
    /// # Errors
    /// [`Error::NoCopy`] if it holds none; [`Error::Storage`] if this user may not see whether it does.
    pub(crate) fn check_is_at(dir: &Path) -> Result<(), Error> {
        hidden::refuse_hidden_state(&Self::own_folder(dir))?;
        let holds_copy = Self::is_at(dir);
        holds_copy.then_some(()).ok_or_else(|| Error::NoCopy { dir: dir.to_owned() })
    }

    /// The setting that keeps the operator's URL.
    pub(crate) const URL: &str = "url";

    /// Returns the place of the state of a copy.
    ///
    /// # Errors
    /// If there is no copy in the folder and no URL leads to its state, or the copy has its state elsewhere.
    pub(crate) fn state_at(copy: &CopyLocation) -> Result<StatePlace, Error> {
        if copy.state.is_none() {
            Self::check_is_at(&copy.dir)?;
        }
        Ok(StatePlace::of(&Self::own_folder(&copy.dir), copy.state.as_deref())?)
    }

    /// Returns the folder of everything in a copy that is not a resource.
    pub(crate) fn own_folder(dir: &Path) -> PathBuf {
        dir.join(OWN)
    }

    /// Returns the state for reading.
    pub(crate) fn state(&self) -> &dyn ReadState {
        &*self.reader
    }

    /// Returns the folder for documents while they are read.
    pub(crate) fn spool(&self) -> &Path {
        &self.own
    }

    /// Returns an empty plan.
    pub(crate) fn new_actions(&mut self) -> Result<Actions, Error> {
        self.plans += 1;
        Ok(Actions::create(&self.own.join(Actions::file_name(self.plans)))?)
    }

    /// Makes the committer archive the bytes of each group before it commits the group.
    pub(crate) fn archive_first(&mut self, archive: Option<Arc<WebArchive>>) {
        if let (Some(archive), Some(committer)) = (archive, self.committer.as_mut()) {
            committer.archive_first(archive);
        }
    }

    /// Lends the committer, until [`Self::take_back`].
    pub(crate) fn lend(&mut self) -> Result<Committer, Error> {
        self.committer.take().ok_or_else(committer_is_lent)
    }

    pub(crate) fn take_back(&mut self, committer: Committer) {
        self.committer = Some(committer);
    }

    /// Records the base of the paths, before other workers need it.
    pub(crate) fn keep_base(&mut self) -> Result<(), Error> {
        Ok(self.committer.as_mut().map_or(Ok(()), Committer::keep_base)?)
    }

    /// Returns the state for writing records that belong to no group.
    pub(crate) fn state_mut(&mut self) -> Result<&mut dyn CopyState, Error> {
        self.committer.as_mut().map(Committer::state_mut).ok_or_else(committer_is_lent)
    }

    /// Refuses a Source if the copy follows other sets but none of its own: it is a different Source (B25).
    pub(crate) fn expect_known(&self, sets: &[CapabilitySet], options: &SyncOptions) -> Result<(), Error> {
        // A Source is also known by its URL: the copy may have another of its sets, the only one that could be read so
        // far.
        let is_known = self.state().sources()?.iter().any(|(_, url)| *url == options.url);
        if options.add_source || is_known {
            return Ok(());
        }
        let mut followed = Vec::new();
        for (set, name) in self.state().sets()? {
            if name != crate::versions::SET && self.follows(set)? {
                followed.push(name);
            }
        }
        let is_followed = |set: &CapabilitySet| followed.iter().any(|name| set.is_known_as(name));
        if followed.is_empty() || sets.iter().any(is_followed) {
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

    /// Returns `true` if the copy follows a set: it has a checkpoint, or resources of it. The first runs over documents that
    /// always lack something leave no checkpoint (O866).
    fn follows(&self, set: SetId) -> Result<bool, Error> {
        if self.state().checkpoint(set)?.is_some() {
            return Ok(true);
        }
        // Without names, the first resource of the set is the first surplus one.
        Ok(!self.state().surplus_after(set, &RowSet::empty(), None, 1)?.is_empty())
    }

    /// Returns the number of a found set, by the URL requested to find it.
    pub(crate) fn set(&mut self, found: &CapabilitySet) -> Result<SetId, Error> {
        let name = found.name();
        if self.scratch.is_some() {
            return self.set_beside(found);
        }
        let state = self.state_mut()?;
        if state.known_set(name)?.is_none() {
            for former in found.former_names() {
                if former != name && state.known_set(former)?.is_some() {
                    state.rename_set(former, name)?;
                    break;
                }
            }
        }
        let set = match state.set(name) {
            Err(full @ StateError::TooManySets { .. }) => self.take_over_number(name)?.ok_or(full)?,
            set => set?,
        };
        if let Some(source) = self.source {
            self.state_mut()?.set_belongs_to(set, source)?;
        }
        Ok(set)
    }

    /// Returns `true` if the last plan of a set was made for the present options.
    pub(crate) fn policy_stands(&self, set: SetId, options: &SyncOptions) -> Result<bool, Error> {
        let now = PlanRules::new(&options.selection, options.delete).at_time(options.as_of);
        Ok(PlanRules::read(self.state(), set)?.is_none_or(|held| held.stand_for(&now)))
    }

    /// Returns `true` if the last plan of a set was made for the present selection.
    pub(crate) fn selection_stands(&self, set: SetId, options: &SyncOptions) -> Result<bool, Error> {
        let now = PlanRules::new(&options.selection, options.delete);
        Ok(PlanRules::read(self.state(), set)?.is_none_or(|held| held.selects_as(&now)))
    }

    /// Returns the number of resources that runs with the same limit removed within the last day.
    pub(crate) fn recent_deletions(&self, limit: MaxDelete) -> Result<u64, Error> {
        Ok(RecentDeletions::read(self.state())?.count(now(), limit))
    }

    /// Records the number of resources that a run removed.
    pub(crate) fn add_deletions(&mut self, limit: MaxDelete, count: u64) -> Result<(), Error> {
        if count == 0 || self.run.is_none() {
            return Ok(());
        }
        let mut recent = RecentDeletions::read(self.state())?;
        recent.add(now(), limit, count);
        Ok(recent.write(self.state_mut()?)?)
    }

    /// Returns the number of owed resources of the Source, without those of other Sources in the copy. Versions have
    /// their own set.
    pub(crate) fn owed(&self) -> Result<u64, Error> {
        Ok(match self.source {
            Some(source) => self.reader.owed_of(source)?,
            None => self.reader.owed_count()?,
        })
    }

    /// Returns the copy with the Source that a URL leads to.
    pub(crate) fn led_to_from(mut self, url: &str) -> Result<Self, Error> {
        self.source = self.reader.source(url)?;
        Ok(self)
    }

    /// Records the Source that was found, and the way on which the operator's URL led to it. A run that changes nothing
    /// records nothing.
    pub(crate) fn found(&mut self, source: &Discovered, url: &str) -> Result<(), Error> {
        let Some(run) = self.run else { return Ok(()) };
        let mut sets = Vec::new();
        for set in &source.sets {
            for name in [set.name(), set.former_name()] {
                sets.extend(self.state().known_set(name)?.filter(|set| !sets.contains(set)));
            }
        }
        // The Source that was recorded when the run began.
        let before = self.source;
        let state = self.state_mut()?;
        let found = state.found_source(url, &sets)?;
        if before != Some(found) {
            state.run_is_of(run, found)?;
        }
        self.source = Some(found);
        if self.former_documents()?.way != Some(source.way) {
            records::way::write(self.state_mut()?, found, source.way)?;
        }
        Ok(())
    }

    /// Records the end of the run, and makes this and all its commits durable.
    pub(crate) fn finish(
        &mut self,
        strategy: Strategy,
        exit_code: u8,
        summary: String,
        problems: &[LoggedProblem],
    ) -> Result<(), Error> {
        let Some(id) = self.run else { return Ok(()) };
        let mut run = LoggedRun::new(id, now(), strategy.as_str());
        run.finished = Some(now());
        run.exit_code = Some(exit_code);
        run.summary = Some(summary);
        let sets: Vec<_> = self.reader.sets()?.into_iter().map(|(set, _)| set).collect();
        let reached = self.reader.reached(&sets)?;
        let state = self.state_mut()?;
        if let Some(reached) = reached {
            state.note_reached(ReachedPoint::new(now(), reached))?;
        }
        state.finish_run(&run, problems)?;
        if let Some(committer) = &mut self.committer {
            committer.finish()?;
        }
        Ok(())
    }
}

fn committer_is_lent() -> Error {
    Error::Invariant { what: "the committer is needed while a transfer has it".to_owned() }
}
