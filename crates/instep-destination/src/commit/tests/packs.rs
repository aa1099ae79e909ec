//! Copies in object storage: after a failure at any step nothing is held without its bytes, and nothing is in the bucket
//! that no resource has.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::TryStreamExt as _;
use instep_objects::{Bucket, ObjectPlace};
use object_store::{ObjectStore, ObjectStoreExt as _, memory::InMemory};
use resourcesync::{DateTime, Hasher};
use tempfile::TempDir;

use super::bench::{SHA256, mapper, uri};
use crate::{
    ObjectLayout,
    clock::now,
    commit::{Commit, CommitOptions, Committer, NewFile, StepHook},
    state::{HeldAt, ResourceMetadata, SetId, StatePlace},
    store::{
        BucketNames, CopyStore, FolderOptions, FolderStore, MOST_PACKED, PackStore, StagingArea, StoreError,
    },
};

const LAYOUTS: [ObjectLayout; 2] = [ObjectLayout::Packs, ObjectLayout::Names];

const OLD: [(&str, &[u8]); 4] =
    [("http://h/a", b"a1"), ("http://h/b", b"b1"), ("http://h/d/c", b"c1"), ("http://h/same", b"same")];
const NEW: [(&str, &[u8]); 4] =
    [("http://h/a", b"a2 is longer"), ("http://h/b/x", b"x"), ("http://h/e/f", b"f"), ("http://h/b", b"b2")];

/// A bucket in memory, and the folder of a copy that has its bytes there.
pub(super) struct Storage {
    pub(super) objects: Arc<InMemory>,
    folder: TempDir,
    layout: ObjectLayout,
}

/// A copy in a bucket that is open for commits.
pub(super) struct ObjectCopy {
    pub(super) committer: Committer,
    store: CopyStore,
    set: SetId,
}

impl Storage {
    pub(super) fn new(layout: ObjectLayout) -> Self {
        Self { objects: Arc::new(InMemory::new()), folder: TempDir::new().unwrap(), layout }
    }

    fn open(&self, hook: Option<StepHook>) -> ObjectCopy {
        self.open_in(Arc::clone(&self.objects) as Arc<dyn ObjectStore>, hook)
    }

    /// Opens the copy, with its bucket behind another store.
    pub(super) fn open_in(&self, objects: Arc<dyn ObjectStore>, hook: Option<StepHook>) -> ObjectCopy {
        let folder = FolderStore::open(self.folder.path(), FolderOptions::new()).unwrap();
        let state = folder.own_folder().join("state.sqlite");
        let place = ObjectPlace::parse("s3://library/one").unwrap();
        let place = place.in_store(objects);
        let (bucket, staging) = (Arc::new(Bucket::open(&place).unwrap()), Arc::new(folder));
        let staging = staging as Arc<dyn StagingArea>;
        let store = match self.layout {
            ObjectLayout::Names => {
                let names = Arc::new(BucketNames::new(Arc::clone(&staging), bucket));
                CopyStore::Names { staging, names }
            }
            ObjectLayout::Packs => {
                CopyStore::Packs(Arc::new(PackStore::new(staging, bucket, "copy".to_owned())))
            }
        };
        let mut state = StatePlace::open_file(Path::new(&state)).unwrap();
        let set = state.set("http://h/capabilitylist.xml").unwrap();
        let (mut committer, _) = Committer::open(store.clone(), state, CommitOptions::new()).unwrap();
        if let Some(hook) = hook {
            committer = committer.with_hook(hook);
        }
        ObjectCopy { committer, store, set }
    }

    /// Puts an object, as another process does.
    fn plant(&self, key: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let path = object_store::path::Path::from(format!("one/{key}"));
        runtime.block_on(self.objects.put(&path, "planted".into())).unwrap();
    }

    /// Returns the keys in the bucket, without the prefix of the copy.
    pub(super) fn keys(&self) -> BTreeSet<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let found: Vec<_> = runtime.block_on(self.objects.list(None).try_collect()).unwrap();
        let name = |path: String| path.strip_prefix("one/").unwrap().to_owned();
        found.into_iter().map(|found| name(found.location.to_string())).collect()
    }
}

