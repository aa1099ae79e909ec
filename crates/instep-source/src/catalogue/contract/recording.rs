//! Observations, and what becomes of them.

use std::thread;

use resourcesync::{ChangeFreq, Digests, Link, MediaType, PackagePath, Relation, Uri};

use super::support::{ContractPlace, at as time, changes, digests, file, gone, log, resource};
use crate::catalogue::{FileStamp, Observation, Resource};

fn found(number: usize) -> Observation {
    let uri = format!("http://x/{number}");
    let mut resource = Resource::new([&[0], uri.as_bytes()].concat(), Uri::parse(&uri).unwrap());
    resource.state.length = Some(number as u64);
    Observation::Found(resource)
}

pub(super) fn whatever_is_known_of_a_resource_is_read_back(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    let uri = Uri::parse("http://x/a").unwrap();
    let mut resource = Resource::new(b"\0http://x/a".to_vec(), uri.clone());
    resource.file = Some("/elsewhere/a".into());
    resource.sets = 1 << 63 | 1;
    resource.stamp = Some(FileStamp { length: 1, mtime_ns: -2, ctime_ns: 3, inode: u64::MAX });
    resource.rehash = true;
    let state = &mut resource.state;
    state.lastmod = Some("2013-01-03T09:00+01:00".parse().unwrap());
    state.length = Some(u64::MAX >> 2);
    state.digests = Digests::parse(
        "md5:1584abdf8ebdc9802ac0c6a7402c03b6 sha-256:854f61290e2e197a11bc91063afce22e43f8ccc655237050ace766adc68dc784 crc32:0a",
        |_| (),
    );
    state.media_type = Some(MediaType::new("text/html; charset=utf-8"));
    state.encoding = Some("gzip".into());
    state.changefreq = ChangeFreq::parse("daily");
    let mut link = Link::new(Relation::parse("duplicate"), Uri::parse("http://mirror/a?b&c").unwrap());
    link.pri = Some(1);
    link.modified = Some("2013".parse().unwrap());
    link.hash = state.digests.clone();
    link.length = Some(7);
    link.path = Some(PackagePath::new("/a/b"));
    link.media_type = Some(MediaType::new("a/b"));
    state.links.push(link);
    let mut own = file("own", "bytes");
    own.state.lastmod = Some(time(5));
    catalogue.record(vec![Observation::Found(resource.clone()), Observation::Found(own.clone())]).unwrap();
    drop(catalogue);

    let catalogue = at.open();
    let snapshot = catalogue.snapshot().unwrap();
    let mut read = snapshot.resource(&resource.key).unwrap().unwrap();
    assert_eq!((read.history.since.is_some(), read.history.changes), (true, 0));
    read.history = resource.history;
    assert_eq!(read, resource);
    let logged = changes(&snapshot);
    assert_eq!((&logged[0].uri, &logged[0].state), (&uri, &resource.state));
    assert_eq!(snapshot.resource(&own.key).unwrap().unwrap().state, own.state);
    let both = snapshot.resources_of(&[&own.key, b"none", &resource.key]).unwrap();
    let uris: Vec<_> = both.iter().map(|held| held.as_ref().map(|held| held.uri.as_str())).collect();
    assert_eq!(uris, [Some("http://x/own"), None, Some("http://x/a")]);
}

