//! Helpers for the storage tests: a copy, and resources whose bytes state their version.

use std::{path::Path, sync::Arc};

use crate::{
    commit::{Commit, CommitOptions, Committer, Flushed, NewFile, Recovered, StepHook},
    map::{MapBase, Mapper},
    state::{HeldResource, ResourceMetadata, SetId, StatePlace},
    store::{FolderOptions, FolderStore, MemoryStore, Store, digest_file},
};
use resourcesync::{Algorithm, Uri};
use tempfile::TempDir;

pub(super) const SHA256: [Algorithm; 1] = [Algorithm::Sha256];

/// A copy that is open for commits.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) committer: Committer,
    pub(super) recovered: Recovered,
    pub(super) set: SetId,
    pub(super) store: Arc<dyn Store>,
}

pub(super) fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

pub(super) fn mapper() -> Mapper {
    Mapper::new(MapBase::of(&uri("http://h/")).unwrap(), Vec::new())
}

/// Opens a folder store in a folder, with its state.
pub(super) fn open_folder(path: &Path) -> Copy {
    let store = FolderStore::open(path, FolderOptions::new()).unwrap();
    let state = store.own_folder().join("state.sqlite");
    open(Arc::new(store), &state, None)
}

pub(super) fn open(store: Arc<dyn Store>, state: &Path, hook: Option<StepHook>) -> Copy {
    let mut state = StatePlace::open_file(state).unwrap();
    let set = state.set("http://h/capabilitylist.xml").unwrap();
    let (mut committer, recovered) =
        Committer::open(Arc::clone(&store), state, CommitOptions::new()).unwrap();
    if let Some(hook) = hook {
        committer = committer.with_hook(hook);
    }
    Copy { committer, recovered, set, store }
}

/// Returns both stores, each with a folder for its state.
pub(super) fn both_stores() -> Vec<(Arc<dyn Store>, TempDir)> {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::open(&folder.path().join("copy"), FolderOptions::new()).unwrap();
    vec![(Arc::new(MemoryStore::new()), TempDir::new().unwrap()), (Arc::new(store), folder)]
}

impl Copy {
    pub(super) fn new_file(&self, text: &str, bytes: &[u8]) -> Commit {
        let uri = uri(text);
        let mut file = self.store.stage(&SHA256).unwrap();
        file.write(bytes).unwrap();
        let staged = file.finish(None).unwrap();
        let path = mapper().map(&uri).unwrap();
        Commit::File(NewFile::new(uri, path, staged, ResourceMetadata::new(), self.set))
    }

    pub(super) fn add(&mut self, text: &str, bytes: &[u8]) {
        let commit = self.new_file(text, bytes);
        self.committer.add(commit).unwrap();
    }

    pub(super) fn delete(&mut self, text: &str) {
        self.committer.add(Commit::Deletion { uri: uri(text), set: self.set, datetime: None }).unwrap();
    }

    pub(super) fn flush(&mut self) -> Flushed {
        self.committer.flush().unwrap()
    }

    pub(super) fn held(&self) -> Vec<HeldResource> {
        self.committer.state().held_after(None, usize::MAX >> 1).unwrap()
    }

    /// Returns the URI, the path and the bytes of each held resource, and checks that the state describes these bytes.
    pub(super) fn contents(&self) -> Vec<(String, String, Vec<u8>)> {
        self.assert_state_claims_what_the_disk_holds();
        let read = |held: &HeldResource| {
            let mut bytes = Vec::new();
            self.store.read(&held.path).unwrap().read_to_end(&mut bytes).unwrap();
            (held.uri.to_string(), held.path.to_string(), bytes)
        };
        self.held().iter().map(read).collect()
    }

    pub(super) fn assert_state_claims_what_the_disk_holds(&self) {
        for held in self.held() {
            let found = digest_file(&*self.store, &held.path, &SHA256).unwrap();
            let (length, digests) = found.unwrap_or_else(|| panic!("{} is not at {}", held.uri, held.path));
            assert_eq!(Some(length), held.metadata.length, "{}", held.path);
            assert_eq!(digests, held.metadata.digests, "{}", held.path);
        }
    }
}