impl ObjectCopy {
    pub(super) fn add(&mut self, text: &str, bytes: &[u8]) {
        let uri = uri(text);
        let mut file = self.store.staging().stage(&SHA256).unwrap();
        file.write(bytes).unwrap();
        let staged = file.finish(None).unwrap();
        let path = mapper().map(&uri).unwrap();
        let file = NewFile::new(uri, path, staged, ResourceMetadata::new(), self.set);
        self.committer.add(Commit::File(file)).unwrap();
    }

    fn delete(&mut self, text: &str) {
        self.committer.add(Commit::Deletion { uri: uri(text), set: self.set, datetime: None }).unwrap();
    }

    /// Returns each held resource with its bytes, and checks that the state describes these bytes.
    pub(super) fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let read = |held: crate::HeldResource| {
            let (mut bytes, mut hasher) = (Vec::new(), Hasher::new(&SHA256));
            self.store.read(&held.path, &held.place).unwrap().read_to_end(&mut bytes).unwrap();
            hasher.update(&bytes);
            assert_eq!(hasher.finish(), held.metadata.digests, "{}", held.uri);
            (held.uri.to_string(), bytes)
        };
        self.committer.state().held_after(None, 1_000).unwrap().into_iter().map(read).collect()
    }

    /// Returns the keys to which rows of the state lead.
    fn keys(&self) -> BTreeSet<String> {
        let key = |held: crate::HeldResource| match held.place {
            HeldAt::Object { key, .. } => key.into(),
            HeldAt::Path => held.path.to_string(),
        };
        self.committer.state().held_after(None, 1_000).unwrap().into_iter().map(key).collect()
    }
}

fn owned(all: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = all.iter().map(|(uri, bytes)| ((*uri).to_owned(), bytes.to_vec())).collect();
    all.sort();
    all
}

fn make_old(copy: &mut ObjectCopy) {
    OLD.iter().for_each(|(uri, bytes)| copy.add(uri, bytes));
    copy.committer.flush().unwrap();
}

fn add_new(copy: &mut ObjectCopy) {
    NEW.iter().for_each(|(uri, bytes)| copy.add(uri, bytes));
    copy.delete("http://h/d/c");
}

#[test]
fn a_group_that_fails_at_any_step_leaves_what_is_held_readable_and_nothing_else_in_the_bucket() {
    for layout in LAYOUTS {
        for place in 0.. {
            let storage = Storage::new(layout);
            make_old(&mut storage.open(None));
            let taken = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&taken);
            let hook: StepHook = Arc::new(move |step| {
                if counter.fetch_add(1, Ordering::SeqCst) == place {
                    Err(StoreError::io("reach", format!("{step:?}"), std::io::ErrorKind::StorageFull))
                } else {
                    Ok(())
                }
            });
            let mut copy = storage.open(Some(hook));
            add_new(&mut copy);
            let failed = copy.committer.flush().is_err();
            drop(copy);

            let mut copy = storage.open(None);
            for (uri, bytes) in copy.contents() {
                let is_known = OLD.iter().chain(&NEW).any(|(known, of)| **known == *uri && **of == *bytes);
                assert!(is_known, "{uri} after a failure at step {place}");
            }
            assert_eq!(storage.keys(), copy.keys(), "after a failure at step {place}");
            add_new(&mut copy);
            copy.committer.finish().unwrap();
            let mut expected = NEW.to_vec();
            expected.push(OLD[3]);
            assert_eq!(copy.contents(), owned(&expected));
            assert_eq!(storage.keys(), copy.keys());
            if !failed {
                assert!(place > 3, "{place} steps");
                break;
            }
        }
    }
}

#[test]
fn the_small_resources_of_a_group_are_one_object_and_a_large_one_has_its_own() {
    let storage = Storage::new(ObjectLayout::Packs);
    let mut copy = storage.open(None);
    make_old(&mut copy);
    let large: Vec<u8> = (0..=MOST_PACKED).map(|n| (n >> 3) as u8).collect();
    copy.add("http://h/large", &large);
    copy.add("http://h/empty", b"");
    copy.committer.flush().unwrap();
    let mut all = OLD.to_vec();
    all.extend([("http://h/large", &large[..]), ("http://h/empty", b"")]);
    assert_eq!(copy.contents(), owned(&all));
    let keys = storage.keys();
    assert_eq!(keys.iter().filter(|key| key.starts_with("packs/copy/")).count(), 2, "{keys:?}");
    assert_eq!(keys.iter().filter(|key| key.starts_with("objects/copy/")).count(), 1, "{keys:?}");
}

