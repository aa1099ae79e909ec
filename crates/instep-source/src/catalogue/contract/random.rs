//! Random operations, after which the contents of both engines must be equal.

use std::cell::Cell;

use instep_testkit::PostgresServer;
use proptest::prelude::*;
use resourcesync::MediaType;

use super::support::{ContractPlace, at as time, digests, file, resource, uri};
use crate::catalogue::{Catalogue, FileStamp, Keep, Observation, Patch, ResourceState, ResourceVersion};

#[derive(Clone, Debug)]
enum RandomStep {
    Record(Vec<Observation>),
    Baseline(u64),
    Meta(u8, Option<u8>),
    Forget(u64),
    Versions(Vec<(u8, i64, Option<u8>)>, usize, i64),
    Patches(Vec<u64>),
    Rebase(bool),
    Reopen,
}

fn seen() -> impl Strategy<Value = Observation> {
    let values =
        (0..12_u8, 0..4_u8, prop::sample::select(vec![1_u64, 2, 3, 1 << 63]), 0..3_u8, any::<bool>());
    (0..7_u8, values).prop_map(|(kind, (name, bytes, sets, stamp, typed))| {
        let mut resource = file(&name.to_string(), &bytes.to_string());
        resource.sets = sets;
        resource.stamp = (stamp > 0).then(|| FileStamp { length: stamp.into(), ..FileStamp::default() });
        resource.state.media_type = typed.then(|| MediaType::new("text/plain"));
        if bytes == 3 {
            resource.uri = uri(&format!("other/{name}"));
        }
        match kind {
            0 => Observation::Gone { key: resource.key },
            1 => Observation::Moved { key: resource.key, stays_in: sets },
            2 => Observation::Changed(resource),
            3 => Observation::Rehashed { resource, also: digests("1") },
            _ => Observation::Found(resource),
        }
    })
}

fn operation() -> impl Strategy<Value = RandomStep> {
    let versions = prop::collection::vec((0..3_u8, 0..20_i64, prop::option::of(0..4_u8)), 0..6);
    prop_oneof![
        8 => prop::collection::vec(seen(), 0..20).prop_map(RandomStep::Record),
        1 => prop::sample::select(vec![1_u64, 2, 1 << 63]).prop_map(RandomStep::Baseline),
        1 => (0..3_u8, prop::option::of(any::<u8>())).prop_map(|(name, value)| RandomStep::Meta(name, value)),
        1 => (0..60_u64).prop_map(RandomStep::Forget),
        2 => (versions, 1..4_usize, 0..20_i64).prop_map(|(all, count, since)| RandomStep::Versions(all, count, since)),
        1 => prop::collection::vec(0..40_u64, 0..4).prop_map(RandomStep::Patches),
        1 => any::<bool>().prop_map(RandomStep::Rebase),
        1 => Just(RandomStep::Reopen),
    ]
}

/// Carries out an operation, and returns its result as text.
fn apply(
    place: &ContractPlace,
    catalogue: &mut Option<Catalogue>,
    (number, operation): (i64, &RandomStep),
) -> String {
    let open = catalogue.get_or_insert_with(|| place.open());
    match operation.clone() {
        RandomStep::Record(batch) => format!("{:?}", open.record(batch).unwrap()),
        RandomStep::Baseline(sets) => format!("{:?}", open.complete_baseline(sets).unwrap()),
        RandomStep::Meta(name, value) => {
            let value = (name.to_string(), value.map(|value| vec![value]));
            format!("{:?}", open.set_meta(vec![value]).unwrap())
        }
        RandomStep::Forget(through) => {
            format!("{:?}", open.set_meta_and_forget(Vec::new(), through).unwrap())
        }
        RandomStep::Versions(all, count, since) => {
            let one = |(name, micros, bytes): (u8, i64, Option<u8>)| {
                let state = bytes.map(|bytes| ResourceState {
                    digests: digests(&bytes.to_string()),
                    ..ResourceState::new()
                });
                (uri(&name.to_string()), ResourceVersion::new(time(100 * number + micros), state))
            };
            let beside = ("versioned".to_owned(), Some(vec![1]));
            let keep = Keep { count, since: time(100 * (number - since)) };
            let mut dropped = open.keep_versions(all.into_iter().map(one).collect(), keep, beside).unwrap();
            dropped.sort_by_key(ToString::to_string);
            dropped.dedup();
            format!("{dropped:?}")
        }
        RandomStep::Patches(sequences) => {
            let patch = |sequence| {
                (sequence, Patch::new(format!("{sequence}"), &MediaType::new("a/b"), 1, &digests("p")))
            };
            let beside = ("patched".to_owned(), None);
            format!("{:?}", open.set_patches(sequences.into_iter().map(patch).collect(), beside).unwrap())
        }
        RandomStep::Rebase(there) => {
            let (from, to) = if there { ("http://x/", "http://y/z/") } else { ("http://y/z/", "http://x/") };
            format!("{:?}", open.rebase(from, to, Vec::new()).unwrap())
        }
        RandomStep::Reopen => {
            *catalogue = None;
            String::new()
        }
    }
}

/// Returns the whole content of a catalogue as text.
fn everything(catalogue: &Catalogue) -> Vec<String> {
    let snapshot = catalogue.snapshot().unwrap();
    let mut all = vec![format!("{:?} {:?}", snapshot.head(), snapshot.at())];
    all.extend(snapshot.resources(u64::MAX).map(|resource| format!("{:?}", resource.unwrap())));
    all.extend(snapshot.changes(u64::MAX, 0).map(|change| format!("{:?}", change.unwrap())));
    all.extend((0..64).map(|set| format!("{:?}", snapshot.totals(set).unwrap())));
    all.extend(["0", "1", "2", "versioned"].map(|name| format!("{:?}", snapshot.meta(name).unwrap())));
    for name in ["0", "1", "2"] {
        all.push(format!("{:?}", snapshot.versions(&uri(name)).unwrap()));
        all.push(format!("{:?}", snapshot.changes_of(&resource(name).uri, 3, 5).unwrap()));
    }
    all.push(format!("{:?}", snapshot.activity(1, 3).unwrap()));
    all.extend(snapshot.damage().unwrap());
    all
}

#[test]
fn both_engines_say_the_same_after_the_same_operations() {
    let Some(server) = PostgresServer::start() else { return };
    let number = Cell::new(0);
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let operations = prop::collection::vec(operation(), 1..24);
    let outcome = runner.run(&operations, |operations| {
        number.set(number.get() + 1);
        let places =
            [ContractPlace::file(), ContractPlace::at(&format!("{}?source={}", server.url(), number.get()))];
        let mut open = [None, None];
        for numbered in (0..).zip(&operations) {
            let [one, other] = [0, 1].map(|engine| apply(&places[engine], &mut open[engine], numbered));
            prop_assert_eq!(one, other, "{:?}", numbered);
        }
        let [one, other] = [0, 1].map(|engine| {
            let open = open[engine].get_or_insert_with(|| places[engine].open());
            everything(open)
        });
        prop_assert_eq!(one, other);
        Ok(())
    });
    outcome.unwrap();
}
