//! Lists meet what is held: against a model that keeps everything in sets.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    plan::{Desired, Retrieval},
    state::{Action, ActionKind, Actions, CopyState, LoggedProblem, LoggedRun},
    store::MemoryStore,
};
use proptest::prelude::*;
use resourcesync::{DateTime, Digests, Link, MediaType, Relation};

use super::bench::{open, uri};

fn name(number: u16) -> String {
    format!("http://h/{number:05}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn each_wanted_resource_meets_what_is_held_of_it_and_the_rest_is_surplus(
        held in prop::collection::btree_set(0_u16..600, 0..300),
        parts in prop::collection::vec(prop::collection::btree_set(0_u16..600, 0..80), 0..5),
        page in 1_usize..40,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut copy = open(Arc::new(MemoryStore::new()), &dir.path().join("state.sqlite"), None);
        for number in &held {
            copy.add(&name(*number), b"x");
        }
        copy.flush();
        let state = copy.committer.state();
        let mut marks = state.marks().unwrap();
        for part in &parts {
            let mut desired: Vec<_> = part.iter().rev().map(|number| Desired::new(uri(&name(*number)))).collect();
            let mut met = BTreeSet::new();
            state.meet(copy.set, &mut marks, &mut desired, &mut |desired, found, _| {
                assert!(found.is_none_or(|found| found.uri == desired.uri));
                assert!(met.insert((desired.uri.to_string(), found.is_some())));
            }).unwrap();
            let expected = part.iter().map(|number| (name(*number), held.contains(number))).collect();
            prop_assert_eq!(met, expected);
        }
        let named: BTreeSet<_> = parts.iter().flatten().copied().collect();
        let expected: Vec<_> = held.difference(&named).map(|number| name(*number)).collect();
        let mut surplus: Vec<String> = Vec::new();
        loop {
            let after = surplus.last().cloned();
            let next = state.surplus_after(copy.set, &marks, after.as_deref(), page).unwrap();
            if next.is_empty() {
                break;
            }
            surplus.extend(next.into_iter().map(|held| held.uri.to_string()));
        }
        prop_assert_eq!(surplus, expected);
    }
}

#[test]
fn what_is_committed_during_the_run_is_no_surplus() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open(Arc::new(MemoryStore::new()), &dir.path().join("state.sqlite"), None);
    copy.add("http://h/old", b"x");
    copy.flush();
    let marks = copy.committer.state().marks().unwrap();
    copy.add("http://h/new", b"x");
    copy.flush();
    let surplus = copy.committer.state().surplus_after(copy.set, &marks, None, 10).unwrap();
    assert_eq!(surplus.iter().map(|held| held.uri.as_str()).collect::<Vec<_>>(), ["http://h/old"]);
}

#[test]
fn a_resource_that_another_set_lists_joins_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = open(Arc::new(MemoryStore::new()), &dir.path().join("state.sqlite"), None);
    copy.add("http://h/a", b"x");
    copy.flush();
    let other = copy.committer.state_mut().set("http://h/other.xml").unwrap();
    let state = copy.committer.state_mut();
    let mut marks = state.marks().unwrap();
    let mut part = [Desired::new(uri("http://h/a"))];
    let joining = state.meet(other, &mut marks, &mut part, &mut |_, _, _| {}).unwrap();
    assert_eq!(joining, [uri("http://h/a")]);
    state.join(other, &joining).unwrap();
    assert_eq!(state.held_count(Some(other)).unwrap(), 1);
    assert!(state.meet(other, &mut marks, &mut part, &mut |_, _, _| {}).unwrap().is_empty());
}