#[test]
fn what_is_alive_in_a_pack_that_is_mostly_dead_is_packed_anew() {
    let storage = Storage::new(ObjectLayout::Packs);
    let mut copy = storage.open(None);
    let uri = |number: usize| format!("http://h/{number}");
    (0..10).for_each(|number| copy.add(&uri(number), format!("first {number}").as_bytes()));
    copy.committer.flush().unwrap();
    let first = storage.keys();
    (0..4).for_each(|number| copy.add(&uri(number), b"second"));
    copy.committer.finish().unwrap();
    assert!(storage.keys().is_superset(&first), "less than half is dead");
    assert!(copy.committer.state().pack_totals().unwrap().dead > 0);
    (4..7).for_each(|number| copy.add(&uri(number), b"third"));
    copy.committer.finish().unwrap();
    assert!(storage.keys().is_disjoint(&first));
    assert_eq!(storage.keys(), copy.keys());
    assert_eq!(copy.committer.state().pack_totals().unwrap().dead, 0);
    let expected = |number| match number {
        0..4 => b"second".to_vec(),
        4..7 => b"third".to_vec(),
        _ => format!("first {number}").into_bytes(),
    };
    let expected: Vec<_> = (0..10).map(|number| (uri(number), expected(number))).collect();
    assert_eq!(copy.contents(), expected);
}

#[test]
fn a_resource_makes_room_for_those_below_its_uri_whichever_came_first() {
    for layout in LAYOUTS {
        for order in [["http://h/b", "http://h/b/x"], ["http://h/b/x", "http://h/b"]] {
            let storage = Storage::new(layout);
            let mut copy = storage.open(None);
            for uri in order {
                copy.add(uri, uri.as_bytes());
                copy.committer.finish().unwrap();
            }
            let paths = copy.committer.state().held_after(None, 10).unwrap();
            let paths: Vec<_> = paths.iter().map(|held| held.path.as_str()).collect();
            assert_eq!(paths, ["b/%40body", "b/x"], "{order:?}");
            assert_eq!(copy.contents().len(), 2);
            assert_eq!(storage.keys(), copy.keys());
        }
    }
}

#[test]
fn an_object_that_no_row_leads_to_goes_after_a_day_and_none_that_a_row_names() {
    const DAY: i64 = 24 * 3_600 * 1_000_000;
    let start = now().unix_micros();
    let storage = Storage::new(ObjectLayout::Packs);
    let mut copy = storage.open(None);
    make_old(&mut copy);
    // The objects of a process that lost the right to write have no key in the state; those of a process that is at
    // work have one.
    let orphans = ["packs/copy/0-000001.warc.gz", "objects/copy/0-000002"];
    let begun = "packs/copy/1-000001.warc.gz";
    copy.committer.state_mut().begin_packs(&[begun]).unwrap();
    let others = [begun, "packs/copyist/0-000001.warc.gz", "packs/another/0-000001.warc.gz"];
    orphans.iter().chain(&others).for_each(|key| storage.plant(key));
    let all = storage.keys();
    let packs = Arc::clone(copy.store.packs().unwrap());
    let sweep = |copy: &mut ObjectCopy, after: i64| {
        let time = DateTime::from_unix_micros(start + after);
        copy.committer.sweep_orphans(&packs, time).unwrap()
    };
    assert_eq!(sweep(&mut copy, 0), 0);
    // Within a day nothing is listed again, and an object that is younger than a day may still have a writer.
    assert_eq!(sweep(&mut copy, DAY - 1), 0);
    assert_eq!(sweep(&mut copy, DAY), 0);
    assert_eq!(storage.keys(), all);
    assert_eq!(sweep(&mut copy, 2 * DAY), 2);
    let left: BTreeSet<String> = all.into_iter().filter(|key| !orphans.contains(&key.as_str())).collect();
    assert_eq!(storage.keys(), left);
    assert_eq!(copy.contents(), owned(&OLD));
    assert_eq!(sweep(&mut copy, 3 * DAY), 0);
}
