//! Objects in object storage that have the bytes of resources, as rows of the state.

use instep_store::NameKind;

use super::support::{TestPlace, commit, path, place, record, remove, uri};
use crate::state::{CopyState, HeldAt, Ledger, Operation, PackTotals, Repacked, SetId};

fn at(key: &str, offset: u64, length: u64) -> HeldAt {
    HeldAt::Object { key: key.into(), offset, length }
}

/// Returns the operation for a resource whose bytes are a part of an object.
fn part(name: &str, set: SetId, of: HeldAt) -> Operation {
    let mut operation = place(name, set, false);
    if let Operation::Place { place, .. } = &mut operation {
        *place = of;
    }
    operation
}

/// Begins objects, and commits them with resources.
fn pack(state: &mut dyn CopyState, objects: &[(&str, u64)], operations: &[Operation]) {
    let keys: Vec<&str> = objects.iter().map(|(key, _)| *key).collect();
    state.begin_packs(&keys).unwrap();
    let packs = objects.iter().map(|(key, bytes)| ((*key).into(), *bytes)).collect();
    state.commit_group(None, &[operations], &Ledger { packs, ..Ledger::default() }).unwrap();
}

fn keys(keys: Vec<Box<str>>) -> Vec<String> {
    keys.into_iter().map(Into::into).collect()
}

fn totals(objects: u64, bytes: u64, dead: u64) -> PackTotals {
    PackTotals { objects, bytes, dead }
}

pub(super) fn an_object_is_begun_until_a_group_takes_it_over(place: &TestPlace) {
    let mut state = place.open();
    let set = state.set("http://h/list.xml").unwrap();
    state.begin_packs(&["packs/1", "packs/2", "objects/3"]).unwrap();
    drop(state);
    let mut state = place.open();
    assert_eq!(keys(state.begun_packs().unwrap()), ["packs/1", "packs/2", "objects/3"]);
    assert_eq!(state.pack_totals().unwrap(), PackTotals::default());
    let packs = vec![("packs/1".into(), 100), ("objects/3".into(), 5_000_000_000)];
    let group = [part("a", set, at("packs/1", 0, 60)), part("b", set, at("objects/3", 0, 5_000_000_000))];
    state.commit_group(None, &[&group], &Ledger { packs, ..Ledger::default() }).unwrap();
    assert_eq!(keys(state.begun_packs().unwrap()), ["packs/2"]);
    let asked = ["packs/1", "packs/2", "packs/zombie", "objects/3"].map(str::to_owned);
    assert_eq!(keys(state.unknown_packs(&asked).unwrap()), ["packs/zombie"]);
    assert!(state.unknown_packs(&[]).unwrap().is_empty());
    assert_eq!(state.held("http://h/a").unwrap().unwrap().place, at("packs/1", 0, 60));
    let files = state.files_after("", 10).unwrap();
    assert_eq!(files[1].place, at("objects/3", 0, 5_000_000_000));
    assert_eq!(state.pack_totals().unwrap(), totals(2, 5_000_000_100, 0));
    state.forget_packs(&["packs/2".into(), "packs/none".into()]).unwrap();
    assert!(state.begun_packs().unwrap().is_empty());
}

pub(super) fn a_part_of_an_object_is_dead_once_its_resource_has_another_version_or_none(place: &TestPlace) {
    let mut state = place.open();
    let set = state.set("http://h/list.xml").unwrap();
    let first = ["a", "b", "c"].map(|name| part(name, set, at("packs/1", 0, 30)));
    pack(&mut *state, &[("packs/1", 90)], &first);
    pack(&mut *state, &[("packs/2", 10)], &[part("a", set, at("packs/2", 0, 10))]);
    assert_eq!(state.pack_totals().unwrap(), totals(2, 100, 30));
    assert!(state.sparse_packs().unwrap().is_empty(), "a third is dead");
    commit(&mut *state, &[remove("b")]);
    assert_eq!(keys(state.sparse_packs().unwrap()), ["packs/1"]);
    assert!(state.dead_packs().unwrap().is_empty());
    // A move leaves the bytes where they are.
    let moved = Operation::Move { uri: uri("http://h/c"), from: path("c"), to: path("c/%40body"), staged: 0 };
    commit(&mut *state, &[moved]);
    assert_eq!(state.held("http://h/c").unwrap().unwrap().place, at("packs/1", 0, 30));
    commit(&mut *state, &[remove("c")]);
    assert_eq!(keys(state.dead_packs().unwrap()), ["packs/1"]);
    assert!(state.sparse_packs().unwrap().is_empty());
    state.forget_packs(&["packs/1".into()]).unwrap();
    assert_eq!(state.pack_totals().unwrap(), totals(1, 10, 0));
}

pub(super) fn o588_a_part_of_an_object_is_dead_once_its_resource_is_lost(place: &TestPlace) {
    let mut state = place.open();
    let set = state.set("http://h/list.xml").unwrap();
    let both = ["a", "b"].map(|name| part(name, set, at("packs/1", 0, 30)));
    pack(&mut *state, &[("packs/1", 60)], &both);
    assert!(state.dead_packs().unwrap().is_empty());
    let lost = vec!["http://h/a".to_owned(), "http://h/b".to_owned()];
    record(&mut *state, &Ledger { lost, ..Ledger::default() });
    assert_eq!(keys(state.dead_packs().unwrap()), ["packs/1"]);
}

pub(super) fn what_is_packed_anew_is_alive_where_it_went(place: &TestPlace) {
    let mut state = place.open();
    let set = state.set("http://h/list.xml").unwrap();
    let first = ["a", "b", "c"].map(|name| part(name, set, at("packs/1", 0, 30)));
    pack(&mut *state, &[("packs/1", 90)], &first);
    state.begin_packs(&["packs/2"]).unwrap();
    let moved = |name: &str, offset| Repacked {
        uri: uri(&format!("http://h/{name}")),
        to: at("packs/2", offset, 30),
    };
    let packs = vec![("packs/2".into(), 60)];
    record(
        &mut *state,
        &Ledger { packs, repacked: vec![moved("a", 0), moved("c", 30)], ..Ledger::default() },
    );
    assert_eq!(state.held("http://h/c").unwrap().unwrap().place, at("packs/2", 30, 30));
    assert_eq!(state.held("http://h/b").unwrap().unwrap().place, at("packs/1", 0, 30));
    assert_eq!(keys(state.sparse_packs().unwrap()), ["packs/1"]);
    assert_eq!(state.pack_totals().unwrap(), totals(2, 150, 60));
}

pub(super) fn names_among_held_paths_are_files_or_folders(place: &TestPlace) {
    let mut state = place.open();
    let set = state.set("http://h/list.xml").unwrap();
    pack(
        &mut *state,
        &[("packs/1", 90)],
        &["d/e/f", "g", "dx"].map(|name| part(name, set, at("packs/1", 0, 30))),
    );
    let kind = |name: &str| state.kind_at(&path(name)).unwrap();
    assert_eq!((kind("g"), kind("d/e/f")), (Some(NameKind::File), Some(NameKind::File)));
    assert_eq!((kind("d"), kind("d/e")), (Some(NameKind::Folder), Some(NameKind::Folder)));
    assert_eq!((kind("e"), kind("d/e/g"), kind("D")), (None, None, None));
}
