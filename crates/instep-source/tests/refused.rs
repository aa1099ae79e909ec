//! A refused publication costs the next one nothing, and resources that are back do not count as deleted.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use std::{fs, path::Path};

use instep_source::{Content, Error, ErrorKind, NoMonitor, PublishOptions, Publisher, publish};

const BASE: &str = "http://example.org/";

fn folder(files: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("letters"), files);
    folder
}

fn write(folder: &Path, files: usize) {
    fs::create_dir_all(folder).unwrap();
    for number in 0..files {
        fs::write(folder.join(format!("{number:03}.txt")), number.to_string()).unwrap();
    }
}

/// Options by which the letters have a prefix.
fn at(folder: &Path, prefix: &str) -> PublishOptions {
    let mut options = PublishOptions::new(folder, BASE);
    let root = folder.join("letters");
    options.sets[0].content = vec![Content::Folder { root, prefix: Some(format!("{BASE}{prefix}/")) }];
    options
}

fn lists(folder: &Path) -> String {
    let list = fs::read_to_string(folder.join("resourcesync/resourcelist.xml")).unwrap();
    list + &fs::read_to_string(folder.join("resourcesync/changelist-000001.xml")).unwrap()
}

#[test]
fn c19_resources_that_only_a_refused_run_recorded_are_not_deletions_for_the_next_one() {
    let folder = folder(40);
    publish(&at(folder.path(), "letters"), &NoMonitor).unwrap();
    for wrong in ["wrong", "mistaken"] {
        let error = publish(&at(folder.path(), wrong), &NoMonitor).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
    }
    let report = publish(&at(folder.path(), "letters"), &NoMonitor).unwrap();
    assert_eq!(report.resources, 40);
    fs::write(folder.path().join("letters/000.txt"), "changed").unwrap();
    assert_eq!(publish(&at(folder.path(), "letters"), &NoMonitor).unwrap().updated, 1);
}

#[test]
fn c19_a_folder_that_is_renamed_and_renamed_back_stops_no_later_publication() {
    let folder = folder(40);
    let (letters, briefe) = (folder.path().join("letters"), folder.path().join("briefe"));
    let mut publisher = Publisher::open(PublishOptions::new(folder.path(), BASE)).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    fs::rename(&letters, &briefe).unwrap();
    assert_eq!(publisher.publish(&NoMonitor).unwrap_err().kind(), ErrorKind::Refused);
    fs::rename(&briefe, &letters).unwrap();
    fs::write(folder.path().join("new.txt"), "new").unwrap();
    let report = publisher.publish(&NoMonitor).unwrap();
    assert_eq!(report.resources, 41);
    assert!(lists(folder.path()).contains("new.txt"));
}

#[test]
fn c19_a_source_of_which_nothing_is_published_yet_may_become_another_one() {
    let folder = folder(40);
    fs::create_dir(folder.path().join("resourcesync")).unwrap();
    let foreign = folder.path().join("resourcesync/resourcelist.xml");
    fs::write(&foreign, "mine").unwrap();
    let error = publish(&at(folder.path(), "letters"), &NoMonitor).unwrap_err();
    assert!(matches!(error, Error::DocumentsInTheWay { .. }), "{error}");
    fs::remove_file(&foreign).unwrap();
    assert_eq!(publish(&at(folder.path(), "other"), &NoMonitor).unwrap().resources, 40);
    assert!(!fs::read_to_string(foreign).unwrap().contains("/letters/"));
}

#[test]
fn c20_a_set_whose_folder_gets_other_uris_is_refused_however_small_it_is() {
    let folder = folder(3);
    publish(&at(folder.path(), "letters"), &NoMonitor).unwrap();
    let before = lists(folder.path());
    let mut moved = at(folder.path(), "briefe");
    let error = publish(&moved, &NoMonitor).unwrap_err();
    assert!(matches!(error, Error::SetMoved { resources: 3, .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(lists(folder.path()), before);
    moved.guard.allow_empty = true;
    assert_eq!(publish(&moved, &NoMonitor).unwrap().deleted, 3);
}

#[test]
fn c20_a_file_that_is_renamed_is_published_also_if_it_was_the_only_one() {
    let folder = folder(1);
    let options = PublishOptions::new(folder.path(), BASE);
    publish(&options, &NoMonitor).unwrap();
    fs::rename(folder.path().join("letters"), folder.path().join("briefe")).unwrap();
    let report = publish(&options, &NoMonitor).unwrap();
    assert_eq!((report.created, report.deleted), (1, 1));
}

#[test]
fn c21_resources_that_were_deleted_and_are_back_do_not_count_against_later_deletions() {
    let folder = folder(20);
    let letters = folder.path().join("letters");
    let mut publisher = Publisher::open(PublishOptions::new(folder.path(), BASE)).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    for _ in 0..4 {
        for number in 0..6 {
            fs::remove_file(letters.join(format!("{number:03}.txt"))).unwrap();
        }
        assert_eq!(publisher.publish(&NoMonitor).unwrap().deleted, 6);
        write(&letters, 6);
        assert_eq!(publisher.publish(&NoMonitor).unwrap().created, 6);
    }
    // Resources that stay away still count: ten at most in an hour.
    for number in 0..6 {
        fs::remove_file(letters.join(format!("{number:03}.txt"))).unwrap();
    }
    publisher.publish(&NoMonitor).unwrap();
    for number in 6..12 {
        fs::remove_file(letters.join(format!("{number:03}.txt"))).unwrap();
    }
    let error = publisher.publish(&NoMonitor).unwrap_err();
    assert!(matches!(error, Error::DeletionsRefused { deletions: 12, limit: 10, .. }), "{error}");
}

#[test]
fn o336_a_folder_that_does_not_exist_is_not_made_and_published() {
    let folder = tempfile::tempdir().unwrap();
    let error = publish(&PublishOptions::new(folder.path().join("mistyped"), BASE), &NoMonitor).unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
