//! The contract of a store: the same tests for a folder and for memory.

use std::io::Read as _;

use crate::{
    map::CopyPath,
    store::{
        CopyNames as _, FolderOptions, FolderStore, NameKind, Staged, StagingArea as _, Store, StoreError,
        digest_file,
    },
};
use resourcesync::{Algorithm, DateTime};

use super::bench::{SHA256, both_stores};

fn path(text: &str) -> CopyPath {
    CopyPath::from_state(text).unwrap()
}

fn stage(store: &dyn Store, bytes: &[u8]) -> Staged {
    let mut file = store.stage(&SHA256).unwrap();
    bytes.chunks(3).for_each(|chunk| file.write(chunk).unwrap());
    file.finish(None).unwrap()
}

fn read(store: &dyn Store, at: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.read(&path(at)).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_staged_file_is_seen_only_when_it_is_placed() {
    for (store, _state) in both_stores() {
        let staged = stage(&*store, b"one");
        assert_eq!(staged.length, 3);
        assert!(store.is_staged(staged.name).unwrap());
        assert_eq!(store.kind("d/a").unwrap(), None);
        store.sync_staged(&[staged.name]).unwrap();
        store.make_folder("d").unwrap();
        store.place(staged.name, &path("d/a")).unwrap();
        store.sync_names().unwrap();
        assert_eq!(store.kind("d/a").unwrap(), Some(NameKind::File));
        assert_eq!(store.kind("d").unwrap(), Some(NameKind::Folder));
        assert!(!store.is_staged(staged.name).unwrap());
        assert_eq!(read(&*store, "d/a"), b"one");
        store.place(stage(&*store, b"two").name, &path("d/a")).unwrap();
        assert_eq!(read(&*store, "d/a"), b"two");
    }
}

#[test]
fn the_digests_are_those_of_the_bytes() {
    for (store, _state) in both_stores() {
        let algorithms = [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256];
        let mut file = store.stage(&algorithms).unwrap();
        file.write(b"a").unwrap();
        file.write(b"bc").unwrap();
        let staged = file.finish(None).unwrap();
        let text = staged.digests.to_string();
        assert!(text.contains("md5:900150983cd24fb0d6963f7d28e17f72"), "{text}");
        store.place(staged.name, &path("a")).unwrap();
        let (length, digests) = digest_file(&*store, &path("a"), &algorithms).unwrap().unwrap();
        assert_eq!((length, digests), (3, staged.digests));
        assert_eq!(digest_file(&*store, &path("none"), &algorithms).unwrap(), None);
        assert_eq!(digest_file(&*store, &path("no/ne"), &algorithms).unwrap(), None);
    }
}

#[test]
fn a_removed_file_takes_the_folders_with_it_that_it_leaves_empty() {
    for (store, _state) in both_stores() {
        store.make_folder("d/e/f").unwrap();
        store.make_folder("d/g").unwrap();
        store.place(stage(&*store, b"1").name, &path("d/e/f/a")).unwrap();
        store.place(stage(&*store, b"2").name, &path("d/g/b")).unwrap();
        let trash = store.fresh_name();
        store.remove(&path("d/e/f/a"), trash).unwrap();
        assert_eq!(store.kind("d/e").unwrap(), None);
        assert_eq!(store.kind("d/g/b").unwrap(), Some(NameKind::File));
        assert!(store.is_staged(trash).unwrap());
        store.discard(&[trash]);
        assert!(!store.is_staged(trash).unwrap());
        store.remove(&path("d/e/f/a"), store.fresh_name()).unwrap();
        store.sync_names().unwrap();
    }
}

#[test]
fn a_file_makes_room_for_a_folder_of_its_name() {
    for (store, _state) in both_stores() {
        store.place(stage(&*store, b"body").name, &path("a")).unwrap();
        assert!(matches!(store.make_folder("a/b"), Err(StoreError::Blocked { .. })));
        store.move_within(&path("a"), &path("a").body(), store.fresh_name()).unwrap();
        assert_eq!(read(&*store, "a/%40body"), b"body");
        store.make_folder("a/b").unwrap();
        store.move_within(&path("a/%40body"), &path("c"), store.fresh_name()).unwrap();
        assert_eq!(read(&*store, "c"), b"body");
        assert!(matches!(
            store.place(stage(&*store, b"x").name, &path("a")),
            Err(StoreError::Blocked { .. })
        ));
        store.sweep().unwrap();
    }
}

#[test]
fn what_is_dropped_or_swept_is_gone_and_what_is_kept_is_resumed() {
    for (store, _state) in both_stores() {
        let mut dropped = store.stage(&SHA256).unwrap();
        dropped.write(b"x").unwrap();
        drop(dropped);
        let mut large = store.stage(&SHA256).unwrap();
        large.write(b"first ").unwrap();
        large.keep_for("http://h/large", "\"etag\"").unwrap();
        large.write(b"half, ").unwrap();
        drop(large);
        let swept = stage(&*store, b"swept").name;
        store.sweep().unwrap();
        assert!(!store.is_staged(swept).unwrap());
        assert!(store.resume("http://h/other", &SHA256, false).unwrap().is_none());
        let (mut large, validator) = store.resume("http://h/large", &SHA256, false).unwrap().unwrap();
        assert_eq!((validator.as_str(), large.length()), ("\"etag\"", 12));
        large.write(b"second ").unwrap();
        // The transfer is interrupted again.
        drop(large);
        let (mut large, _) = store.resume("http://h/large", &SHA256, false).unwrap().unwrap();
        large.write(b"half").unwrap();
        let staged = large.finish(None).unwrap();
        assert_eq!(staged.digests, stage(&*store, b"first half, second half").digests);
        store.place(staged.name, &path("large")).unwrap();
        assert_eq!(read(&*store, "large"), b"first half, second half");
        assert!(store.resume("http://h/large", &SHA256, false).unwrap().is_none());
    }
}

#[test]
fn a_committed_file_has_the_time_of_its_resource() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::open(folder.path(), FolderOptions::new()).unwrap();
    let staged =
        store.stage(&SHA256).unwrap().finish(DateTime::parse("2013-01-03T09:00:00.5Z").ok()).unwrap();
    store.place(staged.name, &path("a")).unwrap();
    let modified = std::fs::metadata(folder.path().join("a")).unwrap().modified().unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(since, std::time::Duration::new(1_357_203_600, 500_000_000));
}

