//! Leftovers of killed publications and of former options, and lists that hold as much as they can.

use std::{fs, sync::Arc};

use instep_source::{
    NoMonitor, Publisher, RecordingMonitor, VersionOptions,
    catalogue::{Clock, system_clock},
    publish,
};

use super::{folder, options, read, write};

#[test]
fn what_a_killed_publication_left_staged_goes_with_the_next_one() {
    let folder = folder(&[("a", b"a")]);
    let options = options(folder.path());
    publish(&options, &NoMonitor).unwrap();
    for purpose in ["lists", "dumps", "patches"] {
        write(folder.path(), &format!("resourcesync/.stage/{purpose}/7"), b"staged");
    }
    publish(&options, &NoMonitor).unwrap();
    assert!(!folder.path().join("resourcesync/.stage").exists());
}

#[test]
fn gzip_twins_that_are_not_wanted_any_more_go() {
    let folder = folder(&[("a", b"a")]);
    let mut options = options(folder.path());
    options.lists.rotation.entries = 1;
    options.gzip_twins = true;
    let twins = || {
        let names = fs::read_dir(folder.path().join("resourcesync")).unwrap();
        names.filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().ends_with(".gz")).count()
    };
    for round in 0..3 {
        write(folder.path(), "a", format!("{round}").as_bytes());
        publish(&options, &NoMonitor).unwrap();
    }
    assert!(twins() >= 5, "{}", twins());
    options.gzip_twins = false;
    publish(&options, &NoMonitor).unwrap();
    assert_eq!(twins(), 0);
}

#[test]
fn c18_one_plain_change_list_never_begins_after_the_resource_list() {
    let folder = folder(&[]);
    for number in 0..40 {
        write(folder.path(), &format!("{number}"), b"first");
    }
    let mut options = options(folder.path());
    options.lists.single_changelist = true;
    options.lists.entries = 50;
    publish(&options, &NoMonitor).unwrap();
    for round in 0..3 {
        // More changes at once than one list may hold together with those before them.
        for number in 0..40 {
            write(folder.path(), &format!("{number}"), format!("round {round}").as_bytes());
        }
        for number in 40..50 {
            write(folder.path(), &format!("{number}"), format!("round {round}").as_bytes());
        }
        publish(&options, &NoMonitor).unwrap();
        let (list, resources) = read(folder.path(), "resourcelist.xml");
        let (changes, entries) = read(folder.path(), "changelist.xml");
        let (at, from) = (list.metadata.unwrap().at.unwrap(), changes.metadata.unwrap().from.unwrap());
        assert!(from <= at, "changes since {from}, resources of {at}");
        assert!(entries.len() <= 50 && resources.len() == 50);
        assert!(entries.iter().all(|entry| entry.metadata.datetime >= Some(from)));
    }
}

#[test]
fn c18_a_set_cannot_have_the_name_of_the_folder_of_versions() {
    let folder = folder(&[("a", b"a")]);
    for name in ["timegate", "timemap", "memento"] {
        let mut options = options(folder.path());
        options.sets[0].name = name.to_owned();
        options.versions = Some(VersionOptions::default());
        let refused = publish(&options, &NoMonitor).unwrap_err();
        assert!(refused.to_string().contains(name), "{refused}");
        options.versions = None;
        publish(&options, &NoMonitor).unwrap();
        fs::remove_dir_all(folder.path().join("resourcesync")).unwrap();
        fs::remove_dir_all(folder.path().join(".instep")).unwrap();
        fs::remove_dir_all(folder.path().join(".well-known")).unwrap();
    }
}

#[test]
fn c18_times_that_stay_ahead_because_the_clock_once_was_are_reported() {
    let folder = folder(&[("a", b"a")]);
    let options = options(folder.path());
    let ahead: Clock = Arc::new(|| system_clock()() + 10 * 365 * 86_400 * 1_000_000);
    Publisher::with_clock(options.clone(), ahead).unwrap().publish(&NoMonitor).unwrap();
    write(folder.path(), "a", b"changed");
    let monitor = RecordingMonitor::new();
    let mut publisher = Publisher::open(options).unwrap();
    publisher.publish(&monitor).unwrap();
    publisher.publish(&monitor).unwrap();
    let problems = monitor.seen().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].what.contains("ahead of the clock") && problems[0].what.contains("Set the clock"));
    let (_, changes) = read(folder.path(), "changelist-000001.xml");
    assert!(changes[0].metadata.datetime.unwrap().unix_micros() > system_clock()(), "S6 holds");
}
