//! Tests of staging.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::symlink,
};

use super::Staging;
use crate::{Obstacle, RootFolder, sync_group};

#[test]
fn a_staged_file_is_placed_whole_and_taken_out_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = RootFolder::open(dir.path()).unwrap();
    let staging = Staging::open(&root, "own/staging").unwrap();
    let (number, mut file) = staging.create().unwrap();
    file.write_all(b"whole").unwrap();
    sync_group([number].into_iter(), 1, &root, |number| staging.sync(number)).unwrap();
    sync_group([number].into_iter(), 0, &root, |_| unreachable!("synced with its file system")).unwrap();
    assert!(staging.place_new(number, &root, "a").unwrap());
    assert!(!staging.has(number).unwrap());
    let (later, _) = staging.create().unwrap();
    assert!(!staging.place_new(later, &root, "a").unwrap(), "the name is taken");
    assert!(staging.has(later).unwrap());
    staging.place(later, &root, "b").unwrap();
    let aside = staging.fresh_name();
    staging.take_out(&root, "a", aside).unwrap();
    let mut text = String::new();
    staging.read(aside).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "whole");
    staging.discard(aside).unwrap();
    staging.discard(aside).unwrap();
    assert!(!dir.path().join("a").exists());
}

#[test]
fn a_recycled_file_is_empty_and_has_a_number_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let root = RootFolder::open(dir.path()).unwrap();
    let staging = Staging::open(&root, "staging").unwrap();
    let (first, mut file) = staging.create().unwrap();
    file.write_all(b"former").unwrap();
    staging.recycle(first).unwrap();
    staging.recycle(first).unwrap();
    let (second, mut file) = staging.create().unwrap();
    assert_ne!(second, first);
    assert_eq!((staging.has(first).unwrap(), file.metadata().unwrap().len()), (false, 0));
    file.write_all(b"new").unwrap();
    // A file that was recycled twice is used again once only.
    let (third, file) = staging.create().unwrap();
    assert!(third != second && file.metadata().unwrap().len() == 0);
    let mut text = String::new();
    staging.read(second).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "new");
    staging.recycle(third).unwrap();
    drop(staging);
    let left = fs::read_dir(dir.path().join("staging")).unwrap();
    assert_eq!(
        left.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>(),
        [second.to_string().as_str()]
    );
}

#[test]
fn a_folder_that_has_the_name_is_an_obstacle() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    let root = RootFolder::open(dir.path()).unwrap();
    let staging = Staging::open(&root, "staging").unwrap();
    let (number, _) = staging.create().unwrap();
    let refused = staging.place(number, &root, "a").unwrap_err();
    assert_eq!(Obstacle::of(&refused), Some(Obstacle::Folder));
}

#[test]
fn c14_clearing_follows_no_link() {
    let dir = tempfile::tempdir().unwrap();
    let (top, outside) = (dir.path().join("top"), dir.path().join("outside"));
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("theirs"), "theirs").unwrap();
    let root = RootFolder::open_or_make(&top).unwrap();
    let staging = Staging::open(&root, "staging").unwrap();
    fs::create_dir_all(top.join("staging/deep/er")).unwrap();
    fs::write(top.join("staging/deep/er/file"), "").unwrap();
    symlink(&outside, top.join("staging/link")).unwrap();
    symlink(&outside, top.join("staging/deep/link")).unwrap();
    fs::write(top.join("staging/part-1"), "kept").unwrap();
    staging.clear(|name| name.starts_with("part-")).unwrap();
    let left: Vec<_> =
        fs::read_dir(top.join("staging")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["part-1"]);
    assert_eq!(fs::read_to_string(outside.join("theirs")).unwrap(), "theirs");
    fs::remove_dir_all(top.join("staging")).unwrap();
    symlink(&outside, top.join("staging")).unwrap();
    assert!(Staging::open(&root, "staging").is_err());
}