#[test]
fn backups_keep_what_is_replaced_or_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = FolderOptions::new();
    options.backups = Some(folder.path().join("backups"));
    let store = FolderStore::open(&folder.path().join("copy"), options).unwrap();
    store.make_folder("d").unwrap();
    store.place(stage(&store, b"one").name, &path("d/a")).unwrap();
    store.place(stage(&store, b"two").name, &path("d/a")).unwrap();
    let kept = folder.path().join("backups/d/a");
    assert_eq!(std::fs::read(&kept).unwrap(), b"one");
    store.remove(&path("d/a"), store.fresh_name()).unwrap();
    assert_eq!(std::fs::read(&kept).unwrap(), b"two");
}

#[test]
fn d43_a_second_run_is_told_who_holds_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = FolderOptions::new();
    options.owner = "process 7: sync http://h/".to_owned();
    let first = FolderStore::open(folder.path(), options).unwrap();
    match FolderStore::open(folder.path(), FolderOptions::new()) {
        Err(StoreError::Locked { owner, .. }) => assert_eq!(owner, "process 7: sync http://h/"),
        other => panic!("{other:?}"),
    }
    drop(first);
    FolderStore::open(folder.path(), FolderOptions::new()).unwrap();
}

#[test]
fn a_new_copy_holds_nothing_but_our_own_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _store = FolderStore::open(folder.path(), FolderOptions::new()).unwrap();
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [".instep"]);
}
