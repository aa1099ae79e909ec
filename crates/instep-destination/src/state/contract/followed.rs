//! The records of what a copy follows: Sources, sets, documents, settings.

use resourcesync::{Change, DateTime};

use super::support::{TestPlace, at as time, record, uri};
use crate::state::{Checkpoint, DocumentRecord, Ledger, PassedEntry, SetId, StateError};

pub(super) fn a_set_keeps_its_number_under_another_name(at: &TestPlace) {
    let mut state = at.open();
    let [one, two] = ["http://h/one.xml", "http://h/two.xml"].map(|name| state.set(name).unwrap());
    assert_ne!(one, two);
    assert_eq!(state.set("http://h/one.xml").unwrap(), one);
    state.rename_set("http://h/one.xml", "http://h/other.xml").unwrap();
    state.rename_set("http://h/unknown.xml", "http://h/nothing.xml").unwrap();
    drop(state);
    let state = at.open();
    assert_eq!(state.known_set("http://h/one.xml").unwrap(), None);
    assert_eq!(state.known_set("http://h/other.xml").unwrap(), Some(one));
    let names = [(one, "http://h/other.xml".to_owned()), (two, "http://h/two.xml".to_owned())];
    assert_eq!(state.sets().unwrap(), names);
}

pub(super) fn a_copy_follows_as_many_sets_as_it_can_and_no_more(at: &TestPlace) {
    let mut state = at.open();
    assert_eq!(state.free_set(1, "http://h/x").unwrap(), SetId(1));
    for number in 0..SetId::MOST {
        assert_eq!(state.set(&format!("http://h/{number}")).unwrap(), SetId(number));
    }
    let refused = state.set("http://h/more").unwrap_err();
    assert!(matches!(refused, StateError::TooManySets { .. }), "{refused}");
    assert!(refused.to_string().contains("http://h/more"));
    assert_eq!(state.set("http://h/7").unwrap(), SetId(7));
}

pub(super) fn o659_the_number_of_a_set_is_given_to_another_one_without_what_was_known_of_it(at: &TestPlace) {
    let mut state = at.open();
    let [one, two] = ["http://h/one.xml", "http://h/two.xml"].map(|name| state.set(name).unwrap());
    let source = state.found_source("http://h/", &[one, two]).unwrap();
    let mut ledger = Ledger { gone: vec![(uri("http://h/a"), one, time(7))], ..Ledger::default() };
    ledger.checkpoints.insert(one, Checkpoint { datetime: Some(time(9)), ..Checkpoint::new() });
    record(&mut *state, &ledger);
    ["of one", "of two"].iter().for_each(|name| state.set_setting(name, "value").unwrap());
    state.reuse_set(one, "http://h/new.xml", &["of one".to_owned(), "none".to_owned()]).unwrap();
    drop(state);
    let state = at.open();
    assert_eq!(state.known_set("http://h/one.xml").unwrap(), None);
    assert_eq!(state.known_set("http://h/new.xml").unwrap(), Some(one));
    assert_eq!((state.checkpoint(one).unwrap(), state.keeps_deletions(one).unwrap()), (None, false));
    assert_eq!(state.setting("of one").unwrap(), None);
    assert_eq!(state.setting("of two").unwrap().as_deref(), Some("value"));
    assert_eq!(state.sets_of(source).unwrap(), [two]);
}

pub(super) fn a_checkpoint_comes_back_as_it_was_committed(at: &TestPlace) {
    let mut state = at.open();
    let [set, other] = ["http://h/one.xml", "http://h/two.xml"].map(|name| state.set(name).unwrap());
    assert_eq!(state.checkpoint(set).unwrap(), None);
    let mut first = Checkpoint::new();
    first.datetime = DateTime::parse("2013-01-03T10:00:00.123Z").ok();
    let last = PassedEntry {
        uri: uri("http://h/package.zip"),
        datetime: DateTime::parse("2013-01-03").ok(),
        change: Change::Updated,
    };
    let second = Checkpoint {
        datetime: DateTime::parse("2013-01-03T10:00:01Z").ok(),
        last: Some(last),
        document: Some(uri("http://h/changelist.xml")),
        position: 9,
        leading: Some([7; 32]),
        newest: Some(time(1_357_000_000)),
    };
    for checkpoint in [first, second] {
        let mut ledger = Ledger::default();
        ledger.checkpoints.insert(set, checkpoint.clone());
        record(&mut *state, &ledger);
        drop(state);
        state = at.open();
        assert_eq!(state.checkpoint(set).unwrap(), Some(checkpoint.clone()));
        assert_eq!(state.checkpoint(other).unwrap(), None);
        assert_eq!(state.reached(&[set, other]).unwrap(), checkpoint.datetime);
    }
}

