//! Changes of the copy, kept until a sink has received them.

use resourcesync::Change;

use super::support::{TestPlace, commit, known_of, path, place, remove, uri};
use crate::state::{HeldAt, Operation};

pub(super) fn each_change_is_kept_in_order_until_it_is_taken(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    commit(&mut *state, &[place("unrecorded", set, false)]);
    state.record_changes();
    commit(&mut *state, &[place("b", set, false), place("a", set, false), place("unrecorded", set, true)]);
    commit(&mut *state, &[remove("b")]);
    drop(state);
    let mut state = at.open();
    let found = state.changes(10).unwrap();
    let told: Vec<_> = found.iter().map(|one| (one.change.clone(), one.path.as_str())).collect();
    let expected = [
        (Change::Created, "b"),
        (Change::Created, "a"),
        (Change::Updated, "unrecorded"),
        (Change::Deleted, "b"),
    ];
    assert_eq!(told, expected);
    assert!(found.is_sorted_by(|a, b| a.sequence < b.sequence));
    assert_eq!(state.changes(2).unwrap(), found[..2]);
    state.forget_changes(found[1].sequence).unwrap();
    assert_eq!(state.changes(10).unwrap(), found[2..]);
    state.forget_changes(found[3].sequence).unwrap();
    state.record_changes();
    commit(&mut *state, &[place("c", set, false)]);
    assert!(state.changes(10).unwrap()[0].sequence > found[3].sequence, "numbers are not given twice");
}

pub(super) fn a_change_has_what_was_held_when_it_was_made(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    state.record_changes();
    let metadata = known_of(b"some bytes");
    let operation = Operation::Place {
        uri: uri("http://h/a"),
        path: path("a"),
        key: None,
        staged: 0,
        sets: set.mask(),
        metadata: metadata.clone(),
        replaces: false,
        place: HeldAt::Path,
    };
    commit(&mut *state, &[operation]);
    commit(&mut *state, &[remove("a")]);
    for change in state.changes(10).unwrap() {
        assert_eq!((change.uri.as_str(), change.length), ("http://h/a", metadata.length));
        assert_eq!(change.digests, metadata.digests);
        assert_eq!((change.lastmod, change.datetime), (metadata.lastmod, metadata.datetime));
    }
}

pub(super) fn versions_and_moves_are_no_changes_of_a_deleted_resource(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("urn:instep:versions").unwrap();
    state.record_changes();
    commit(&mut *state, &[place("a", set, false), place("a#2013", set, false)]);
    let moved = Operation::Move { uri: uri("http://h/a"), from: path("a"), to: path("a/%40body"), staged: 0 };
    commit(&mut *state, &[moved]);
    let told = state.changes(10).unwrap();
    let told: Vec<_> = told.iter().map(|one| (one.change.clone(), one.path.as_str())).collect();
    assert_eq!(told, [(Change::Created, "a"), (Change::Updated, "a/%40body")]);
}
