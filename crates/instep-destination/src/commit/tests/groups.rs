//! Groups of commits: atomic, in order, and recorded together with the state.

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Runtime,
    sync::{Semaphore, mpsc},
};

use crate::{
    commit::{Commit, CommitBatch, CommitError, CommitOptions, Committer, group::Group},
    plan::Desired,
    state::{Checkpoint, DatabaseError, DocumentRecord, Owed, ResourceMetadata, StateError, StatePlace},
    store::{FolderOptions, FolderStore, MemoryStore, Store, StoreError},
};
use resourcesync::{Change, DateTime, MediaType};

use super::bench::{both_stores, mapper, open, open_folder, uri};

#[test]
fn a_group_is_held_when_it_is_flushed_and_not_before() {
    for (store, dir) in both_stores() {
        let mut copy = open(store, &dir.path().join("state.sqlite"), None);
        copy.add("http://h/a", b"1");
        copy.add("http://h/d/b", b"2");
        assert!(copy.held().is_empty());
        let flushed = copy.flush();
        assert_eq!(flushed.committed.len(), 2);
        assert!(flushed.committed.iter().all(|committed| committed.change == Change::Created));
        copy.add("http://h/a", b"1b");
        copy.delete("http://h/d/b");
        let changes: Vec<_> = copy.flush().committed.into_iter().map(|committed| committed.change).collect();
        assert_eq!(changes, [Change::Updated, Change::Deleted]);
        assert_eq!(copy.contents(), [("http://h/a".to_owned(), "a".to_owned(), b"1b".to_vec())]);
        assert_eq!(copy.store.kind("d").unwrap(), None);
    }
}

#[test]
fn the_last_of_several_changes_in_a_group_counts() {
    for (store, dir) in both_stores() {
        let mut copy = open(store, &dir.path().join("state.sqlite"), None);
        copy.add("http://h/a", b"1");
        copy.add("http://h/a", b"2");
        copy.add("http://h/b", b"1");
        copy.delete("http://h/b");
        copy.add("http://h/c", b"1");
        copy.delete("http://h/c");
        copy.add("http://h/c", b"2");
        copy.flush();
        let contents: Vec<_> = copy.contents().into_iter().map(|(_, path, bytes)| (path, bytes)).collect();
        assert_eq!(contents, [("a".to_owned(), b"2".to_vec()), ("c".to_owned(), b"2".to_vec())]);
    }
}

#[test]
fn a_group_commits_when_it_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut copy = open(store, &dir.path().join("state.sqlite"), None);
    for number in 0..CommitOptions::new().most_resources {
        let commit = copy.new_file(&format!("http://h/{number}"), b"x");
        let flushed = copy.committer.add(commit).unwrap();
        assert_eq!(flushed.is_some(), number + 1 == CommitOptions::new().most_resources);
    }
    assert_eq!(copy.held().len(), CommitOptions::new().most_resources);
}

#[test]
fn o77_a_worker_commits_after_a_second_what_others_would_fetch_again() {
    let (mut group, worker) = (Group::default(), CommitOptions::for_worker());
    group.begin(1);
    assert!(group.longest_wait(0, &worker) > worker.soon, "a pack of one resource is not worth an object");
    (1..worker.enough).for_each(|_| group.begin(1));
    assert!(group.longest_wait(0, &worker) <= worker.soon);
    assert!(group.longest_wait(0, &CommitOptions::for_packs()) > worker.soon, "nobody else fetches it");
}

#[test]
fn o960_a_group_whose_time_is_over_is_committed_although_more_has_arrived() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    (copy.committer.options.longest_wait, copy.committer.options.soon) = (Duration::ZERO, Duration::ZERO);
    let (commits, mut received) = mpsc::channel(3);
    let room = Arc::new(Semaphore::new(3));
    for name in ["a", "b", "c"] {
        let commit = copy.new_file(&format!("http://h/{name}"), b"x");
        let _room = Arc::clone(&room).try_acquire_owned().unwrap();
        commits.try_send(CommitBatch { commits: vec![commit], _room }).unwrap();
    }
    drop(commits);
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let mut groups = Vec::new();
    copy.committer.run(&mut received, &mut |group| groups.push(group.committed.len())).unwrap();
    assert_eq!(groups, [1, 1, 1, 0], "the last one is the end of the run");
}

