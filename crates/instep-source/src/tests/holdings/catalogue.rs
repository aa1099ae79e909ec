//! The catalogue by itself.

use std::thread;

use crate::catalogue::{Catalogue, CatalogueError, DatabaseError, Observation, Resource};
use resourcesync::{Digests, Link, MediaType, Relation, Uri};

fn found(number: usize) -> Observation {
    let uri = format!("http://x/{number}");
    let mut resource = Resource::new([&[0], uri.as_bytes()].concat(), Uri::parse(&uri).unwrap());
    resource.state.length = Some(number as u64);
    Observation::Found(resource)
}

fn new() -> (tempfile::TempDir, Catalogue) {
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
    catalogue.complete_baseline(1).unwrap();
    (folder, catalogue)
}

#[test]
fn whatever_is_known_of_a_resource_is_read_back() {
    let (_folder, catalogue) = new();
    let uri = Uri::parse("http://x/a").unwrap();
    let mut resource = Resource::new(b"\0http://x/a".to_vec(), uri.clone());
    resource.file = Some("/elsewhere/a".into());
    resource.sets = 1 << 63 | 1;
    let state = &mut resource.state;
    state.lastmod = Some("2013-01-03T09:00+01:00".parse().unwrap());
    state.length = Some(u64::MAX >> 1);
    state.digests = Digests::parse(
        "md5:1584abdf8ebdc9802ac0c6a7402c03b6 sha-256:854f61290e2e197a11bc91063afce22e43f8ccc655237050ace766adc68dc784 crc32:0a",
        |_| (),
    );
    state.media_type = Some(MediaType::new("text/html; charset=utf-8"));
    state.encoding = Some("gzip".into());
    state.changefreq = resourcesync::ChangeFreq::parse("daily");
    let mut link = Link::new(Relation::parse("duplicate"), Uri::parse("http://mirror/a?b&c").unwrap());
    link.pri = Some(1);
    link.modified = Some("2013".parse().unwrap());
    link.hash = state.digests.clone();
    link.length = Some(7);
    link.path = Some(resourcesync::PackagePath::new("/a/b"));
    link.media_type = Some(MediaType::new("a/b"));
    state.links.push(link);
    catalogue.record(vec![Observation::Found(resource.clone())]).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let mut read = snapshot.resource(&resource.key).unwrap().unwrap();
    assert_eq!((read.history.since.is_some(), read.history.changes), (true, 0));
    read.history = resource.history;
    assert_eq!(read, resource);
    let changes: Vec<_> = snapshot.changes(1, 0).collect::<Result<_, _>>().unwrap();
    assert_eq!((&changes[0].uri, &changes[0].state), (&uri, &resource.state));
}

#[test]
fn a_snapshot_does_not_see_what_is_recorded_after_it() {
    let (_folder, catalogue) = new();
    catalogue.record((0..2_000).map(found).collect()).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let mut resources = snapshot.resources(1);
    resources.next();
    catalogue.record((2_000..4_000).map(found).collect()).unwrap();
    assert_eq!(resources.count(), 1_999);
    assert_eq!(snapshot.changes(1, 0).count(), 2_000);
    let later = catalogue.snapshot().unwrap();
    assert_eq!(later.changes(1, 2_000).count(), 2_000);
    assert_eq!(later.count_changes(1, 3_999).unwrap(), 1);
    assert!(snapshot.at() < later.at());
    assert!(later.changes(1, 2_000).all(|change| change.unwrap().datetime > snapshot.at()));
}

#[test]
fn what_many_record_at_once_is_recorded_once_each() {
    let (_folder, catalogue) = new();
    thread::scope(|scope| {
        for client in 0..16 {
            let catalogue = &catalogue;
            scope.spawn(move || {
                for number in 0..20 {
                    let recorded = catalogue.record(vec![found(client * 100 + number)]).unwrap();
                    let head = catalogue.snapshot().unwrap().head();
                    assert!(recorded.created == 1 && recorded.sequence <= head.sequence);
                }
            });
        }
    });
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(snapshot.head().sequence, 320);
    assert_eq!(snapshot.totals(0).unwrap().resources, 320);
    let changes: Vec<_> = snapshot.changes(1, 0).map(Result::unwrap).collect();
    assert!(changes.windows(2).all(|pair| pair[0].datetime < pair[1].datetime));
}

#[test]
fn forgotten_changes_are_gone_and_the_head_says_so() {
    let (_folder, catalogue) = new();
    catalogue.record((0..100).map(found).collect()).unwrap();
    catalogue.forget_changes(60).unwrap();
    catalogue.record(vec![Observation::Gone { key: b"\0http://x/1".to_vec() }]).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!((snapshot.head().forgotten, snapshot.head().sequence), (60, 101));
    let sequences: Vec<_> = snapshot.changes(1, 0).map(|change| change.unwrap().sequence).collect();
    assert!(sequences.into_iter().eq(61..=101));
}

#[test]
fn kept_values_are_replaced_and_dropped() {
    let (_folder, catalogue) = new();
    catalogue.set_meta(vec![("a".to_owned(), Some(b"1".to_vec())), ("b".to_owned(), Some(vec![]))]).unwrap();
    catalogue.set_meta(vec![("a".to_owned(), Some(b"2".to_vec())), ("b".to_owned(), None)]).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(snapshot.meta("a").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(snapshot.meta("b").unwrap(), None);
}

#[test]
fn a_newer_schema_and_a_foreign_database_are_refused() {
    let (folder, catalogue) = new();
    let path = catalogue.file().to_owned();
    drop(catalogue);
    let database = rusqlite::Connection::open(&path).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    let refused = Catalogue::open(&path).unwrap_err();
    let database = |error| match error {
        CatalogueError::Database(error) => error,
        other => panic!("{other}"),
    };
    assert!(matches!(*database(refused), DatabaseError::Newer { found: 99, .. }));
    let foreign = folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute("CREATE TABLE a (b)", []).unwrap();
    assert!(matches!(*database(Catalogue::open(&foreign).unwrap_err()), DatabaseError::Foreign { .. }));
    let none = folder.path().join("none.db");
    std::fs::write(&none, "this is no database, but a text that is long enough for its header").unwrap();
    assert!(matches!(*database(Catalogue::open(&none).unwrap_err()), DatabaseError::Open { .. }));
}

#[test]
fn dropped_changes_give_their_space_back_and_times_lead_to_sequences() {
    let (_folder, catalogue) = new();
    catalogue.record((0..20_000).map(found).collect()).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let times: Vec<_> = snapshot.changes(1, 0).map(|change| change.unwrap().datetime).collect();
    for sequence in [1, 2, 777, 19_999, 20_000] {
        assert_eq!(snapshot.sequence_before(times[sequence - 1]).unwrap(), sequence as u64 - 1);
    }
    assert_eq!(snapshot.sequence_before(snapshot.at()).unwrap(), 20_000);
    drop(snapshot);
    catalogue.forget_changes(20_000).unwrap();
    let (before, after) = catalogue.compact().unwrap();
    assert!(after < before);
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!((snapshot.resources(1).count(), snapshot.changes(1, 0).count()), (20_000, 0));
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}
