//! Opens a copy, either to work in it or to read it without leaving a trace.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use resourcesync::Uri;
use tempfile::TempDir;

use super::{LocalCopy, OWN, hidden::refuse_hidden_state, storage};
use crate::{
    Error, Guard, SyncOptions,
    clock::now,
    commit::{CommitOptions, Committer, check_is_there},
    map::{ExplicitMap, MapBase, Mapper},
    state::{Actions, BASE, ReadState, SourceId, StateError, StatePlace},
    store::{CopyStore, FolderOptions, FolderStore},
};

impl LocalCopy {
    /// Takes the copy for a run.
    pub(crate) fn take(options: &SyncOptions) -> Result<Self, Error> {
        if options.dry_run {
            return Self::look_at(options);
        }
        let mut copy = Self::open(options)?;
        copy.begin_run(options)?;
        Ok(copy)
    }

    /// Opens the copy for an audit, which changes nothing unless a killed run left a group unfinished: files that it
    /// had placed would look damaged.
    pub(crate) fn take_to_audit(options: &SyncOptions) -> Result<Self, Error> {
        let copy = Self::look_at(options)?;
        if copy.reader.intents()?.is_empty() {
            Ok(copy)
        } else {
            drop(copy);
            Self::open(options)
        }
    }

    /// Opens the copy for a run that changes nothing: it writes only to a temporary folder (P5). An unfinished
    /// group of a killed run stays as it is.
    pub(crate) fn look_at(options: &SyncOptions) -> Result<Self, Error> {
        refuse_unknown_files(options)?;
        let made = TempDir::with_prefix("instep-");
        let scratch = made.map_err(|source| StateError::Scratch { path: std::env::temp_dir(), source })?;
        let store = FolderStore::open_beside(&options.dir, scratch.path(), FolderOptions::new())?;
        let reader = if Self::is_at(&options.dir) {
            Self::place(options)?.open_at_rest()?
        } else {
            StatePlace::of(scratch.path(), None)?.open(scratch.path())?
        };
        let store = storage::of_copy(Arc::new(store), &*reader, options)?;
        if !options.repair {
            check_is_there(&store, &*reader)?;
        }
        let (mapper, _) = mapper_of(&*reader, options)?;
        let source = reader.source(&options.url)?;
        Ok(Self::in_scratch(scratch, store, mapper, reader, source))
    }

    /// Returns a copy whose plans and documents are written to a temporary folder, and which commits nothing.
    pub(super) fn in_scratch(
        scratch: TempDir,
        store: CopyStore,
        mapper: Mapper,
        reader: Box<dyn ReadState>,
        source: Option<SourceId>,
    ) -> Self {
        Self {
            own: scratch.path().to_owned(),
            store,
            mapper: Arc::new(mapper),
            committer: None,
            reader,
            run: None,
            source,
            plans: 0,
            unfollowed: Vec::new(),
            doubts: BTreeMap::new(),
            scratch: Some(scratch),
        }
    }

    /// Locks the folder, resolves the remains of an earlier run, and determines the paths of resources.
    pub(crate) fn open(options: &SyncOptions) -> Result<Self, Error> {
        refuse_unknown_files(options)?;
        let place = Self::place(options)?;
        // It gave up to wait for the server or for a former writer, which says nothing about either.
        let or_interrupted = |error: StateError| {
            if options.shutdown.is_requested() { Error::Interrupted } else { error.into() }
        };
        if !Self::is_at(&options.dir) {
            place.probe().map_err(or_interrupted)?;
        }
        let mut folder = FolderOptions::new();
        folder.durability = options.durability;
        folder.backups.clone_from(&options.backup_dir);
        let folder = FolderStore::open(&options.dir, folder)?;
        let own = folder.own_folder();
        Actions::remove_leftovers(&own)?;
        let opened = place.open(&own).map_err(|error| {
            if error.is_absence() { lost_state(&error, &own) } else { or_interrupted(error) }
        });
        let mut state = opened?;
        let store = storage::of_copy_that_is_written(Arc::new(folder), &mut *state, options)?;
        if options.changes.is_some() {
            state.record_changes();
        }
        let mut commits = match store.packs() {
            Some(_) if options.shares_plan => CommitOptions::for_worker(),
            Some(_) => CommitOptions::for_packs(),
            None => CommitOptions::new(),
        };
        commits.durability = options.durability;
        commits.accepts_emptied = options.repair;
        commits.replaces_unknown = options.adopt && !options.into_existing;
        let (committer, _) = Committer::open(store.clone(), state, commits)?;
        let (mapper, base) = mapper_of(committer.state(), options)?;
        let mapper = Arc::new(mapper);
        let committer = committer.with_sink(options.changes.clone()).with_base(base);
        let reader = committer.state().reader()?;
        let source = reader.source(&options.url)?;
        let (committer, run, plans, unfollowed) = (Some(committer), None, 0, Vec::new());
        let (doubts, scratch) = (BTreeMap::new(), None);
        Ok(Self { own, store, mapper, committer, reader, run, source, plans, unfollowed, doubts, scratch })
    }

