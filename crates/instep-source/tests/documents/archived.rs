//! Archives, and past states, which are kept as long as a document needs them.

use std::{fs, path::Path, time::Duration};

use instep_source::{Archives, DumpPolicy, NoMonitor, Publisher, VersionOptions, publish};
use resourcesync::{
    Document, ReadOptions, Relation,
    package::{Package, PackageLimits},
};

use super::{folder, options, read, write};

#[test]
fn a14_the_parts_of_an_archived_list_name_the_index_that_is_archived_with_them() {
    let folder = folder(&[("a", b"a"), ("b", b"b"), ("c", b"c")]);
    let mut options = options(folder.path());
    options.archives = Some(Archives::default());
    options.lists.entries = 2;
    options.lists.snapshot_every = Duration::ZERO;
    for round in 0..3 {
        write(folder.path(), "a", format!("{round}").as_bytes());
        publish(&options, &NoMonitor).unwrap();
    }
    let (_, archived) = read(folder.path(), "resourcelist-archive.xml");
    assert_eq!(archived.len(), 2);
    for list in archived.iter().map(|entry| entry.loc.as_str()) {
        let (_, parts) = read(folder.path(), list);
        assert_eq!(parts.len(), 2);
        for part in parts {
            let (header, _) = read(folder.path(), part.loc.as_str());
            assert_eq!(header.link_for(&Relation::Index).unwrap().href.as_str(), list);
        }
    }
    // The index of the present parts lists them, whichever of its two names is read.
    let (_, parts) = read(folder.path(), "resourcelist.xml");
    let (header, _) = read(folder.path(), parts[0].loc.as_str());
    let index = header.link_for(&Relation::Index).unwrap().href.clone();
    assert_eq!(read(folder.path(), index.as_str()).1, parts);
}

#[test]
fn a14_the_parts_of_a_long_resource_dump_go_to_the_archive_with_it() {
    let folder = folder(&[("a", b"a"), ("b", b"b"), ("c", b"c")]);
    let mut options = options(folder.path());
    options.archives = Some(Archives::default());
    (options.dumps.policy, options.dumps.every) = (DumpPolicy::Always, Duration::ZERO);
    (options.dumps.part_entries, options.lists.entries) = (1, 2);
    for round in 0..3 {
        write(folder.path(), "a", format!("{round}").as_bytes());
        publish(&options, &NoMonitor).unwrap();
    }
    let (_, archived) = read(folder.path(), "resourcedump-archive.xml");
    assert_eq!(archived.len(), 2);
    for (round, dump) in archived.iter().enumerate() {
        let index = dump.loc.as_str();
        let mut texts = Vec::new();
        for part in read(folder.path(), index).1 {
            assert_eq!(part.metadata.at, dump.metadata.at, "of this snapshot, not of a later one");
            let (header, packages) = read(folder.path(), part.loc.as_str());
            assert_eq!(header.link_for(&Relation::Index).unwrap().href.as_str(), index);
            texts.extend(packages.iter().flat_map(|package| unpacked(folder.path(), package.loc.as_str())));
        }
        assert_eq!(texts, [format!("{round}"), "b".to_owned(), "c".to_owned()]);
    }
    // The dump in place has parts of its own.
    let parts = read(folder.path(), "resourcedump.xml").1;
    assert_eq!(parts.len(), 2);
    assert!(parts.iter().all(|part| read(folder.path(), part.loc.as_str()).1.len() < 3));
}

#[test]
fn a14_a_change_list_that_is_in_the_archive_alone_is_member_of_no_index() {
    let folder = folder(&[("a", b"a")]);
    let mut options = options(folder.path());
    options.archives = Some(Archives::default());
    options.lists.closed_lists = 2;
    options.lists.rotation.entries = 1;
    options.lists.snapshot_every = Duration::ZERO;
    for round in 0..8 {
        write(folder.path(), "a", format!("{round}").as_bytes());
        publish(&options, &NoMonitor).unwrap();
    }
    let members: Vec<_> =
        read(folder.path(), "changelist.xml").1.into_iter().map(|member| member.loc).collect();
    let archived = read(folder.path(), "changelist-archive.xml").1;
    assert!(archived.len() > members.len());
    let mut entries = 0;
    for list in archived.iter().map(|entry| &entry.loc) {
        let (header, changes) = read(folder.path(), list.as_str());
        let is_member = members.contains(list);
        assert_eq!(header.link_for(&Relation::Index).is_some(), is_member, "{list}");
        assert!(header.link_for(&Relation::Up).is_some());
        entries += changes.len();
    }
    assert!(entries >= 6, "the changes stay in the lists: {entries}");
}

/// One plain list has two halves of two changes each; when it is full, the older half leaves it.
#[test]
fn o131_an_archive_beside_one_plain_change_list_has_the_changes_that_left_it() {
    let folder = folder(&[("a", b"a")]);
    let mut options = options(folder.path());
    options.archives = Some(Archives::default());
    (options.lists.single_changelist, options.lists.entries) = (true, 4);
    for round in 0..9 {
        write(folder.path(), "a", format!("{round}").as_bytes());
        publish(&options, &NoMonitor).unwrap();
    }
    let archived = read(folder.path(), "changelist-archive.xml").1;
    assert!(!archived.is_empty());
    let mut times = Vec::new();
    for list in archived.iter().map(|entry| entry.loc.as_str()).chain(["changelist.xml"]) {
        let (header, changes) = read(folder.path(), list);
        assert_eq!(header.link_for(&Relation::Index), None, "{list} is a member of no index");
        times.extend(changes.iter().map(|change| change.metadata.datetime.unwrap()));
    }
    assert!(times.is_sorted_by(|earlier, later| earlier < later), "each change once, in order: {times:?}");
    assert_eq!(times.len(), 8);
}

