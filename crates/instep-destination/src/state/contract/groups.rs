//! Groups: operations and what is recorded with them.

use resourcesync::{Link, MediaType, Relation};

use super::support::{TestPlace, at as time, commit, known_of, names, path, place, record, remove, uri};
use crate::{
    plan::Desired,
    state::{Checkpoint, HeldAt, Ledger, Operation, Owed, ResourceMetadata, Waits},
};

pub(super) fn what_is_placed_is_held_with_all_that_is_known_of_it(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    assert!(state.held_after(None, 1).unwrap().is_empty());
    let metadata = known_of(b"some bytes");
    let operation = Operation::Place {
        uri: uri("http://h/a?b=%C3%A9&c"),
        path: path("d/é"),
        key: Some("d/É".to_owned()),
        staged: 0,
        sets: set.mask(),
        metadata: metadata.clone(),
        replaces: false,
        place: HeldAt::Path,
    };
    commit(&mut *state, &[operation, place("plain", set, false)]);
    drop(state);
    let state = at.open();
    let held = state.held("http://h/a?b=%C3%A9&c").unwrap().unwrap();
    assert_eq!((held.path.as_str(), &held.metadata), ("d/é", &metadata));
    assert!(held.is_only_in(set));
    let plain = state.held("http://h/plain").unwrap().unwrap();
    assert_eq!(plain.metadata, ResourceMetadata { length: Some(1), ..ResourceMetadata::new() });
    assert_ne!(plain.id, held.id);
    assert_eq!(state.held("http://h/none").unwrap(), None);
    assert_eq!((state.held_count().unwrap(), state.held_bytes().unwrap()), (2, 11));
    assert_eq!(state.held_in(&[set]).unwrap(), 2);
    let files = state.files_after("", 10).unwrap();
    assert_eq!(files[0].digests, metadata.digests);
    assert_eq!((files[1].path.as_str(), files[1].length, files[1].id), ("plain", Some(1), plain.id));
    assert_eq!(state.files_after("http://h/a?b=%C3%A9&c", 1).unwrap(), [files[1].clone()]);
    assert_eq!(state.held_aside_at(&path("d/é")).unwrap(), Some(held));
}

pub(super) fn a_resource_that_is_placed_again_keeps_its_number_and_its_sets(at: &TestPlace) {
    let mut state = at.open();
    let [set, other] = ["http://h/one.xml", "http://h/two.xml"].map(|name| state.set(name).unwrap());
    commit(&mut *state, &[place("a", set, false)]);
    let first = state.held("http://h/a").unwrap().unwrap();
    commit(&mut *state, &[place("b", set, false), place("a", other, true)]);
    let second = state.held("http://h/a").unwrap().unwrap();
    assert_eq!(first.id, second.id);
    assert!(second.is_in(set) && second.is_in(other));
    assert_eq!(state.held_in(&[other]).unwrap(), 1);
    assert_eq!(state.held_in(&[set, other]).unwrap(), 2);
    let left = Ledger { left: vec![(uri("http://h/a"), set)], ..Ledger::default() };
    record(&mut *state, &left);
    assert!(state.held("http://h/a").unwrap().unwrap().is_only_in(other));
}

pub(super) fn operations_are_taken_in_their_order(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    commit(&mut *state, &[place("a", set, false), place("b", set, false), place("c", set, false)]);
    let moved = Operation::Move { uri: uri("http://h/a"), from: path("a"), to: path("a/%40body"), staged: 0 };
    let mut twice = place("d", set, false);
    if let Operation::Place { path: to, .. } = &mut twice {
        *to = path("d.2");
    }
    // An adopted file is passed in a slice of its own.
    let group = [moved, remove("b"), place("b", set, false), remove("c"), place("d", set, false)];
    state.commit_group(None, &[&group, &[twice]], &Ledger::default()).unwrap();
    assert_eq!(names(&*state), ["a", "b", "d"]);
    let at_path = |name: &str| state.held(name).unwrap().unwrap().path.as_str().to_owned();
    assert_eq!(at_path("http://h/a"), "a/%40body");
    assert_eq!(at_path("http://h/d"), "d.2");
    // It still has the name that its URI maps to.
    assert_eq!(state.held_like(&path("a")).unwrap().len(), 1);
    assert_eq!(state.held_at(&path("a")).unwrap(), None);
    assert_eq!(state.held_aside_at(&path("a/%40body")).unwrap().unwrap().uri, uri("http://h/a"));
}

