//! Looking for resources and changes as people and pages do.

use std::ops::ControlFlow;

use super::support::{ContractPlace, file, gone, resource};
use crate::catalogue::{Catalogue, ChangeCounts, FileStamp, Observation, ResourceTotals, lookup::KeyChild};

fn with(at: &ContractPlace, names: &[&str]) -> Catalogue {
    let catalogue = at.open();
    catalogue.record(names.iter().map(|name| Observation::Found(resource(name))).collect()).unwrap();
    catalogue
}

pub(super) fn p14_a_folder_has_its_own_items_only_each_once(at: &ContractPlace) {
    let catalogue = with(at, &["a", "a/1", "a/2/x", "a/2/y", "a0", "b/1", "c"]);
    let snapshot = catalogue.snapshot().unwrap();
    let names = |prefix: &[u8], from: &[u8], most| -> Vec<String> {
        let mut names = Vec::new();
        let mut add = |child| {
            names.push(match child {
                KeyChild::Folder(name) => format!("{}/", String::from_utf8_lossy(&name)),
                KeyChild::Resource(resource) => {
                    String::from_utf8_lossy(&resource.key[prefix.len()..]).into_owned()
                }
            });
            Ok(if names.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        snapshot.for_each_child(prefix, from, &mut add).unwrap();
        names
    };
    assert_eq!(names(b"\x01", b"", 99), ["a", "a/", "a0", "b/", "c"]);
    assert_eq!(names(b"\x01", b"b", 99), ["b/", "c"]);
    assert_eq!(names(b"\x01", b"", 2), ["a", "a/"]);
    assert_eq!(names(b"\x01a/", b"", 99), ["1", "2/"]);
    assert_eq!(names(b"\x01nothing/", b"", 99), [""; 0]);
    assert_eq!(snapshot.totals_below(b"\x01a/", 99).unwrap().resources, 3);
    assert_eq!(snapshot.totals_below(b"\x01a/", 2).unwrap().resources, 2);
    let many: Vec<String> = (0..3_000).map(|number| format!("d/{number:04}")).collect();
    catalogue.record(many.iter().map(|name| Observation::Found(resource(name))).collect()).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let mut seen = 0;
    let mut count = |_| {
        seen += 1;
        Ok(ControlFlow::Continue(()))
    };
    snapshot.for_each_child(b"\x01d/", b"", &mut count).unwrap();
    assert_eq!(seen, 3_000);
}

pub(super) fn p14_a_search_finds_every_part_of_a_uri_and_takes_no_wildcards(at: &ContractPlace) {
    let catalogue = with(at, &["one/Two.txt", "one/t_o.txt", "one/100%.txt", "other"]);
    let snapshot = catalogue.snapshot().unwrap();
    let found = |texts: &[&str], bounds: (&[u8], &[u8]), most| {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        snapshot.containing(&texts, bounds, most).unwrap().len()
    };
    let all: (&[u8], &[u8]) = (&[], &[]);
    assert_eq!(found(&["two"], all, 9), 1);
    assert_eq!(found(&["t_o"], all, 9), 1);
    assert_eq!(found(&["0%2"], all, 9), 1);
    assert_eq!(found(&["one%txt"], all, 9), 0);
    assert_eq!(found(&["one", ".TXT"], all, 9), 3);
    assert_eq!(found(&["one", ".txt"], all, 2), 2);
    assert_eq!(found(&[], all, 9), 4);
    assert_eq!(found(&["o"], (b"\x01other", &[]), 9), 1);
}

pub(super) fn p14_changes_are_counted_by_kind_and_outlive_the_log(at: &ContractPlace) {
    let catalogue = at.open();
    catalogue.record(vec![Observation::Found(resource("before"))]).unwrap();
    catalogue.complete_baseline(1).unwrap();
    let created = ["a", "b", "c"].map(|name| Observation::Found(resource(name)));
    catalogue.record(created.into()).unwrap();
    catalogue.record(vec![Observation::Changed(resource("a"))]).unwrap();
    catalogue.record(vec![gone("b")]).unwrap();
    catalogue.forget_changes(u64::MAX).unwrap();

    let counts = catalogue.snapshot().unwrap().activity(24, 30).unwrap();
    let sum = |kind: fn(&ChangeCounts) -> u64| counts.iter().map(kind).sum::<u64>();
    assert_eq!(counts.len(), 30);
    assert_eq!((sum(|day| day.created), sum(|day| day.updated), sum(|day| day.deleted)), (3, 1, 1));
    assert_eq!(sum(ChangeCounts::total), 5);
}

pub(super) fn stamps_come_in_the_order_of_keys_within_a_range(at: &ContractPlace) {
    let catalogue = at.open();
    let number = |number: usize| {
        let mut resource = resource(&format!("f/{number:04}"));
        let stamp = FileStamp { length: number as u64, ..FileStamp::default() };
        resource.stamp = (number != 7).then_some(stamp);
        resource.rehash = number == 8;
        Observation::Found(resource)
    };
    catalogue.record((0..2_500).map(number).collect()).unwrap();
    let mut stamps = catalogue.stamps(b"\x01f/0003".to_vec(), b"\x01f/2400".to_vec()).unwrap();
    let mut seen = Vec::new();
    while let Some((key, known)) = stamps.peek() {
        let name = String::from_utf8_lossy(&key[3..]).into_owned();
        seen.push((name, known.stamp.map(|stamp| stamp.length), known.rehash));
        stamps.advance().unwrap();
    }
    let wanted = (3_u64..2_400).map(|n| (format!("{n:04}"), (n != 7).then_some(n), n == 8));
    assert!(seen.into_iter().eq(wanted));
}

pub(super) fn outlines_and_totals_agree_with_the_resources(at: &ContractPlace) {
    let catalogue = at.open();
    let number = |number: usize| Observation::Found(file(&format!("{number:05}"), "four"));
    catalogue.record((0..2_100).map(number).collect()).unwrap();
    catalogue.record(vec![gone("00007")]).unwrap();
    let snapshot = catalogue.snapshot().unwrap();
    let (mut count, mut bytes, mut last) = (0, 0, Vec::new());
    snapshot
        .for_each_outline(1, |outline| {
            assert!(outline.key > last.as_slice() && outline.uri.starts_with("http://x/"));
            last = outline.key.to_vec();
            (count, bytes) = (count + 1, bytes + outline.length.unwrap_or_default());
        })
        .unwrap();
    let totals = ResourceTotals { resources: 2_099, bytes: 4 * 2_099 };
    assert_eq!((ResourceTotals { resources: count, bytes }, snapshot.totals(0).unwrap()), (totals, totals));
    assert_eq!(snapshot.totals(1).unwrap(), ResourceTotals::default());
    assert_eq!(snapshot.resources(1).count(), 2_099);
    assert_eq!(snapshot.resources_after(1, b"\x0102000").count(), 99);
    assert_eq!(snapshot.resources(2).count(), 0);
}

pub(super) fn the_changes_of_one_resource_come_newest_first(at: &ContractPlace) {
    let catalogue = at.open_baselined();
    for bytes in ["1", "2", "3"] {
        catalogue
            .record(vec![Observation::Found(file("a", bytes)), Observation::Found(file("b", bytes))])
            .unwrap();
    }
    let snapshot = catalogue.snapshot().unwrap();
    let sequences = |after, most| -> Vec<u64> {
        let found = snapshot.changes_of(&resource("a").uri, after, most).unwrap();
        found.iter().map(|change| change.sequence).collect()
    };
    assert_eq!(sequences(0, 9), [5, 3, 1]);
    assert_eq!(sequences(1, 1), [5]);
    assert_eq!(sequences(3, 9), [5]);
}
