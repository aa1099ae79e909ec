//! Files that belong to others: a folder at the path of a file, backups among resources, remains of a killed run.

use crate::{
    state::Actions,
    store::{FolderOptions, FolderStore, StoreError},
};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::bench::{SHA256, both_stores, open, open_folder};

#[test]
fn b2_a_folder_in_the_place_of_a_held_file_stays_and_the_deletion_is_retried() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open_folder(dir.path());
    copy.add("http://h/a", b"ours");
    copy.add("http://h/b", b"ours");
    copy.flush();
    std::fs::remove_file(dir.path().join("a")).unwrap();
    std::fs::create_dir_all(dir.path().join("a/deep")).unwrap();
    std::fs::write(dir.path().join("a/deep/theirs"), b"theirs").unwrap();
    copy.delete("http://h/a");
    copy.delete("http://h/b");
    let flushed = copy.flush();
    assert_eq!(flushed.refused.iter().map(|(uri, _)| uri.as_str()).collect::<Vec<_>>(), ["http://h/a"]);
    assert_eq!(copy.committer.state().owed_count().unwrap(), 1);
    assert!(!dir.path().join("b").exists());
    assert_eq!(std::fs::read(dir.path().join("a/deep/theirs")).unwrap(), b"theirs");
    // The operator removes the folder that blocks the name.
    std::fs::remove_dir_all(dir.path().join("a")).unwrap();
    copy.delete("http://h/a");
    assert!(copy.flush().refused.is_empty());
    assert_eq!(copy.committer.state().owed_count().unwrap(), 0);
}

#[test]
fn b2_both_stores_refuse_to_remove_a_folder() {
    for (store, dir) in both_stores() {
        let mut copy = open(store, &dir.path().join("state.sqlite"), None);
        copy.add("http://h/d/a", b"ours");
        copy.flush();
        let path = crate::map::CopyPath::from_state("d").unwrap();
        let refused = copy.store.remove(&path, copy.store.fresh_name());
        assert!(matches!(refused, Err(StoreError::Blocked { .. })), "{refused:?}");
    }
}

#[test]
fn b21_backups_among_the_resources_are_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    for backups in [copy.join("bk"), copy.clone(), copy.join("bk/../bk"), dir.path().to_owned()] {
        let mut options = FolderOptions::new();
        options.backups = Some(backups.clone());
        let refused = FolderStore::open(&copy, options);
        assert!(matches!(refused, Err(StoreError::BackupsInCopy { .. })), "{backups:?}: {refused:?}");
        assert!(!copy.exists());
    }
    let mut options = FolderOptions::new();
    options.backups = Some(dir.path().join("copy-backups"));
    FolderStore::open(&copy, options).unwrap();
}

#[test]
fn b24_a_pipe_in_the_place_of_a_part_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let copy = open_folder(dir.path());
    let mut part = copy.store.stage(&SHA256).unwrap();
    part.write(b"half").unwrap();
    part.keep_for("http://h/large", "\"tag\"").unwrap();
    drop(part);
    let staging = dir.path().join(".instep/staging");
    let names = std::fs::read_dir(&staging).unwrap().map(|entry| entry.unwrap().path());
    let part = names.filter(|path| path.extension().is_none()).find(|path| path.is_file()).unwrap();
    std::fs::remove_file(&part).unwrap();
    mknodat(CWD, &part, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(copy.store.resume("http://h/large", &SHA256, true).unwrap().is_none());
}

#[test]
fn b24_the_plan_of_a_killed_run_goes_with_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plan-7.sqlite");
    std::mem::forget(Actions::create(&path).unwrap());
    assert!(path.exists());
    let empty = tempfile::tempdir().unwrap();
    Actions::remove_leftovers(empty.path()).unwrap();
    Actions::remove_leftovers(dir.path()).unwrap();
    assert!(!path.exists());
}

#[test]
fn r1_a_part_from_before_the_machine_was_started_is_continued_only_where_a_digest_will_verify_it() {
    let dir = tempfile::tempdir().unwrap();
    let copy = open_folder(dir.path());
    let mut part = copy.store.stage(&SHA256).unwrap();
    part.write(b"half").unwrap();
    part.keep_for("http://h/large", "\"tag\"").unwrap();
    drop(part);
    assert!(copy.store.resume("http://h/large", &SHA256, false).unwrap().is_some());
    let names = std::fs::read_dir(dir.path().join(".instep/staging")).unwrap();
    let mut names = names.map(|entry| entry.unwrap().path());
    let noted = names.find(|path| path.extension().is_some_and(|it| it == "validator")).unwrap();
    for text in ["\"tag\"\nanother start", "\"tag\""] {
        std::fs::write(&noted, text).unwrap();
        assert!(copy.store.resume("http://h/large", &SHA256, false).unwrap().is_none(), "{text}");
        let (_, validator) = copy.store.resume("http://h/large", &SHA256, true).unwrap().unwrap();
        assert_eq!(validator, "\"tag\"");
    }
}

#[test]
fn o519_two_transfers_from_one_uri_do_not_write_the_same_part() {
    let dir = tempfile::tempdir().unwrap();
    let copy = open_folder(dir.path());
    let begin = |bytes: &[u8]| {
        let mut part = copy.store.stage(&SHA256).unwrap();
        part.write(bytes).unwrap();
        part.keep_for("http://mirror/large", "\"tag\"").unwrap();
        part
    };
    let parts = [begin(b"first"), begin(b"second")];
    assert!(
        copy.store.resume("http://mirror/large", &SHA256, true).unwrap().is_none(),
        "it is being written"
    );
    for (part, bytes) in parts.into_iter().zip(["first", "second"]) {
        let staged = part.finish(None).unwrap();
        let file = copy.store.open_staged(staged.name).unwrap();
        assert_eq!(std::io::read_to_string(file).unwrap(), bytes);
    }
    drop(begin(b"third"));
    assert!(copy.store.resume("http://mirror/large", &SHA256, true).unwrap().is_some());
}