#[test]
fn o131_lists_that_were_members_of_an_index_are_archived_when_one_plain_list_replaces_it() {
    let folder = folder(&[("a", b"a")]);
    let mut options = options(folder.path());
    options.archives = Some(Archives::default());
    options.lists.rotation.entries = 1;
    for round in 0..8 {
        write(folder.path(), "a", format!("{round}").as_bytes());
        options.lists.single_changelist = round == 4 || round == 5;
        publish(&options, &NoMonitor).unwrap();
        for list in read(folder.path(), "changelist-archive.xml").1 {
            let (header, changes) = read(folder.path(), list.loc.as_str());
            assert_eq!(header.metadata.unwrap().until, list.metadata.until);
            assert!(!changes.is_empty(), "{}", list.loc);
        }
    }
}

#[test]
fn a15_archives_of_both_kinds_of_dumps_are_filled() {
    let folder = folder(&[("a", b"a")]);
    let mut options = options(folder.path());
    options.archives = Some(Archives::default());
    options.dumps.policy = DumpPolicy::Always;
    options.dumps.every = Duration::ZERO;
    options.dumps.changes = true;
    options.lists.closed_lists = 2;
    for round in 0..5 {
        write(folder.path(), "a", format!("round {round}").as_bytes());
        publish(&options, &NoMonitor).unwrap();
    }
    for (archive, least) in [("resourcedump-archive.xml", 4), ("changedump-archive.xml", 1)] {
        let (_, archived) = read(folder.path(), archive);
        assert!(archived.len() >= least, "{archive}: {archived:?}");
        for dump in archived {
            let (_, packages) = read(folder.path(), dump.loc.as_str());
            assert!(!packages.is_empty());
            for package in packages {
                let name = package.loc.as_str().rsplit('/').next().unwrap();
                assert!(folder.path().join("resourcesync").join(name).exists(), "{name}");
            }
        }
    }
}

/// Returns the bitstreams in the packages of the Change Dump, in their order.
fn packed(folder: &Path) -> Vec<String> {
    let packages = read(folder, "changedump.xml").1;
    packages.iter().flat_map(|package| unpacked(folder, package.loc.as_str())).collect()
}

/// Returns the bitstreams in a package, in the order of its manifest.
fn unpacked(folder: &Path, package: &str) -> Vec<String> {
    let name = package.rsplit('/').next().unwrap();
    let file = fs::File::open(folder.join("resourcesync").join(name)).unwrap();
    let mut package = Package::open(file, PackageLimits::new()).unwrap();
    let entries = match package.read_manifest(ReadOptions::new()).unwrap() {
        Document::ChangeDumpManifest(manifest) => manifest.entries,
        Document::ResourceDumpManifest(manifest) => manifest.entries,
        other => panic!("{other:?}"),
    };
    let mut texts = Vec::new();
    for entry in entries {
        let mut text = String::new();
        let mut bitstream = package.bitstream(entry.metadata.path.as_ref().unwrap()).unwrap();
        std::io::Read::read_to_string(&mut bitstream, &mut text).unwrap();
        texts.push(text);
    }
    texts
}

#[test]
fn o417_a_state_of_a_change_dump_alone_goes_once_a_package_has_it() {
    let folder = folder(&[("a", b"first"), ("b", b"first")]);
    let mut options = options(folder.path());
    options.keep_states = true;
    options.dumps.changes = true;
    options.dumps.changes_every = Some(Duration::ZERO);
    let mut expected = Vec::new();
    for round in 0..5 {
        publish(&options, &NoMonitor).unwrap();
        let text = format!("a in round {round}");
        write(folder.path(), "a", text.as_bytes());
        expected.push(text);
    }
    publish(&options, &NoMonitor).unwrap();
    assert_eq!(packed(folder.path()), expected);
    assert_eq!(fs::read_dir(options.state.join("states")).unwrap().count(), 0);
}

#[test]
fn c13_past_states_are_kept_until_neither_a_version_nor_a_package_needs_them() {
    let folder = folder(&[("a", b"first"), ("b", b"first")]);
    let mut options = options(folder.path());
    let mut versions = VersionOptions::default();
    versions.count = 1;
    options.versions = Some(versions);
    options.dumps.changes = true;
    options.dumps.changes_every = Some(Duration::from_secs(3_600));
    let mut publisher = Publisher::open(options.clone()).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    let mut expected = Vec::new();
    for round in 0..21 {
        for name in ["a", "b"] {
            let text = format!("{name} in round {round}");
            write(folder.path(), name, text.as_bytes());
            expected.push(text);
        }
        publisher.publish(&NoMonitor).unwrap();
    }
    assert!(packed(folder.path()).is_empty(), "no change is an hour old");
    drop(publisher);

    options.dumps.changes_every = Some(Duration::ZERO);
    publish(&options, &NoMonitor).unwrap();
    assert_eq!(packed(folder.path()), expected);
    // One version of each resource, and nothing else, is kept from now on.
    let states = fs::read_dir(options.state.join("states")).unwrap().count();
    assert_eq!(states, 2);
}