#[test]
fn actions_come_back_in_their_order_and_by_their_uri() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plan.sqlite");
    let mut actions = Actions::create(&path).unwrap();
    for number in (0..10_u16).rev() {
        let mut desired = Desired::new(uri(&name(number)));
        desired.metadata.length = Some(number.into());
        desired.metadata.lastmod = DateTime::parse("2013").ok();
        desired.metadata.datetime = DateTime::parse("2013-01-03T09:00:00.25+01:00").ok();
        desired.metadata.digests = Digests::parse("md5:1584abdf8ebdc9802ac0c6a7402c03b6", |_| {});
        desired.metadata.etag = Some("\"x\"".into());
        desired.metadata.media_type = Some(MediaType::new("text/plain"));
        desired.metadata.links = vec![Link::new(Relation::Via, uri("http://o/x"))];
        desired
            .set_retrieval(Retrieval { timegate: Some("http://o/gate".to_owned()), ..Retrieval::default() });
        let kind = if number % 2 == 0 { ActionKind::Create } else { ActionKind::Delete };
        actions.push(&Action::new(kind, desired.clone())).unwrap();
        assert_eq!(actions.for_uri(&name(number)).unwrap().unwrap().desired, desired);
    }
    let first = actions.after(0, 3).unwrap();
    let uris: Vec<_> = first.iter().map(|action| action.desired.uri.to_string()).collect();
    assert_eq!(uris, [name(9), name(8), name(7)]);
    assert_eq!(first[0].desired.retrieval().timegate.as_deref(), Some("http://o/gate"));
    let deletions = actions.of_kind_after(ActionKind::Delete, first[2].sequence, 10).unwrap();
    assert_eq!(deletions.len(), 3);
    assert_eq!(actions.totals(ActionKind::Create), (5, 20));
    assert_eq!((actions.remove(&name(8)).unwrap(), actions.remove(&name(8)).unwrap()), (1, 0));
    assert!(actions.for_uri(&name(8)).unwrap().is_none());
    assert_eq!(actions.for_uri(&name(7)).unwrap().unwrap().kind, ActionKind::Delete);
    assert_eq!(actions.totals(ActionKind::Create), (4, 12));
    actions.forget_after(4).unwrap();
    assert_eq!(actions.totals(ActionKind::Create), (1, 6));
    assert_eq!(actions.totals(ActionKind::Delete), (2, 16));
    drop(actions);
    assert!(!path.exists());
}

#[test]
fn the_log_remembers_the_last_run_and_its_problems() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = CopyState::open(&dir.path().join("state.sqlite")).unwrap();
    let started = DateTime::parse("2013-01-03T09:00:00Z").unwrap();
    state.begin_run(started, "baseline", None).unwrap();
    assert_eq!(state.last_ended_run(None).unwrap(), None);
    for _ in 0..3 {
        let id = state.begin_run(started, "baseline", None).unwrap();
        let mut run = LoggedRun::new(id, started, "baseline");
        run.finished = DateTime::parse("2013-01-03T09:00:07Z").ok();
        run.exit_code = Some(3);
        let problems =
            [LoggedProblem::new("wrong_digest", 2, Some(uri("http://h/a")), "md5 differs".to_owned())];
        state.finish_run(&run, &problems).unwrap();
        assert_eq!(state.last_ended_run(None).unwrap(), Some((run, problems.to_vec())));
    }
}

#[test]
fn b25_the_last_run_of_a_source_is_kept_however_often_another_is_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = CopyState::open(&dir.path().join("state.sqlite")).unwrap();
    let started = DateTime::from_unix_seconds(0);
    let sets = ["http://a/list.xml", "http://b/list.xml"].map(|name| state.set(name).unwrap());
    let [rare, often] = [("http://a/", sets[0]), ("http://b/", sets[1])]
        .map(|(url, set)| state.found_source(url, &[set]).unwrap());
    for (source, times) in [(rare, 1), (often, 150)] {
        for _ in 0..times {
            let id = state.begin_run(started, "list", Some(source)).unwrap();
            let mut run = LoggedRun::new(id, started, "list");
            (run.finished, run.exit_code) = (Some(started), Some(if source == rare { 3 } else { 0 }));
            let problem = LoggedProblem::new("missing", 1, None, "gone".to_owned());
            state.finish_run(&run, &[problem]).unwrap();
        }
    }
    let (run, problems) = state.last_ended_run(Some(rare)).unwrap().unwrap();
    assert_eq!((run.exit_code, problems.len()), (Some(3), 1));
    assert_eq!(state.last_ended_run(Some(often)).unwrap().unwrap().0.exit_code, Some(0));
}
