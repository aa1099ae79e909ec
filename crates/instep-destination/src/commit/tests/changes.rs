//! A sink of changes receives each one, whatever happens to the run or to the sink.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use crate::{
    ChangeSink, CopyChange,
    commit::{CommitOptions, Committer, StepHook},
    state::StatePlace,
    store::{MemoryStore, Store, StoreError},
};
use resourcesync::{Change, Digests};

use super::bench::Copy;

/// A sink that keeps the changes that it receives, and fails when a test wants it to.
#[derive(Debug, Default)]
struct Listener {
    received: Mutex<Vec<CopyChange>>,
    fails: AtomicBool,
}

impl ChangeSink for Listener {
    fn take(&self, changes: &[CopyChange]) -> io::Result<()> {
        self.received.lock().unwrap().extend_from_slice(changes);
        if self.fails.load(Ordering::SeqCst) { Err(io::Error::other("not now")) } else { Ok(()) }
    }
}

impl Listener {
    /// Returns the contents of a copy that applied all reported changes.
    fn index(&self) -> BTreeMap<String, Digests> {
        let mut index = BTreeMap::new();
        let received = self.received.lock().unwrap();
        for pair in received.windows(2) {
            assert!(pair[0].sequence < pair[1].sequence || received.contains(&pair[1]), "{pair:?}");
        }
        for change in received.iter() {
            if change.change == Change::Deleted {
                index.remove(&change.uri);
            } else {
                index.insert(change.uri.clone(), change.digests.clone());
            }
        }
        index
    }
}

fn open(store: &MemoryStore, state: &Path, hook: Option<StepHook>, listener: &Arc<Listener>) -> Copy {
    let mut state = StatePlace::open_file(state).unwrap();
    state.record_changes();
    let set = state.set("http://h/capabilitylist.xml").unwrap();
    let store: Arc<dyn Store> = Arc::new(store.clone());
    let (committer, recovered) = Committer::open(Arc::clone(&store), state, CommitOptions::new()).unwrap();
    let mut committer = committer.with_sink(Some(Arc::clone(listener) as Arc<dyn ChangeSink>));
    if let Some(hook) = hook {
        committer = committer.with_hook(hook);
    }
    Copy { committer, recovered, set, store }
}

fn failing_at(place: usize) -> StepHook {
    let taken = AtomicUsize::new(0);
    Arc::new(move |step| {
        if taken.fetch_add(1, Ordering::SeqCst) != place {
            return Ok(());
        }
        let source = io::Error::from(io::ErrorKind::StorageFull);
        Err(StoreError::Io { doing: "reach", path: format!("{step:?}"), source })
    })
}

fn held(copy: &Copy) -> BTreeMap<String, Digests> {
    copy.held().into_iter().map(|held| (held.uri.to_string(), held.metadata.digests)).collect()
}

#[test]
fn a_run_that_is_cut_off_at_any_step_loses_no_change() {
    for place in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state.sqlite");
        let store = MemoryStore::new();
        let listener = Arc::new(Listener::default());
        let mut copy = open(&store, &state, None, &listener);
        [("http://h/a", b"a1"), ("http://h/b", b"b1")].iter().for_each(|(uri, bytes)| copy.add(uri, *bytes));
        copy.flush();
        drop(copy);
        let mut copy = open(&store, &state, Some(failing_at(place)), &listener);
        copy.add("http://h/a", b"a2");
        copy.add("http://h/b/below", b"makes room");
        copy.add("http://h/c", b"c1");
        copy.delete("http://h/b");
        let done = copy.committer.flush().is_ok();
        drop(copy);
        let mut copy = open(&store, &state, None, &listener);
        copy.committer.finish().unwrap();
        assert_eq!(listener.index(), held(&copy), "cut off at step {place}");
        if done {
            return;
        }
    }
}

#[test]
fn what_a_listener_did_not_take_comes_again_in_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.sqlite");
    let store = MemoryStore::new();
    let listener = Arc::new(Listener::default());
    listener.fails.store(true, Ordering::SeqCst);
    let mut copy = open(&store, &state, None, &listener);
    copy.add("http://h/a", b"a");
    assert!(copy.flush().undelivered.is_some());
    copy.add("http://h/b", b"b");
    assert!(copy.flush().undelivered.is_none(), "it is left alone for the rest of the run");
    drop(copy);
    assert_eq!(listener.received.lock().unwrap().len(), 1);
    listener.fails.store(false, Ordering::SeqCst);
    let mut copy = open(&store, &state, None, &listener);
    assert!(copy.committer.finish().unwrap().undelivered.is_none());
    let received: Vec<_> =
        listener.received.lock().unwrap().iter().map(|change| change.uri.clone()).collect();
    assert_eq!(received, ["http://h/a", "http://h/a", "http://h/b"]);
    assert!(copy.committer.finish().unwrap().undelivered.is_none());
    assert_eq!(listener.received.lock().unwrap().len(), 3, "what was taken does not come again");
}
