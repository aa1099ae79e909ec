//! The kinds of storage, and a copy in one of them.

use std::{path::PathBuf, sync::Arc};

use instep_objects::{Bucket, ObjectPlace};
use object_store::{ObjectStore, memory::InMemory};
use resourcesync::MediaType;
use tempfile::TempDir;

use super::super::bench::{SHA256, mapper, uri};
use crate::{
    ObjectLayout,
    commit::{Commit, CommitOptions, Committer, NewFile},
    state::{HeldResource, ResourceMetadata, SetId, StatePlace},
    store::{
        BucketNames, CopyStore, FolderOptions, FolderStore, MemoryStore, PackSpans, PackStore, StagingArea,
        Store,
    },
};

/// A kind of storage.
pub(crate) enum Implementation {
    Folder,
    Memory(Arc<MemoryStore>),
    Bucket(ObjectLayout, ObjectPlace),
}

/// A place for a copy that is opened as often as a test likes.
pub(crate) struct TestStorage {
    pub(crate) folder: TempDir,
    pub(crate) implementation: Implementation,
}

impl TestStorage {
    pub(crate) fn of(implementation: Implementation) -> Self {
        Self { folder: TempDir::new().unwrap(), implementation }
    }

    pub(crate) fn in_memory(layout: ObjectLayout) -> Self {
        let place = ObjectPlace::parse("s3://library/one").unwrap();
        let place = place.in_store(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>);
        Self::of(Implementation::Bucket(layout, place))
    }

    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.implementation, Implementation::Bucket(ObjectLayout::Packs, _))
    }

    pub(crate) fn copy_folder(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    pub(crate) fn store(&self) -> CopyStore {
        let folder = || FolderStore::open(&self.copy_folder(), FolderOptions::new()).unwrap();
        match &self.implementation {
            Implementation::Folder => (Arc::new(folder()) as Arc<dyn Store>).into(),
            Implementation::Memory(memory) => (Arc::clone(memory) as Arc<dyn Store>).into(),
            Implementation::Bucket(layout, place) => {
                let bucket = Arc::new(Bucket::open(place).unwrap());
                let staging = Arc::new(folder()) as Arc<dyn StagingArea>;
                match layout {
                    ObjectLayout::Names => {
                        let names = Arc::new(BucketNames::new(Arc::clone(&staging), bucket));
                        CopyStore::Names { staging, names }
                    }
                    ObjectLayout::Packs => {
                        CopyStore::Packs(Arc::new(PackStore::new(staging, bucket, "copy".to_owned())))
                    }
                }
            }
        }
    }

    pub(crate) fn open(&self) -> OpenCopy {
        let store = self.store();
        let mut state = StatePlace::open_file(&self.folder.path().join("state.sqlite")).unwrap();
        let set = state.set("http://h/capabilitylist.xml").unwrap();
        let (committer, _) = Committer::open(store.clone(), state, CommitOptions::new()).unwrap();
        OpenCopy { committer, store, set }
    }
}

/// A copy that is open.
pub(crate) struct OpenCopy {
    pub(crate) committer: Committer,
    pub(crate) store: CopyStore,
    pub(crate) set: SetId,
}

impl OpenCopy {
    pub(crate) fn add(&mut self, text: &str, bytes: &[u8]) {
        let uri = uri(text);
        let mut file = self.store.staging().stage(&SHA256).unwrap();
        bytes.chunks(1 << 20).for_each(|chunk| file.write(chunk).unwrap());
        let staged = file.finish(None).unwrap();
        let path = mapper().map(&uri).unwrap();
        let mut metadata = ResourceMetadata::new();
        metadata.media_type = Some(MediaType::new("text/plain"));
        self.committer.add(Commit::File(NewFile::new(uri, path, staged, metadata, self.set))).unwrap();
    }

    pub(crate) fn delete(&mut self, text: &str) {
        self.committer.add(Commit::Deletion { uri: uri(text), set: self.set, datetime: None }).unwrap();
    }

    pub(crate) fn held(&self) -> Vec<HeldResource> {
        self.committer.state().held_after(None, 10_000).unwrap()
    }

    pub(crate) fn read(&self, held: &HeldResource) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.store.read(&held.path, &held.place).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// Returns each held resource with its bytes. They are read one by one and all together, which must give the same.
    pub(crate) fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let all = self.held();
        let (mut spans, order) = PackSpans::of(all.iter().map(|held| &held.place));
        let mut together: Vec<Option<Vec<u8>>> = vec![None; all.len()];
        for index in order {
            let mut bytes = Vec::new();
            let held = &all[index];
            let read = self.store.read_within(&mut spans, &held.path, &held.place);
            read.unwrap().read_to_end(&mut bytes).unwrap();
            together[index] = Some(bytes);
        }
        let contents: Vec<_> = all.iter().map(|held| (held.uri.to_string(), self.read(held))).collect();
        assert!(contents.iter().map(|(_, bytes)| Some(bytes)).eq(together.iter().map(Option::as_ref)));
        contents
    }
}