pub(super) fn a_snapshot_does_not_see_what_is_recorded_after_it(at: &ContractPlace) {
    let catalogue = at.open_baselined();
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

pub(super) fn what_many_record_at_once_is_recorded_once_each(at: &ContractPlace) {
    let catalogue = at.open_baselined();
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
    let logged = changes(&snapshot);
    assert!(logged.windows(2).all(|pair| pair[0].datetime < pair[1].datetime));
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}

pub(super) fn before_the_baseline_nothing_is_logged_and_after_it_everything(at: &ContractPlace) {
    let catalogue = at.open();
    let recorded =
        catalogue.record(vec![Observation::Found(file("a", "1")), Observation::Found(file("b", "1"))]);
    let recorded = recorded.unwrap();
    assert_eq!((recorded.created, recorded.sequence), (2, 0));
    catalogue.complete_baseline(1).unwrap();
    let batch =
        vec![gone("b"), Observation::Found(file("a", "2")), Observation::Found(file("c", "1")), gone("none")];
    let recorded = catalogue.record(batch).unwrap();
    assert_eq!((recorded.created, recorded.updated, recorded.deleted), (1, 1, 1));
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(log(&snapshot), ["deleted b", "updated a", "created c"]);
    let logged = changes(&snapshot);
    assert_eq!((&logged[1].before, &logged[1].state.digests), (&digests("1"), &digests("2")));
    assert!(logged[2].before.is_empty() && logged[0].state.digests.is_empty());
    assert_eq!(snapshot.resource(&resource("a").key).unwrap().unwrap().history.changes, 1);
    assert_eq!(snapshot.head().baselined, 1);
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}

pub(super) fn bytes_that_are_known_are_no_change_whatever_else_is_new(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    catalogue.record(vec![Observation::Found(file("a", "1"))]).unwrap();
    let revision = catalogue.head().unwrap().revision;
    let mut seen = file("a", "1");
    assert_eq!(catalogue.record(vec![Observation::Found(seen.clone())]).unwrap().refreshed, 0);
    seen.stamp = Some(FileStamp { length: 1, ..FileStamp::default() });
    assert_eq!(catalogue.record(vec![Observation::Found(seen.clone())]).unwrap().refreshed, 1);
    assert_eq!(catalogue.head().unwrap().revision, revision);
    seen.state.media_type = Some(MediaType::new("text/plain"));
    let rehashed = Observation::Rehashed { resource: seen.clone(), also: digests("1") };
    assert_eq!(catalogue.record(vec![rehashed]).unwrap().described, 1);
    assert_eq!(catalogue.record(vec![Observation::Changed(seen.clone())]).unwrap().updated, 1);
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(log(&snapshot), ["created a", "updated a"]);
    assert!(snapshot.head().revision > revision);
    let held = snapshot.resource(&seen.key).unwrap().unwrap();
    assert_eq!((held.stamp, held.state.media_type), (seen.stamp, seen.state.media_type));
}

pub(super) fn a_resource_that_leaves_a_set_is_deleted_there_and_no_where_else(at: &ContractPlace) {
    let catalogue = at.open();
    catalogue.complete_baseline(7).unwrap();
    let mut resource = file("a", "1");
    resource.sets = 3;
    catalogue.record(vec![Observation::Found(resource.clone())]).unwrap();
    resource.sets = 6;
    catalogue.record(vec![Observation::Found(resource.clone())]).unwrap();
    resource.uri = super::support::uri("moved");
    catalogue.record(vec![Observation::Found(resource.clone())]).unwrap();
    catalogue.record(vec![Observation::Moved { key: resource.key.clone(), stays_in: 3 }]).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let told: Vec<_> =
        changes(&snapshot).iter().map(|it| format!("{} {}", it.change.as_str(), it.sets)).collect();
    assert_eq!(told, ["created 3", "deleted 1", "created 4", "deleted 6", "created 6", "deleted 4"]);
    assert_eq!(snapshot.changes(1, 0).count(), 2);
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}

pub(super) fn one_key_may_come_several_times_in_a_batch(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    let batch = vec![
        Observation::Found(file("a", "1")),
        Observation::Found(file("a", "2")),
        gone("a"),
        Observation::Found(file("a", "3")),
        Observation::Found(file("b", "1")),
        gone("b"),
    ];
    catalogue.record(batch).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(
        log(&snapshot),
        ["created a", "updated a", "deleted a", "created a", "created b", "deleted b"]
    );
    let held: Vec<_> = snapshot.resources(1).map(Result::unwrap).collect();
    assert_eq!((held.len(), &held[0].state.digests), (1, &digests("3")));
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}

pub(super) fn times_go_on_after_those_of_another_process(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    catalogue.record(vec![Observation::Found(file("a", "1"))]).unwrap();
    let last = catalogue.now();
    catalogue.set_meta(Vec::new()).unwrap();
    drop(catalogue);
    // The clock of the other machine is slow.
    at.set_clock(0);
    let catalogue = at.open();
    assert!(catalogue.now() > last);
    catalogue.record(vec![gone("a")]).unwrap();
    let logged = changes(&catalogue.snapshot().unwrap());
    assert!(logged[1].datetime > last);
}
