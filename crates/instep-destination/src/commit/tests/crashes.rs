//! Crashes and power losses after each step of a commit: the next start finds the group done or undone.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    commit::{Step, StepHook},
    store::{FolderOptions, FolderStore, MemoryStore, Store, StoreError},
};

use super::bench::{Copy, open};

/// The permitted contents of every file: its bytes before the group, or after it.
const OLD: [(&str, &[u8]); 4] =
    [("http://h/a", b"a1"), ("http://h/b", b"b1"), ("http://h/d/c", b"c1"), ("http://h/same", b"same")];
const NEW: [(&str, &[u8]); 5] = [
    ("http://h/a", b"a2 is longer"),
    ("http://h/b", b"b1"),
    ("http://h/b/x", b"x"),
    ("http://h/e/f", b"f"),
    ("http://h/same", b"same"),
];

fn make_old(copy: &mut Copy) {
    for (uri, bytes) in OLD {
        copy.add(uri, bytes);
    }
    copy.flush();
}

fn add_new(copy: &mut Copy) {
    for (uri, bytes) in NEW.iter().filter(|(uri, _)| *uri != "http://h/b") {
        copy.add(uri, bytes);
    }
    copy.delete("http://h/d/c");
}

fn is_old_or_new(uri: &str, bytes: &[u8]) -> bool {
    OLD.iter().chain(&NEW).any(|(known, version)| *known == uri && *version == bytes)
}

fn failing_at(place: usize, then: impl Fn(Step) + Send + Sync + 'static) -> (StepHook, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&taken);
    let hook = move |step| {
        if counter.fetch_add(1, Ordering::SeqCst) == place {
            then(step);
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(StoreError::Io { doing: "reach", path: format!("{step:?}"), source });
        }
        Ok(())
    };
    (Arc::new(hook), taken)
}

fn assert_whole_and_finish(store: Arc<dyn Store>, state: &Path, place: usize) {
    let mut copy = open(store, state, None);
    for (uri, path, bytes) in copy.contents() {
        assert!(is_old_or_new(&uri, &bytes), "step {place}: {uri} at {path} holds {bytes:?}");
    }
    assert_eq!(copy.recovered.lost, 0, "step {place}");
    add_new(&mut copy);
    copy.flush();
    let contents: Vec<_> = copy.contents().into_iter().map(|(uri, _, bytes)| (uri, bytes)).collect();
    let expected: Vec<_> = NEW.iter().map(|(uri, bytes)| ((*uri).to_owned(), bytes.to_vec())).collect();
    assert_eq!(contents, expected, "step {place}");
    assert_eq!(copy.store.kind("d").unwrap(), None);
}

#[test]
fn d42_a_group_that_fails_at_any_step_leaves_old_or_new_and_is_finished_by_the_next_run() {
    for place in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state.sqlite");
        let folder_store = || -> Arc<dyn Store> {
            Arc::new(FolderStore::open(&dir.path().join("copy"), FolderOptions::new()).unwrap())
        };
        make_old(&mut open(folder_store(), &state, None));
        let (hook, taken) = failing_at(place, |_| {});
        let mut copy = open(folder_store(), &state, Some(hook));
        add_new(&mut copy);
        let failed = copy.committer.flush().is_err();
        drop(copy);
        assert_whole_and_finish(folder_store(), &state, place);
        if !failed {
            assert!(taken.load(Ordering::SeqCst) >= 9, "so many steps has a group");
            return;
        }
    }
}

#[test]
fn d42_power_lost_at_any_step_leaves_old_or_new_and_the_next_run_finishes() {
    for place in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let (state, later) = (dir.path().join("state.sqlite"), dir.path().join("later.sqlite"));
        let store = MemoryStore::new();
        make_old(&mut open(Arc::new(store.clone()), &state, None));
        let left = Arc::new(Mutex::new(None));
        let (running, copied_to, kept) = (store.clone(), later.clone(), Arc::clone(&left));
        let copied_from = state.clone();
        let (hook, _) = failing_at(place, move |_| {
            for suffix in ["", "-wal"] {
                let with = |path: &Path| format!("{}{suffix}", path.display());
                if Path::new(&with(&copied_from)).exists() {
                    std::fs::copy(with(&copied_from), with(&copied_to)).unwrap();
                }
            }
            *kept.lock().unwrap() = Some(running.after_power_loss());
        });
        let mut copy = open(Arc::new(store), &state, Some(hook));
        add_new(&mut copy);
        if copy.committer.flush().is_ok() {
            return;
        }
        let left = left.lock().unwrap().take().unwrap();
        assert_whole_and_finish(Arc::new(left), &later, place);
    }
}

#[test]
fn o641_a_run_that_is_killed_while_it_removes_the_last_file_is_finished_by_the_next_one() {
    for place in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state.sqlite");
        let folder_store = || -> Arc<dyn Store> {
            Arc::new(FolderStore::open(&dir.path().join("copy"), FolderOptions::new()).unwrap())
        };
        let mut copy = open(folder_store(), &state, None);
        copy.add("http://h/a", b"a1");
        copy.flush();
        drop(copy);
        let (hook, taken) = failing_at(place, |_| {});
        let mut copy = open(folder_store(), &state, Some(hook));
        copy.delete("http://h/a");
        let failed = copy.committer.flush().is_err();
        drop(copy);
        let mut copy = open(folder_store(), &state, None);
        assert_eq!(copy.recovered.lost, 0, "step {place}");
        copy.assert_state_claims_what_the_disk_holds();
        copy.delete("http://h/a");
        copy.flush();
        assert!(copy.held().is_empty(), "step {place}");
        if !failed {
            assert!(taken.load(Ordering::SeqCst) >= 3, "so many steps has a group");
            return;
        }
    }
}

#[test]
fn o59_a_checkpoint_never_moves_without_its_group_and_its_settings() {
    use crate::{
        commit::Commit,
        state::{Checkpoint, Setting},
    };
    for place in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state.sqlite");
        let store = MemoryStore::new();
        let (hook, _) = failing_at(place, |_| {});
        let mut copy = open(Arc::new(store.clone()), &state, Some(hook));
        copy.add("http://h/a", b"1");
        let mut checkpoint = Checkpoint::new();
        checkpoint.datetime = resourcesync::DateTime::parse("2013-01-03").ok();
        let setting = Setting { name: "coverage 0".to_owned(), text: "unknown".to_owned() };
        copy.committer
            .add(Commit::Checkpoint { set: copy.set, checkpoint, settings: vec![setting] })
            .unwrap();
        let failed = copy.committer.flush().is_err();
        drop(copy);
        let copy = open(Arc::new(store), &state, None);
        let moved = copy.committer.state().checkpoint(copy.set).unwrap().is_some();
        assert!(!moved || copy.contents().len() == 1, "step {place}");
        assert_eq!(copy.committer.state().setting("coverage 0").unwrap().is_some(), moved, "step {place}");
        if !failed {
            assert!(moved);
            return;
        }
    }
}
