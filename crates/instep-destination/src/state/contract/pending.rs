//! Pending retries, and deletions that are kept.

use super::support::{TestPlace, at as time, commit, known_of, place, record, uri};
use crate::{
    plan::{Desired, DesiredPresence, Retrieval},
    state::{KeptDeletion, Ledger, Owed, ResourceMetadata},
};

fn owed(name: &str, why: &str) -> Owed {
    Owed::new(Desired::new(uri(&format!("http://h/{name}"))), why.to_owned())
}

pub(super) fn what_is_owed_is_owed_by_each_set_apart(at: &TestPlace) {
    let mut state = at.open();
    let [one, two] = ["http://a/l.xml", "http://b/l.xml"].map(|name| state.set(name).unwrap());
    let sources =
        [("http://a/", one), ("http://b/", two)].map(|(url, set)| state.found_source(url, &[set]).unwrap());
    let mut ledger = Ledger::default();
    ledger.owe(one, owed("both", "missing: 404"));
    ledger.owe(two, owed("both", "missing: 404"));
    ledger.owe(two, owed("only", "timeout: \0 in a message"));
    record(&mut *state, &ledger);
    assert_eq!((state.owed_count().unwrap(), state.owed_of(sources[1]).unwrap()), (3, 2));
    // One of the two sets got the file.
    commit(&mut *state, &[place("both", one, false)]);
    assert_eq!(state.owed_after(one, None, 10).unwrap(), []);
    assert!(state.is_owed("http://h/both").unwrap());
    let of = |set| state.owed(set, "http://h/both").unwrap().map(|owed| owed.why);
    assert_eq!((of(one), of(two).as_deref()), (None, Some("missing: 404")));
    let mut ledger = Ledger::default();
    ledger.settle(two, "http://h/both");
    record(&mut *state, &ledger);
    assert!(!state.is_owed("http://h/both").unwrap());
    let left = state.owed_after(two, None, 10).unwrap();
    assert_eq!(left.iter().map(|one| one.desired.uri.as_str()).collect::<Vec<_>>(), ["http://h/only"]);
    assert!(left[0].why.starts_with("timeout: ") && left[0].why.ends_with(" in a message"));
    assert_eq!((state.owed_of(sources[0]).unwrap(), state.owed_of(sources[1]).unwrap()), (0, 1));
}

pub(super) fn what_is_owed_comes_back_as_it_was_and_goes_when_its_resource_comes(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    let mut desired = Desired::new(uri("http://h/a"));
    desired.metadata = known_of(b"expected");
    desired.attempts = 6;
    desired.set_retrieval(Retrieval { timegate: Some("http://o/gate".to_owned()), ..Retrieval::default() });
    let mut gone = Desired::new(uri("http://h/b"));
    gone.presence = DesiredPresence::Absent;
    let all = [Owed::new(desired, "missing: 404".to_owned()), Owed::new(gone, "storage: full".to_owned())];
    let mut ledger = Ledger::default();
    all.iter().for_each(|one| ledger.owe(set, one.clone()));
    record(&mut *state, &ledger);
    drop(state);
    let mut state = at.open();
    assert_eq!(state.owed_after(set, None, 10).unwrap(), all);
    assert_eq!(state.owed_after(set, Some("http://h/a"), 10).unwrap(), all[1..]);
    assert_eq!(state.owed_after(set, None, 1).unwrap(), all[..1]);
    // One more attempt replaces the earlier one.
    let again = Owed::new(all[0].desired.clone(), "timeout: 30 s".to_owned());
    let mut ledger = Ledger::default();
    ledger.owe(set, again.clone());
    record(&mut *state, &ledger);
    assert_eq!(state.owed_after(set, None, 1).unwrap(), [again]);
    commit(&mut *state, &[place("a", set, false)]);
    assert_eq!(state.owed_after(set, None, 10).unwrap(), all[1..]);
}

pub(super) fn pending_retries_come_in_pages(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/list.xml").unwrap();
    let mut ledger = Ledger::default();
    for number in 0..2_500 {
        ledger.owe(set, owed(&format!("{number:04}"), "missing: 404"));
    }
    record(&mut *state, &ledger);
    let page = state.pending_retries("http://h/1233", 2).unwrap();
    let uris: Vec<_> = page.iter().map(|one| (one.uri.as_str(), one.attempts, one.reason.as_str())).collect();
    assert_eq!(uris, [("http://h/1234", 1, "missing: 404"), ("http://h/1235", 1, "missing: 404")]);
    let (mut count, mut after) = (0, None::<String>);
    loop {
        let page = state.owed_after(set, after.as_deref(), 700).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.desired.uri.to_string());
        count += page.len();
    }
    assert_eq!(count, 2_500);
}

