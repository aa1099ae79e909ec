//! Opens a copy for a worker that helps another run: it commits the results of its slices, and nothing else.

use std::sync::Arc;

use tempfile::TempDir;

use super::{LocalCopy, opening::mapper, storage};
use crate::{
    Error, SyncOptions,
    commit::{CommitOptions, Committer},
    state::{BASE, JoinedPlan, SetId, SliceBoard, StateError, StatePlace},
    store::{FolderOptions, FolderStore},
};

/// A copy that another run has, with a share of its plan.
pub(crate) struct HelpedCopy {
    pub(crate) copy: LocalCopy,
    /// The set of the plan.
    pub(crate) set: SetId,
    pub(crate) board: Box<dyn SliceBoard>,
}

impl LocalCopy {
    /// Takes a share of the plan that another run over the copy has sealed; `None` if there is none available.
    /// Incoming files are staged in a folder within that of the options, which is removed with the share.
    pub(crate) fn take_share(options: &SyncOptions) -> Result<Option<HelpedCopy>, Error> {
        let scratch = std::fs::create_dir_all(&options.dir)
            .and_then(|()| TempDir::with_prefix_in("share-", &options.dir))
            .map_err(|source| StateError::Scratch { path: options.dir.clone(), source })?;
        let place = StatePlace::of(scratch.path(), options.state.as_deref())?;
        let Some(joined) = place.until(&options.shutdown).join()? else { return Ok(None) };
        let JoinedPlan { set, state, board } = joined;
        // The operator may have given the Source another URL meanwhile, whose scope is not that of the plan.
        let is_of_url = state.setting(Self::URL)?.as_deref() == Some(&options.url);
        let Some(base) = state.setting(BASE)?.filter(|_| is_of_url) else { return Ok(None) };
        let store = FolderStore::open_beside(scratch.path(), scratch.path(), FolderOptions::new())?;
        let store = storage::of_copy(Arc::new(store), &*state, options)?;
        let mapper = mapper(&base, options)?;
        let committer = Committer::beside(store.clone(), state, CommitOptions::for_share());
        let reader = committer.state().reader()?;
        let source = reader.source(&options.url)?;
        let copy =
            Self { committer: Some(committer), ..Self::in_scratch(scratch, store, mapper, reader, source) };
        Ok(Some(HelpedCopy { copy, set, board }))
    }
}