#[test]
fn o960_a_group_is_as_old_as_the_first_resource_that_waits_for_it() {
    let (mut group, mut worker) = (Group::default(), CommitOptions::for_worker());
    (worker.early, worker.few) = (Duration::ZERO, 2);
    assert_eq!(group.due_in(2, &worker), None, "nothing waits");
    group.begin_to_wait();
    assert!(group.due_in(1, &worker).unwrap() > worker.soon);
    assert_eq!(group.due_in(2, &worker), Some(Duration::ZERO), "before either is in the group");
}

#[test]
fn o506_the_groups_of_a_worker_grow_with_what_it_has_committed() {
    let (worker, alone) = (CommitOptions::for_worker(), CommitOptions::for_packs());
    let (mut group, mut packs, mut since) = (Group::default(), 0, 0);
    for arrived in 1..=50_000 {
        group.begin(1);
        assert_eq!(group.longest_wait(0, &alone), alone.longest_wait);
        if group.longest_wait(0, &worker) == worker.early {
            assert!(arrived - since <= worker.few.max(arrived / 50 + 1), "too much is lost at {arrived}");
            (since, packs) = (arrived, packs + 1);
            drop(group.take());
        }
    }
    assert!(packs < 300, "{packs} objects");
    drop(group.take());
    group.begin(1);
    assert!(group.longest_wait(0, &worker) > worker.soon, "a pack of one resource is not worth an object");
}

#[test]
fn pending_retries_and_the_checkpoint_are_committed_with_the_group() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    let mut desired = Desired::new(uri("http://h/owed"));
    desired.metadata.length = Some(7);
    desired.metadata.datetime = DateTime::parse("2013-01-03T09:00:00Z").ok();
    let owed = Owed::new(desired, "404".to_owned());
    let mut checkpoint = Checkpoint::new();
    checkpoint.datetime = DateTime::parse("2013-01-03T10:00:00.123Z").ok();
    checkpoint.position = 9;
    let mut document = DocumentRecord::new(uri("http://h/changelist.xml"));
    document.etag = Some("\"x\"".into());
    document.digest = Some([7; 32]);
    copy.committer.add(Commit::Owed(copy.set, owed.clone())).unwrap();
    copy.committer
        .add(Commit::Checkpoint { set: copy.set, checkpoint: checkpoint.clone(), settings: Vec::new() })
        .unwrap();
    copy.committer.add(Commit::Document(document.clone())).unwrap();
    assert_eq!(copy.committer.state().checkpoint(copy.set).unwrap(), None);
    copy.flush();
    let set = copy.set;
    drop(copy);
    let mut copy = open_folder(dir.path());
    let state = copy.committer.state();
    assert_eq!(state.checkpoint(set).unwrap(), Some(checkpoint));
    assert_eq!(state.owed_after(set, None, 10).unwrap(), [owed]);
    assert_eq!(state.document(&document.uri).unwrap(), Some(document));
    copy.add("http://h/owed", b"at last");
    copy.flush();
    assert_eq!(copy.committer.state().owed_count().unwrap(), 0);
}

#[test]
fn a_shared_resource_goes_when_no_set_holds_it() {
    for (store, dir) in both_stores() {
        let mut copy = open(store, &dir.path().join("state.sqlite"), None);
        copy.add("http://h/shared", b"1");
        copy.flush();
        let other = copy.committer.state_mut().set("http://h/other.xml").unwrap();
        copy.committer.state_mut().join(other, &[uri("http://h/shared")]).unwrap();
        copy.delete("http://h/shared");
        assert!(copy.flush().committed.is_empty());
        assert_eq!(copy.contents().len(), 1);
        copy.committer
            .add(Commit::Deletion { uri: uri("http://h/shared"), set: other, datetime: None })
            .unwrap();
        assert_eq!(copy.flush().committed.len(), 1);
        assert_eq!(copy.store.kind("shared").unwrap(), None);
    }
}

#[test]
fn metadata_is_refreshed_without_touching_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    copy.add("http://h/a", b"1");
    copy.flush();
    let mut metadata = ResourceMetadata::new();
    metadata.etag = Some("\"new\"".into());
    metadata.media_type = Some(MediaType::new("text/plain"));
    copy.committer
        .add(Commit::Current { uri: uri("http://h/a"), metadata, set: copy.set, is_racy: false })
        .unwrap();
    copy.flush();
    let held = copy.committer.state().held("http://h/a").unwrap().unwrap();
    assert_eq!((held.metadata.etag.as_deref(), held.metadata.length), (Some("\"new\""), Some(1)));
    copy.assert_state_claims_what_the_disk_holds();
}

