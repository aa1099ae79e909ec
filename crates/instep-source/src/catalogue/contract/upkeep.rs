//! Values, patches, versions, and what is dropped or moves.

use resourcesync::{DateTime, Digests, MediaType};

use super::support::{ContractPlace, START, at as time, changes, digests, file, gone, log, uri};
use crate::catalogue::{CatalogueMove, Keep, Observation, Patch, ResourceState, ResourceVersion};

fn found(number: usize) -> Observation {
    Observation::Found(file(&format!("{number:05}"), "1"))
}

pub(super) fn forgotten_changes_are_gone_and_the_head_says_so(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    catalogue.record((0..100).map(found).collect()).unwrap();
    catalogue.forget_changes(60).unwrap();
    catalogue.record(vec![gone("00001")]).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!((snapshot.head().forgotten, snapshot.head().sequence), (60, 101));
    let sequences: Vec<_> = changes(&snapshot).iter().map(|change| change.sequence).collect();
    assert!(sequences.into_iter().eq(61..=101));
}

pub(super) fn times_lead_to_sequences(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    catalogue.record((0..12_000).map(found).collect()).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let times: Vec<_> = changes(&snapshot).iter().map(|change| change.datetime).collect();
    for sequence in [1, 2, 777, 11_999, 12_000] {
        assert_eq!(snapshot.sequence_before(times[sequence - 1]).unwrap(), sequence as u64 - 1);
    }
    assert_eq!(snapshot.sequence_before(snapshot.at()).unwrap(), 12_000);
    drop(snapshot);
    catalogue.forget_changes(11_000).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(snapshot.sequence_before(DateTime::from_unix_micros(START)).unwrap(), 11_000);
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}

pub(super) fn kept_values_are_replaced_and_dropped(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    let value = |name: &str, value: Option<&[u8]>| (name.to_owned(), value.map(<[u8]>::to_vec));
    catalogue.set_meta(vec![value("a", Some(b"1")), value("b", Some(b""))]).unwrap();
    catalogue.set_meta(vec![value("a", Some(b"2\0\xff")), value("b", None)]).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(snapshot.meta("a").unwrap().as_deref(), Some(&b"2\0\xff"[..]));
    assert_eq!(snapshot.meta("b").unwrap(), None);
    catalogue.record(vec![found(1), found(2)]).unwrap();
    assert!(!catalogue.set_meta_and_forget(vec![value("c", Some(b"3"))], 1).unwrap());
    assert_eq!(catalogue.meta("c").unwrap().as_deref(), Some(&b"3"[..]));
    assert_eq!(catalogue.head().unwrap().forgotten, 1);
}

pub(super) fn patches_are_kept_with_their_changes(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    catalogue.record((1..=3).map(found).collect()).unwrap();
    let patch = Patch::new("p".to_owned(), &MediaType::new("application/vcdiff"), 9, &digests("p"));
    catalogue.set_patches(vec![(2, patch.clone())], ("patched".to_owned(), Some(b"2".to_vec()))).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let patches: Vec<_> = changes(&snapshot).into_iter().map(|change| change.patch).collect();
    assert_eq!(patches, [None, Some(patch), None]);
    assert_eq!(snapshot.meta("patched").unwrap().as_deref(), Some(&b"2"[..]));
}

fn version(micros: i64, bytes: Option<&str>) -> ResourceVersion {
    let state = bytes.map(|bytes| ResourceState { digests: digests(bytes), ..ResourceState::new() });
    ResourceVersion::new(time(micros), state)
}

pub(super) fn versions_are_kept_by_number_and_age(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    let beside = || ("versioned".to_owned(), Some(b"1".to_vec()));
    let keep = |versions: Vec<_>, count, since| {
        let dropped = catalogue.keep_versions(versions, Keep { count, since: time(since) }, beside());
        dropped.unwrap().iter().map(Digests::to_string).collect::<Vec<_>>()
    };
    let (a, b) = (uri("a"), uri("b"));
    let first = vec![
        (a.clone(), version(1, Some("1"))),
        (a.clone(), version(2, None)),
        (b.clone(), version(3, Some("1"))),
    ];
    assert_eq!(keep(first, 9, 0), [""; 0]);
    // A version that exists already stays as it is.
    assert_eq!(keep(vec![(a.clone(), version(1, Some("other")))], 9, 0), [""; 0]);
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(snapshot.versions(&a).unwrap(), [version(1, Some("1")), version(2, None)]);
    assert_eq!(snapshot.version_since(&b).unwrap(), Some(time(3)));
    assert_eq!(
        snapshot.versions_since(&[&b, &uri("none"), &a]).unwrap(),
        [Some(time(3)), None, Some(time(2))]
    );
    // The version removed by number is needed by another resource.
    assert_eq!(keep(vec![(a.clone(), version(4, Some("2")))], 2, 0), [""; 0]);
    assert_eq!(catalogue.without_version(vec![digests("1"), digests("0")]).unwrap(), [digests("0")]);
    // Versions superseded before then are removed by age.
    let last = vec![(b.clone(), version(5, Some("3"))), (a.clone(), version(6, Some("4")))];
    assert_eq!(keep(last, 9, 6), [digests("1").to_string()]);
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!(snapshot.versions(&a).unwrap(), [version(4, Some("2")), version(6, Some("4"))]);
    assert_eq!(snapshot.versions(&b).unwrap(), [version(5, Some("3"))]);
}