pub(super) fn deletions_are_kept_until_a_later_inventory(at: &TestPlace) {
    let mut state = at.open();
    let [set, other] = ["http://h/one.xml", "http://h/two.xml"].map(|name| state.set(name).unwrap());
    assert!(!state.keeps_deletions(set).unwrap());
    let gone = |name: &str, seconds| (uri(&format!("http://h/{name}")), set, time(seconds));
    let ledger = Ledger { gone: vec![gone("a", 7), gone("b", 8), gone("a", 9)], ..Ledger::default() };
    record(&mut *state, &ledger);
    assert!(state.keeps_deletions(set).unwrap() && !state.keeps_deletions(other).unwrap());
    assert_eq!(state.gone(set, "http://h/a").unwrap(), Some(time(9)));
    assert_eq!(state.gone(other, "http://h/a").unwrap(), None);
    assert_eq!(state.held_though_gone_after(set, None, 10).unwrap(), [], "neither is held");
    commit(&mut *state, &[place("a", set, false), place("c", set, false)]);
    let mut held = [KeptDeletion { uri: uri("http://h/a"), deleted: time(9), changed: None }];
    assert_eq!(state.held_though_gone_after(set, None, 10).unwrap(), held);
    assert!(held[0].is_kept());
    let metadata = ResourceMetadata { datetime: Some(time(9)), ..known_of(b"some bytes") };
    record(&mut *state, &Ledger { refreshed: vec![(uri("http://h/a"), metadata)], ..Ledger::default() });
    held[0].changed = Some(time(9));
    assert!(!held[0].is_kept());
    assert_eq!(state.held_though_gone_after(set, None, 10).unwrap(), held);
    assert_eq!(state.held_though_gone_after(set, Some("http://h/a"), 10).unwrap(), []);
    state.forget_deletions(set, time(9)).unwrap();
    assert_eq!(state.gone(set, "http://h/b").unwrap(), None);
    assert_eq!(state.gone(set, "http://h/a").unwrap(), Some(time(9)));
    state.forget_deletions(set, time(10)).unwrap();
    assert!(!state.keeps_deletions(set).unwrap());
}

pub(super) fn o507_old_deletions_are_forgotten_but_for_those_that_are_left_to_do(at: &TestPlace) {
    let mut state = at.open();
    let [set, other] = ["http://h/one.xml", "http://h/two.xml"].map(|name| state.set(name).unwrap());
    let gone = |name: &str, set, seconds| (uri(&format!("http://h/{name}")), set, time(seconds));
    let gone = vec![gone("a", set, 7), gone("b", set, 7), gone("c", set, 9), gone("a", other, 7)];
    record(&mut *state, &Ledger { gone, ..Ledger::default() });
    commit(&mut *state, &[place("b", set, false)]);
    state.forget_old_deletions(set, time(9)).unwrap();
    let left = |set, name| state.gone(set, name).unwrap();
    assert_eq!((left(set, "http://h/a"), left(other, "http://h/a")), (None, Some(time(7))));
    assert_eq!((left(set, "http://h/b"), left(set, "http://h/c")), (Some(time(7)), Some(time(9))));
}

pub(super) fn the_deletion_of_what_exists_again_is_forgotten_by_its_set(at: &TestPlace) {
    let mut state = at.open();
    let [set, other] = ["http://h/one.xml", "http://h/two.xml"].map(|name| state.set(name).unwrap());
    let (a, b) = (uri("http://h/a"), uri("http://h/b"));
    let gone = vec![(a.clone(), set, time(7)), (a.clone(), other, time(7)), (b.clone(), set, time(7))];
    record(&mut *state, &Ledger { gone, ..Ledger::default() });
    record(&mut *state, &Ledger { returned: vec![(a, set)], ..Ledger::default() });
    let left = |set, name| state.gone(set, name).unwrap();
    assert_eq!((left(set, "http://h/a"), left(other, "http://h/a")), (None, Some(time(7))));
    assert_eq!(left(set, "http://h/b"), Some(time(7)));
}