pub(super) fn settings_are_recorded_with_the_checkpoint_that_they_hold_as_of(at: &TestPlace) {
    let mut state = at.open();
    let set = state.set("http://h/one.xml").unwrap();
    assert_eq!(state.setting("coverage 0").unwrap(), None);
    for (seconds, text) in [(1, "first"), (2, "second")] {
        let checkpoint = Checkpoint { datetime: Some(time(seconds)), ..Checkpoint::new() };
        let mut ledger = Ledger::default();
        ledger.checkpoints.insert(set, checkpoint);
        ledger.settings.insert("coverage 0".to_owned(), text.to_owned());
        record(&mut *state, &ledger);
        assert_eq!(state.setting("coverage 0").unwrap().as_deref(), Some(text));
    }
    drop(state);
    let state = at.open();
    assert_eq!(state.setting("coverage 0").unwrap().as_deref(), Some("second"));
    assert_eq!(state.checkpoint(set).unwrap().unwrap().datetime, Some(time(2)));
}

pub(super) fn documents_and_settings_are_replaced(at: &TestPlace) {
    let mut state = at.open();
    let mut document = DocumentRecord::new(uri("http://h/changelist.xml"));
    assert_eq!(state.document(&document.uri).unwrap(), None);
    for digest in [None, Some([7; 32])] {
        document.digest = digest;
        document.etag = digest.map(|_| "\"x\"".into());
        document.last_modified = digest.map(|_| "Thu, 01 Jan 1970 00:00:00 GMT".into());
        document.at = digest.and_then(|_| DateTime::parse("2013-01-03T10:00:00.123Z").ok());
        document.extra = digest.map(|_| "{\"note\":\"ü\"}".into());
        let ledger = Ledger { documents: vec![document.clone()], ..Ledger::default() };
        record(&mut *state, &ledger);
        assert_eq!(state.document(&document.uri).unwrap(), Some(document.clone()));
    }
    assert_eq!(state.setting("url").unwrap(), None);
    for value in ["http://h/", "http://other/"] {
        state.set_setting("url", value).unwrap();
        assert_eq!(state.setting("url").unwrap().as_deref(), Some(value));
        state.make_durable().unwrap();
        assert_eq!(at.open().setting("url").unwrap().as_deref(), Some(value));
        // The run that opened it last can write it.
        state = at.open();
    }
}

pub(super) fn urls_that_lead_to_the_same_sets_are_one_source(at: &TestPlace) {
    let mut state = at.open();
    let [a, b, c] = ["http://a/l.xml", "http://b/l.xml", "http://c/l.xml"].map(|set| state.set(set).unwrap());
    let one = state.found_source("http://a/", &[a]).unwrap();
    let two = state.found_source("http://b/", &[b]).unwrap();
    state.set_belongs_to(c, two).unwrap();
    assert_eq!(state.sets_of(two).unwrap(), [b, c]);
    assert_eq!(state.source("http://a/").unwrap(), Some(one));
    let run = state.begin_run(time(0), "list", Some(one)).unwrap();
    state.set_setting(&one.way_record(), "{}").unwrap();
    // Another URL of the same Source: its record continues under the new URL, and the way to it is unknown.
    assert_eq!(state.found_source("http://a/index.html", &[a]).unwrap(), one);
    assert_eq!(state.setting(&one.way_record()).unwrap(), None);
    assert_eq!(state.source("http://a/").unwrap(), None);
    // Two Sources turn out to be one: the runs of the one that has no set any more are assigned to the other.
    let mut ended = crate::state::LoggedRun::new(run, time(0), "list");
    ended.finished = Some(time(1));
    state.finish_run(&ended, &[]).unwrap();
    assert_eq!(state.found_source("http://b/", &[a, b]).unwrap(), two);
    assert_eq!(state.sources().unwrap(), [(two, "http://b/".to_owned())]);
    assert_eq!(state.sets_of(two).unwrap(), [a, b, c]);
    assert_eq!(state.last_ended_run(Some(two)).unwrap().unwrap().0, ended);
}
