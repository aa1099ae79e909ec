//! Lists are compared with the held resources, and the results with those of a model that keeps everything in sets.

use std::collections::BTreeSet;

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};

use super::support::{TestPlace, commit, names, path, place, uri};
use crate::{
    plan::Desired,
    state::{CopyState, Operation, RowSet, SetId},
};

fn name(number: u32) -> String {
    format!("{number:05}")
}

fn wanted(numbers: impl IntoIterator<Item = u32>) -> Vec<Desired> {
    numbers.into_iter().map(|number| Desired::new(uri(&format!("http://h/{}", name(number))))).collect()
}

fn hold(state: &mut dyn CopyState, set: SetId, numbers: &BTreeSet<u32>) {
    let group: Vec<_> = numbers.iter().map(|number| place(&name(*number), set, false)).collect();
    commit(state, &group);
}

/// Compares a part with the state. Returns each URI, and `true` if it is held, in the order in which they were passed
/// on.
fn met(state: &dyn CopyState, set: SetId, named: &mut RowSet, part: &mut [Desired]) -> Vec<(String, bool)> {
    let mut met = Vec::new();
    let each = &mut |desired: &Desired, found: Option<&crate::state::HeldResource>, _: bool| {
        assert!(found.is_none_or(|found| found.uri == desired.uri));
        met.push((desired.uri.as_str().replace("http://h/", ""), found.is_some()));
    };
    state.meet(set, named, part, each).unwrap();
    met
}

fn surplus(state: &dyn CopyState, set: SetId, named: &RowSet, page: usize) -> Vec<String> {
    let mut surplus: Vec<String> = Vec::new();
    loop {
        let next = state.surplus_after(set, named, surplus.last().map(String::as_str), page).unwrap();
        if next.is_empty() {
            return surplus.into_iter().map(|uri| uri.replace("http://h/", "")).collect();
        }
        surplus.extend(next.into_iter().map(|held| held.uri.to_string()));
    }
}

pub(super) fn each_wanted_resource_meets_what_is_held_of_it_and_the_rest_is_surplus(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    for seed in 0..12 {
        let mut random = StdRng::seed_from_u64(seed);
        let all = if seed % 3 == 0 { 20_000 } else { 600 };
        let some = |random: &mut StdRng, most: usize| -> BTreeSet<u32> {
            let count = random.random_range(0..most);
            (0..count).map(|_| random.random_range(0..all)).collect()
        };
        let held = some(&mut random, if seed % 3 == 0 { 4_000 } else { 300 });
        hold(&mut *state, set, &held);
        let mut met_rows = state.named().unwrap();
        let mut named = BTreeSet::new();
        for _ in 0..4 {
            let part = some(&mut random, 80);
            let mut desired = wanted(part.iter().copied());
            desired.shuffle(&mut random);
            let expected: Vec<_> = part.iter().map(|number| (name(*number), held.contains(number))).collect();
            assert_eq!(met(&*state, set, &mut met_rows, &mut desired), expected, "seed {seed}");
            named.extend(part);
        }
        let expected: Vec<_> = held.difference(&named).map(|number| name(*number)).collect();
        let page = random.random_range(1..400);
        assert_eq!(surplus(&*state, set, &met_rows, page), expected, "seed {seed}");
        let removals: Vec<_> = held.iter().map(|number| super::support::remove(&name(*number))).collect();
        commit(&mut *state, &removals);
    }
}

pub(super) fn what_is_committed_during_the_run_is_no_surplus(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    commit(&mut *state, &[place("old", set, false)]);
    let met_rows = state.named().unwrap();
    commit(&mut *state, &[place("new", set, false)]);
    assert_eq!(surplus(&*state, set, &met_rows, 10), ["old"]);
    assert_eq!(surplus(&*state, set, &RowSet::empty(), 10), ["new", "old"]);
}