#[test]
fn an_adopted_file_is_held_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), b"here before").unwrap();
    let mut copy = open_folder(dir.path());
    let path = mapper().map(&uri("http://h/a")).unwrap();
    let found = crate::store::digest_file(&*copy.store, &path, &super::bench::SHA256).unwrap();
    let (length, digests) = found.unwrap();
    let mut metadata = ResourceMetadata::new();
    metadata.length = Some(length);
    metadata.digests = digests;
    let set = copy.set;
    copy.committer.add(Commit::Adopted { uri: uri("http://h/a"), path, metadata, set }).unwrap();
    copy.flush();
    assert_eq!(copy.contents()[0].2, b"here before");
}

#[test]
fn a_state_of_a_newer_version_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.sqlite");
    drop(StatePlace::open_file(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(
        StatePlace::open_file(&path),
        Err(StateError::Database(DatabaseError::Newer { found: 99, .. }))
    ));
    let version: u32 = rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[test]
fn what_is_held_outlives_a_change_of_form_and_a_copy_of_before_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.sqlite");
    let mut copy = open(Arc::new(MemoryStore::new()), &path, None);
    copy.add("http://h/a", b"1");
    copy.flush();
    drop(copy);
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(
        "DROP TABLE intent; CREATE TABLE intent (id INTEGER PRIMARY KEY, operations TEXT NOT NULL);
         INSERT INTO intent (operations) VALUES ('[]'); ALTER TABLE set_of_resources DROP COLUMN leading; DROP TABLE gone;
         ALTER TABLE set_of_resources DROP COLUMN source; ALTER TABLE run DROP COLUMN source; DROP TABLE source;
         DROP TABLE reached; DROP TABLE pack; ALTER TABLE held DROP COLUMN pack; ALTER TABLE held DROP COLUMN \"offset\";
         ALTER TABLE held DROP COLUMN packed; ALTER TABLE held DROP COLUMN racy;
         PRAGMA user_version = 3;",
    )
    .unwrap();
    drop(old);
    let state = StatePlace::open_file(&path).unwrap();
    assert_eq!(state.held("http://h/a").unwrap().unwrap().path.as_str(), "a");
    let before = rusqlite::Connection::open(dir.path().join("state.sqlite.v3")).unwrap();
    let left: u32 = before.query_row("SELECT COUNT(*) FROM intent", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
}

#[test]
fn a_reader_sees_what_is_committed_while_the_committer_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    let reader = copy.committer.state().reader().unwrap();
    copy.add("http://h/a", b"1");
    copy.flush();
    assert_eq!(reader.held_count().unwrap(), 1);
}

#[test]
fn d35_a_copy_without_any_file_is_taken_up_only_when_that_is_meant() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    copy.add("http://h/d/a", b"1");
    copy.flush();
    drop(copy);
    std::fs::remove_dir_all(dir.path().join("d")).unwrap();
    let store = FolderStore::open(dir.path(), FolderOptions::new()).unwrap();
    let state = || StatePlace::open_file(&dir.path().join(".instep/state.sqlite")).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let refused = Committer::open(Arc::clone(&store), state(), CommitOptions::new()).map(|_| ());
    assert!(matches!(refused, Err(CommitError::Store(StoreError::NotTheCopy { .. }))), "{refused:?}");
    let mut options = CommitOptions::new();
    options.accepts_emptied = true;
    Committer::open(store, state(), options).unwrap();
}

#[test]
fn o640_a_copy_that_has_only_prior_versions_is_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    copy.add("http://h/a", b"1");
    let mut version = copy.new_file("http://h/a", b"0");
    let Commit::File(file) = &mut version else { unreachable!("it is a file") };
    file.path = mapper().map_version(&file.uri, "20260101T000000Z").unwrap();
    file.uri = uri("http://h/a#2026-01-01T00:00:00Z");
    copy.committer.add(version).unwrap();
    copy.flush();
    copy.delete("http://h/a");
    copy.flush();
    assert_eq!(copy.held().len(), 1);
    drop(copy);
    let copy = open_folder(dir.path());
    assert_eq!(copy.held().len(), 1);
}
