//! Archives: which lists they take, how much work they cause, and how they are split.

use super::*;
use crate::records::{Moment, PublishedDocument, PublishedPackage, PublishedResourceDump};

#[test]
fn closed_and_superseded_lists_go_to_the_archives_for_a_time() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.archives = Some(Archives { age: Duration::from_secs(60), count: 2 });
        options.lists.closed_lists = 1;
        options.lists.snapshot_every = Duration::ZERO;
        options.lists.grace = Duration::ZERO;
    });
    source.publish();
    for _ in 0..12 {
        source.set.change("a", Change::Updated);
        source.publish();
    }
    let (lists, superseded) = source.document("resourcelist-archive.xml");
    assert_eq!(lists.capability(), Some(&Capability::ResourceListArchive));
    assert_eq!(superseded.len(), 2, "as many as the operator keeps");
    for entry in &superseded {
        let (header, _) = source.document(entry.loc.as_str().rsplit('/').next().unwrap());
        assert_eq!(header.metadata.unwrap().at, entry.metadata.at);
    }
    let (_, closed) = source.document("changelist-archive.xml");
    assert_eq!(closed.len(), 3);
    assert!(closed.windows(2).all(|pair| pair[0].metadata.until == pair[1].metadata.from), "ARC-15");
    let (header, _) = source.document("changelist.xml");
    let archive = header.link_for(&Relation::Archives).unwrap().href.clone();
    assert_eq!(archive.as_str(), "http://example.com/resourcesync/changelist-archive.xml");
    let (_, offered) = source.document("capabilitylist.xml");
    let offered: Vec<_> =
        offered.iter().filter_map(|it| it.metadata.capability.as_ref()).map(Capability::as_str).collect();
    assert_eq!(offered, ["resourcelist", "changelist", "resourcelist-archive", "changelist-archive"]);

    source.set.seconds += 100;
    source.publish();
    assert!(source.document("resourcelist-archive.xml").1.is_empty(), "older than the operator keeps them");
    source.publish();
    let kept = source.sink.documents.keys().filter(|name| name.contains("resourcelist-2")).count();
    assert_eq!(kept, 0);
}

#[test]
fn what_archives_keep_is_read_when_it_changes_and_costs_other_publications_nothing() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.archives = Some(Archives { age: Duration::from_secs(10_000), count: 1_000 });
        options.lists.closed_lists = 0;
        options.lists.grace = Duration::from_secs(1);
    });
    source.publish();
    let change = |source: &mut Source, changes| {
        (0..changes).for_each(|_| source.set.change("a", Change::Updated));
        source.publish();
    };
    change(&mut source, 100);
    let (_, lists) = source.document("changelist-archive.xml");
    assert!(lists.len() > 30);
    let (read, known) = (source.archives_read, source.published.documents.len());
    assert!(known < 12, "the archived lists are not among them");
    for _ in 0..2 {
        change(&mut source, 1);
    }
    assert_eq!((source.archives_read, source.published.documents.len()), (read, known));
    source.set.seconds += 20_000;
    source.publish();
    source.publish();
    assert_eq!(source.archives_read, read + 1, "they are too old now");
    assert!(source.document("changelist-archive.xml").1.is_empty());
    let left = source.sink.documents.keys().filter(|name| name.contains("changelist-0")).count();
    assert_eq!(left, 1, "the open one");
    source.policy.archives = None;
    change(&mut source, 1);
    source.publish();
    assert!(!source.sink.documents.keys().any(|name| name.contains("archive")));
}

#[test]
fn a_large_archive_is_an_index_over_parts() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.archives = Some(Archives::default());
        options.lists.entries = 3;
    });
    source.publish();
    for _ in 0..20 {
        source.set.change("a", Change::Updated);
    }
    source.publish();
    let (header, members) = source.document("changelist-archive.xml");
    assert_eq!((header.form, members.len()), (Form::Index, 2));
}

#[test]
fn o67_a_list_that_an_interrupted_publication_did_not_put_in_place_is_not_archived() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.archives = Some(Archives::default());
        options.lists.closed_lists = 0;
        options.lists.snapshot_every = Duration::ZERO;
        options.lists.grace = Duration::ZERO;
    });
    let change = |source: &mut Source| {
        (0..8).for_each(|_| source.set.change("a", Change::Updated));
        source.publish();
    };
    source.publish();
    change(&mut source);
    let name = "resourcesync/resourcelist.xml";
    let list = source.sink.documents[name].clone();
    change(&mut source);
    assert_ne!(source.sink.documents[name], list);
    source.sink.documents.insert(name.to_owned(), list);
    source.is_interrupted = true;
    change(&mut source);
    let (_, archived) = source.document("resourcelist-archive.xml");
    assert!(!archived.is_empty());
    for entry in archived {
        let (header, _) = source.document(entry.loc.as_str().rsplit('/').next().unwrap());
        assert_eq!(header.metadata.unwrap().at, entry.metadata.at);
    }
}

#[test]
fn o469_lists_that_begin_anew_do_not_take_the_places_of_archived_ones() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.archives = Some(Archives::default());
        options.lists.closed_lists = 0;
        options.lists.snapshot_every = Duration::ZERO;
    });
    let change = |source: &mut Source| {
        (0..8).for_each(|_| source.set.change("a", Change::Updated));
        source.publish();
    };
    source.publish();
    change(&mut source);
    assert!(!source.document("changelist-archive.xml").1.is_empty());
    for is_offered in [false, true] {
        source.policy.sets[0].change_list = is_offered;
        source.publish();
    }
    (0..2).for_each(|_| change(&mut source));
    let (_, archived) = source.document("changelist-archive.xml");
    assert!(!archived.is_empty());
    for entry in archived {
        let (header, _) = source.document(entry.loc.as_str().rsplit('/').next().unwrap());
        let stated = header.metadata.unwrap();
        assert_eq!((stated.from, stated.until), (entry.metadata.from, entry.metadata.until));
    }
    let open = source.document("changelist.xml").1.pop().unwrap();
    let open = open.loc.as_str().rsplit('/').next().unwrap().to_owned();
    assert!(source.published.documents.contains_key(&format!("resourcesync/{open}")), "not the archive's");
}

#[test]
fn o531_a_dump_that_lost_a_package_is_not_archived() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| options.archives = Some(Archives::default()));
    source.publish();
    let (package, manifest) = ("dump.zip", "dump.xml");
    for name in [package, manifest].map(|name| format!("resourcesync/{name}")) {
        let bytes = source.sink.documents["resourcesync/capabilitylist.xml"].clone();
        let fact = PublishedDocument { length: bytes.len() as u64, digest: None };
        source.sink.documents.insert(name.clone(), bytes);
        source.published.documents.insert(name, fact);
    }
    let at = Moment(source.set.now().at);
    let packages = vec![PublishedPackage {
        package: package.to_owned(),
        manifest: manifest.to_owned(),
        length: 1,
        hash: String::new(),
    }];
    let dump = PublishedResourceDump { at, completed: at, sequence: 0, revision: 0, packages };
    source.published.sets.get_mut("").unwrap().resource_dump = Some(dump);
    source.publish();
    let archived = |source: &Source| {
        let (_, offered) = source.document("capabilitylist.xml");
        offered.iter().any(|it| it.metadata.capability == Some(Capability::ResourceDumpArchive))
    };
    assert!(archived(&source));
    source.sink.documents.remove("resourcesync/dump.zip");
    source.publish_over_damage();
    assert!(!archived(&source), "nothing is left of the dump");
}
