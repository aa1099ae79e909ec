//! Readers at work while documents are put in place.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use instep_source::{Archives, NoMonitor, Publisher};
use resourcesync::{Capability, DateTime, Entry, Form};

use super::site::{Site, read};

/// S7: whatever a reader finds at any instant, what it refers to is there, and is of one snapshot.
#[test]
fn s7_readers_see_no_dangling_reference_and_no_mixture() {
    let rounds = if std::env::var_os("INSTEP_LONG").is_some() { 1_000 } else { 250 };
    let mut site = Site::new(&[("a", "0"), ("b", "0"), ("c", "0")]);
    site.options.lists.entries = 2;
    site.options.lists.rotation.entries = 4;
    site.options.lists.closed_lists = 3;
    site.options.lists.snapshot = true;
    site.options.archives = Some(Archives::default());
    let mut publisher = Publisher::open(site.options.clone()).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0u64;
            while !done.load(Ordering::Relaxed) || reads == 0 {
                check_resource_list(&site);
                check_change_list(&site, 4);
                check_references(&site);
                reads += 1;
            }
        });
        for round in 0..rounds {
            site.write("a", &"x".repeat(round % 50 + 1));
            publisher.publish_paths(&[site.root.path().join("a")], &NoMonitor).unwrap();
            if reader.is_finished() {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// From the Source Description on, each document of ours that one refers to is there.
fn check_references(site: &Site) {
    let own =
        |entry: &Entry| entry.loc.as_str().rsplit_once("/resourcesync/").map(|(_, name)| name.to_owned());
    let (_, sets) = read(&site.options.out.join(".well-known/resourcesync")).unwrap();
    let mut names: Vec<String> = sets.iter().filter_map(own).collect();
    let mut documents = 0;
    while let Some(name) = names.pop() {
        let (header, entries) = site.read(&name);
        documents += 1;
        let is_list = header.capability().is_some_and(|it| *it == Capability::ChangeList);
        if !is_list || header.form == Form::Index {
            names.extend(entries.iter().filter_map(own));
        }
    }
    assert!(documents >= 8);
}

pub(super) fn check_resource_list(site: &Site) {
    let (header, members) = site.read("resourcelist.xml");
    assert_eq!(header.form, Form::Index);
    let at = header.metadata.unwrap().at;
    for member in members {
        let (part, _) = site.read(member.loc.as_str().rsplit('/').next().unwrap());
        assert_eq!(part.metadata.unwrap().at, at);
    }
}

pub(super) fn check_change_list(site: &Site, most: usize) {
    let (_, members) = site.read("changelist.xml");
    let mut until: Option<DateTime> = None;
    for member in members {
        let (list, entries) = site.read(member.loc.as_str().rsplit('/').next().unwrap());
        let metadata = list.metadata.unwrap();
        assert!(until.is_none() || metadata.from == until, "the lists join");
        assert!(entries.len() <= most);
        until = metadata.until;
    }
}