    /// Returns the place of the state that a run uses.
    fn place(options: &SyncOptions) -> Result<StatePlace, StateError> {
        let place = StatePlace::of(&Self::own_folder(&options.dir), options.state.as_deref())?;
        let place = place.until(&options.shutdown);
        // Only the folder knows of it. Begun anew, a copy in object storage would go on in the folder.
        let is_found = options.state.is_none() && !options.adopt && !options.into_existing;
        let place = if is_found { place.that_exists() } else { place };
        Ok(if options.former_writer_ended { place.after_former_writer() } else { place })
    }

    /// Records the beginning of a run.
    fn begin_run(&mut self, options: &SyncOptions) -> Result<(), Error> {
        let source = self.source;
        let state = self.state_mut()?;
        if state.setting(Self::URL)?.as_deref() != Some(&options.url) {
            state.set_setting(Self::URL, &options.url)?;
        }
        self.run = Some(state.begin_run(now(), "sync", source)?);
        Ok(())
    }
}

/// Returns the error for a state that its database does not have any more.
fn lost_state(error: &StateError, own: &Path) -> Error {
    let note = own.join(StatePlace::NOTE);
    let what = format!("{error}: restore the database; to begin a new copy, move {} away", note.display());
    Error::Usage { what }
}

/// Refuses a first run into a folder with files, unless the options say what to do with them (B25).
fn refuse_unknown_files(options: &SyncOptions) -> Result<(), Error> {
    refuse_hidden_state(&LocalCopy::own_folder(&options.dir))?;
    if options.adopt || options.into_existing || LocalCopy::is_at(&options.dir) {
        return Ok(());
    }
    let Ok(entries) = fs::read_dir(&options.dir) else { return Ok(()) };
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let Some(found) = names.find(|name| name != OWN && name != "lost+found") else { return Ok(()) };
    let what = format!(
        "{} is not a copy and has files, {} among them",
        options.dir.display(),
        found.to_string_lossy()
    );
    Err(Error::Refused { guard: Guard::UnknownFiles, what })
}

/// Returns the mapper of paths, and the base if it is not recorded yet. The first commit records the base and later
/// runs keep it, so that a path depends only on the URI. While no resource is held the base may change, even if an
/// earlier version recorded one.
fn mapper_of(state: &dyn ReadState, options: &SyncOptions) -> Result<(Mapper, Option<String>), Error> {
    let holds_nothing = state.held_after(None, 1)?.is_empty();
    let recorded = state.setting(BASE)?.filter(|_| !holds_nothing);
    // An audit without the network has no URL. If no resource is held either, no path is needed, so any base is right
    // (B8).
    let url = Some(options.url.as_str()).filter(|url| !url.is_empty());
    let undecided = if recorded.is_none() { url.map(str::to_owned) } else { None };
    let base = recorded.unwrap_or_else(|| url.unwrap_or("http://source.invalid/").to_owned());
    Ok((mapper(&base, options)?, undecided))
}

/// Returns the mapper of paths for a base.
pub(super) fn mapper(base: &str, options: &SyncOptions) -> Result<Mapper, Error> {
    let usage = |what: String| Error::Usage { what };
    let base = Uri::parse(base).map_err(|error| usage(format!("{base:?} is not a URL: {error}")))?;
    let base = MapBase::of(&base).map_err(|error| usage(error.to_string()))?;
    let maps = options.maps.iter().map(|(uri, path)| ExplicitMap::new(uri, path));
    let maps = maps.collect::<Result<_, _>>().map_err(|error| usage(error.to_string()))?;
    Ok(Mapper::new(base, maps))
}