pub(super) fn a_source_that_moves_keeps_its_history_under_the_new_uris(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    let mut named = file("named", "1");
    named.key = b"\0http://x/named".to_vec();
    catalogue.record(vec![Observation::Found(file("a", "1")), Observation::Found(named)]).unwrap();
    let beside = ("versioned".to_owned(), Some(b"1".to_vec()));
    let keep = Keep { count: 9, since: time(0) };
    catalogue.keep_versions(vec![(uri("a"), version(1, Some("1")))], keep, beside).unwrap();
    let before = changes(&catalogue.snapshot().unwrap());
    catalogue.rebase("http://x/", "http://longer.example/", Vec::new()).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let uris: Vec<_> = snapshot.resources(1).map(|it| it.unwrap().uri.as_str().to_owned()).collect();
    assert_eq!(uris, ["http://longer.example/named", "http://longer.example/a"]);
    assert!(snapshot.resource(b"\0http://longer.example/named").unwrap().is_some());
    assert_eq!(log(&snapshot), ["created http://longer.example/a", "created http://longer.example/named"]);
    let times = |changes: &[crate::catalogue::ChangeRecord]| -> Vec<_> {
        changes.iter().map(|it| it.datetime).collect()
    };
    assert_eq!(times(&changes(&snapshot)), times(&before));
    let moved = resourcesync::Uri::parse("http://longer.example/a").unwrap();
    assert_eq!(snapshot.versions(&moved).unwrap().len(), 1);
}

pub(super) fn a_catalogue_is_read_beside_its_writer_and_not_written(at: &ContractPlace) {
    assert!(at.at.beside().unwrap().is_none());
    let catalogue = at.open_baselined();
    catalogue.record(vec![found(1)]).unwrap();
    let beside = at.at.beside().unwrap().unwrap();
    assert!(beside.is_beside());
    assert_eq!(beside.snapshot().unwrap().resources(1).count(), 1);
    catalogue.record(vec![found(2)]).unwrap();
    assert_eq!(beside.snapshot().unwrap().resources(1).count(), 2);
    beside.record(vec![found(3)]).unwrap_err();
    assert_eq!(catalogue.snapshot().unwrap().resources(1).count(), 2);
}

pub(super) fn o60_a_source_moves_below_its_own_base_url(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    let named = |name: &str| {
        let mut named = file(name, "1");
        named.key = format!("\0http://x/{name}").into_bytes();
        Observation::Found(named)
    };
    // Each gets the name that another one has before the move.
    let names = ["a", "d/a", "d/d/a", "d/z", "z"];
    catalogue.record(names.iter().map(|name| named(name)).collect()).unwrap();
    let versions = names.iter().map(|name| (uri(name), version(1, Some(name)))).collect();
    let beside = ("versioned".to_owned(), Some(b"1".to_vec()));
    catalogue.keep_versions(versions, Keep { count: 9, since: time(0) }, beside).unwrap();
    catalogue.rebase("http://x/", "http://x/d/", Vec::new()).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    for name in names {
        let moved = uri(&format!("d/{name}"));
        let key = format!("\0http://x/d/{name}").into_bytes();
        assert_eq!(snapshot.resource(&key).unwrap().unwrap().uri, moved);
        assert_eq!(snapshot.versions(&moved).unwrap(), [version(1, Some(name))]);
    }
    assert_eq!((snapshot.resources(1).count(), snapshot.damage().unwrap()), (5, Vec::new()));
}

pub(super) fn o821_sets_that_get_other_numbers_keep_their_resources_and_changes(at: &ContractPlace) {
    let catalogue = at.open();
    catalogue.complete_baseline(0b111).unwrap();
    let in_sets = |(name, sets): (&str, u64)| {
        let mut resource = file(name, "12");
        resource.sets = sets;
        Observation::Found(resource)
    };
    let all = [("a", 0b001), ("b", 0b010), ("c", 0b110), ("d", 0b111)];
    catalogue.record(all.map(in_sets).into()).unwrap();
    let value = ("sets".to_owned(), Some(b"1".to_vec()));
    catalogue.move_all(CatalogueMove::Sets(vec![(1, 0), (2, 1)]), vec![value]).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let held = |sets: u64| -> Vec<_> { snapshot.resources(sets).map(|it| it.unwrap().uri).collect() };
    assert_eq!(held(0b01), ["b", "c", "d"].map(uri));
    assert_eq!(held(0b10), ["c", "d"].map(uri));
    assert_eq!(held(u64::MAX).len(), 3, "no set has the other one");
    let logged = [0b01, 0b10, !0b11].map(|sets| snapshot.changes(sets, 0).count());
    assert_eq!(logged, [3, 2, 0]);
    assert_eq!((snapshot.head().baselined, snapshot.head().sequence), (0b11, 4));
    assert_eq!(snapshot.meta("sets").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(snapshot.damage().unwrap(), Vec::<String>::new());
}