pub(super) fn an_intent_stays_until_its_group_is_committed(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    state.set_waits(Waits::Disk).unwrap();
    let group = [place("a", set, false), remove("b")];
    let intent = state.write_intent(&group).unwrap();
    drop(state);
    let mut state = at.open();
    let found = state.intents().unwrap();
    assert_eq!((found.len(), found[0].0), (1, intent));
    assert_eq!(format!("{:?}", found[0].1), format!("{group:?}"));
    assert!(names(&*state).is_empty());
    state.set_waits(Waits::Order).unwrap();
    state.commit_group(Some(intent), &[&group[..1]], &Ledger::default()).unwrap();
    state.make_durable().unwrap();
    drop(state);
    let state = at.open();
    assert!(state.intents().unwrap().is_empty());
    assert_eq!(names(&*state), ["a"]);
}

pub(super) fn what_comes_with_a_group_is_committed_with_it(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    let placed = ["fresh", "linked", "lost", "same"].map(|name| place(name, set, false));
    commit(&mut *state, &placed);
    let mut fresh = ResourceMetadata::new();
    fresh.etag = Some("\"new\"".into());
    fresh.media_type = Some(MediaType::new("text/plain"));
    fresh.lastmod = Some(time(7));
    let links = vec![Link::new(Relation::Via, uri("http://o/x"))];
    let mut ledger = Ledger {
        refreshed: vec![
            (uri("http://h/fresh"), fresh.clone()),
            (uri("http://h/same"), ResourceMetadata::new()),
        ],
        linked: vec![(uri("http://h/linked"), links.clone()), (uri("http://h/same"), Vec::new())],
        gone: vec![(uri("http://h/gone"), set, time(9))],
        lost: vec!["http://h/lost".to_owned()],
        ..Ledger::default()
    };
    let mut checkpoint = Checkpoint::new();
    checkpoint.datetime = Some(time(11));
    ledger.checkpoints.insert(set, checkpoint);
    ledger.owe(set, Owed::new(Desired::new(uri("http://h/owed")), "missing: 404".to_owned()));
    record(&mut *state, &ledger);
    drop(state);
    let state = at.open();
    let held = |name: &str| state.held(&format!("http://h/{name}")).unwrap();
    let refreshed = held("fresh").unwrap().metadata;
    assert_eq!((refreshed.etag, refreshed.media_type), (fresh.etag, fresh.media_type));
    // The length and digests of the held bytes stay.
    assert_eq!((refreshed.lastmod, refreshed.length), (fresh.lastmod, Some(1)));
    assert_eq!(held("linked").unwrap().metadata.links, links);
    assert_eq!(
        held("same").unwrap().metadata,
        ResourceMetadata { length: Some(1), ..ResourceMetadata::new() }
    );
    assert_eq!(held("lost"), None);
    assert_eq!(state.gone(set, "http://h/gone").unwrap(), Some(time(9)));
    assert_eq!(state.checkpoint(set).unwrap().unwrap().datetime, Some(time(11)));
    assert_eq!(state.owed_count().unwrap(), 1);
}

pub(super) fn a_group_of_many_thousands_is_one(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    let name = |number: usize| format!("{number:05}");
    let group: Vec<_> = (0..5_000).map(|number| place(&name(number), set, false)).collect();
    let intent = state.write_intent(&group).unwrap();
    state.commit_group(Some(intent), &[&group], &Ledger::default()).unwrap();
    assert_eq!(state.held_count().unwrap(), 5_000);
    let page = state.held_after(Some("http://h/04997"), 10).unwrap();
    assert_eq!(page.iter().map(|held| held.path.as_str()).collect::<Vec<_>>(), ["04998", "04999"]);
    let mut ids: Vec<_> = state.held_after(None, 5_000).unwrap().iter().map(|held| held.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5_000);
    let removals: Vec<_> = (0..4_999).map(|number| remove(&name(number))).collect();
    commit(&mut *state, &removals);
    assert_eq!(names(&*state), ["04999"]);
}

pub(super) fn paths_that_look_alike_are_found_together(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    let named = |name: &str, to: &str| {
        let mut operation = place(name, set, false);
        if let Operation::Place { path: at, key, .. } = &mut operation {
            let mapped = at.clone();
            *at = path(to);
            *key = mapped.key_beside(at);
        }
        operation
    };
    commit(&mut *state, &[named("Readme", "Readme.1"), named("README", "README.2"), named("other", "other")]);
    let alike = state.held_like(&path("readme")).unwrap();
    assert_eq!(alike.iter().map(|held| held.path.as_str()).collect::<Vec<_>>(), ["README.2", "Readme.1"]);
    assert!(state.held_like(&path("others")).unwrap().is_empty());
    assert_eq!(state.held_at(&path("other")).unwrap().unwrap().uri, uri("http://h/other"));
}