pub(super) fn a_resource_that_another_set_lists_joins_it(at: &TestPlace) {
    let mut state = at.open();
    let [set, other] = ["http://h/one.xml", "http://h/two.xml"].map(|name| state.set(name).unwrap());
    hold(&mut *state, set, &(0..3).collect());
    let mut met_rows = state.named().unwrap();
    let mut part = wanted([2, 0]);
    let joining = state.meet(other, &mut met_rows, &mut part, &mut |_, _, _| {}).unwrap();
    assert_eq!(joining, [uri("http://h/00000"), uri("http://h/00002")]);
    state.join(other, &joining).unwrap();
    assert_eq!(state.held_in(&[other]).unwrap(), 2);
    let mut named_before = 0;
    let mut count = |_: &Desired, _: Option<&_>, was_named: bool| named_before += u32::from(was_named);
    assert!(state.meet(other, &mut met_rows, &mut part, &mut count).unwrap().is_empty());
    assert_eq!(named_before, 2);
}

pub(super) fn uris_and_paths_are_in_the_order_of_their_bytes(at: &TestPlace) {
    const IN_ORDER: [&str; 8] = ["A", "Z", "_", "a", "a-b", "a.b", "ab", "~"];
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    let mut group: Vec<_> = IN_ORDER.iter().rev().map(|name| place(name, set, false)).collect();
    for (operation, to) in group.iter_mut().zip(["é", "Ä", "z", "a b", "a-b", "a", "B", "A"]) {
        if let Operation::Place { path: at, .. } = operation {
            *at = path(to);
        }
    }
    commit(&mut *state, &group);
    assert_eq!(names(&*state), IN_ORDER);
    let mut met_rows = state.named().unwrap();
    let mut part: Vec<_> =
        IN_ORDER.iter().map(|name| Desired::new(uri(&format!("http://h/{name}")))).collect();
    let expected: Vec<_> = IN_ORDER.iter().map(|name| ((*name).to_owned(), true)).collect();
    assert_eq!(met(&*state, set, &mut met_rows, &mut part), expected);
    let mut paths = Vec::new();
    let by_path = &mut |held: crate::state::HeldResource| {
        paths.push(held.path.as_str().to_owned());
        paths.len() < 7
    };
    state.held_by_path(by_path).unwrap();
    assert_eq!(paths, ["A", "B", "a", "a b", "a-b", "z", "Ä"]);
}

pub(super) fn a_few_of_many_are_met_without_the_rest(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    let held: BTreeSet<u32> = (0..9_000).map(|number| number * 2).collect();
    hold(&mut *state, set, &held);
    let mut met_rows = state.named().unwrap();
    let few = [0, 1, 40, 8_999, 9_000, 17_998, 17_999, 18_000];
    let expected: Vec<_> = few.map(|number| (name(number), held.contains(&number))).to_vec();
    assert_eq!(met(&*state, set, &mut met_rows, &mut wanted(few)), expected);
    let most = (0..18_100).filter(|number| number % 3 > 0);
    let expected: Vec<_> = most.clone().map(|number| (name(number), held.contains(&number))).collect();
    assert_eq!(met(&*state, set, &mut met_rows, &mut wanted(most)), expected);
    assert_eq!(met(&*state, set, &mut met_rows, &mut []), []);
}

pub(super) fn a_reader_sees_what_is_committed_while_the_writer_goes_on(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    let reader = state.reader().unwrap();
    assert_eq!(reader.held_count().unwrap(), 0);
    commit(&mut *state, &[place("a", set, false)]);
    assert_eq!(reader.held_count().unwrap(), 1);
    let beside = at.at.open_beside().unwrap();
    commit(&mut *state, &[place("b", set, false)]);
    assert_eq!((reader.held_count().unwrap(), beside.held_count().unwrap()), (2, 2));
    assert_eq!(beside.place(), state.place());
    let far = std::thread::spawn(move || reader.reader().unwrap().held("http://h/b").unwrap().is_some());
    assert!(far.join().unwrap());
}
