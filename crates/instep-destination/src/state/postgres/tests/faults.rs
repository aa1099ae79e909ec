//! Servers that are stopped, and connections that are lost, at each message of a group.

use std::{sync::mpsc, thread};

use instep_postgres::{EngineFault, ServerLink, Session};
use instep_testkit::{Cutter, PostgresServer, wait_until};
use resourcesync::{Change, DateTime};

use super::{copy, sql};
use crate::{
    map::CopyPath,
    plan::Desired,
    state::{
        Checkpoint, HeldAt, Ledger, Operation, Owed, ReadFollowed as _, ReadHeld as _, ReadPending as _,
        ReadState as _, ResourceMetadata, SetId, WriteGroups as _, WriteRecords as _,
        postgres::{DatabaseCopy, PostgresState},
    },
};

pub(super) fn place(name: &str, set: SetId) -> Operation {
    Operation::Place {
        uri: resourcesync::Uri::parse(&format!("http://h/{name}")).unwrap(),
        path: CopyPath::from_state(name).unwrap(),
        key: None,
        staged: 0,
        sets: set.mask(),
        metadata: ResourceMetadata { length: Some(1), ..ResourceMetadata::new() },
        replaces: false,
        place: HeldAt::Path,
    }
}

fn remove(name: &str) -> Operation {
    let Operation::Place { uri, path, .. } = place(name, SetId(0)) else { unreachable!() };
    Operation::Remove { uri, path, staged: 0 }
}

pub(super) fn names(state: &PostgresState) -> Vec<String> {
    let held = state.held_after(None, 100_000).unwrap();
    held.iter().map(|held| held.path.as_str().to_owned()).collect()
}

/// Commits a group with everything that a group may have.
fn commit_one(state: &mut PostgresState, set: SetId) {
    let group = [remove("old"), place("a", set), place("b", set)];
    let mut checkpoint = Checkpoint::new();
    checkpoint.datetime = Some(DateTime::from_unix_micros(7));
    let mut ledger = Ledger::default();
    ledger.checkpoints.insert(set, checkpoint);
    let owed = Desired::new(resourcesync::Uri::parse("http://h/owed").unwrap());
    ledger.owe(set, Owed::new(owed, "missing: 404".to_owned()));
    ledger.settle(set, "http://h/settled");
    let intent = state.write_intent(&group).unwrap();
    state.commit_group(Some(intent), &[&group], &ledger).unwrap();
}

/// Commits the group with this number: fifty files, an intent and a checkpoint.
pub(super) fn commit_fifty(state: &mut PostgresState, number: usize, set: SetId) {
    let name = |index: usize| format!("{number:03}-{index:02}");
    let group: Vec<_> = (0..50).map(|index| place(&name(index), set)).collect();
    let intent = state.write_intent(&group).unwrap();
    let mut ledger = Ledger::default();
    let mut checkpoint = Checkpoint::new();
    checkpoint.datetime = Some(DateTime::from_unix_micros(number as i64));
    ledger.checkpoints.insert(set, checkpoint);
    state.commit_group(Some(intent), &[&group], &ledger).unwrap();
}

/// Checks that everything that was committed in this number of groups is there, and each change once.
pub(super) fn assert_whole(state: &PostgresState, set: SetId, groups: usize) {
    assert_eq!(state.held_count().unwrap(), 50 * groups as u64);
    assert!(state.intents().unwrap().is_empty());
    let checkpoint = state.checkpoint(set).unwrap().unwrap();
    assert_eq!(checkpoint.datetime, Some(DateTime::from_unix_micros(groups as i64 - 1)));
    let changes = state.changes(100_000).unwrap();
    let mut uris: Vec<_> = changes.iter().map(|change| change.uri.as_str()).collect();
    assert!(uris.is_sorted(), "in the order of the groups");
    uris.dedup();
    assert_eq!((uris.len(), changes.len()), (50 * groups, 50 * groups));
}

#[test]
fn a_connection_that_is_lost_at_any_message_of_a_group_costs_nothing_and_repeats_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    for answers_are_lost in [false, true] {
        let cutter = Cutter::before(server.port(), answers_are_lost);
        for message in 1.. {
            let name = format!("{answers_are_lost} {message}");
            let through = DatabaseCopy::at(&server.url_at(cutter.port), &name, "here").unwrap();
            let mut state = PostgresState::open(&through).unwrap();
            let set = state.set("http://h/list.xml").unwrap();
            state.commit_group(None, &[&[place("old", set)]], &Ledger::default()).unwrap();
            state.record_changes();
            cutter.cut_at(message);
            commit_one(&mut state, set);
            let was_cut = cutter.has_cut();
            cutter.cut_at(0);
            drop(state);
            let state =
                PostgresState::open_beside(&DatabaseCopy::at(&server.url(), &name, "").unwrap()).unwrap();
            assert_eq!(names(&state), ["a", "b"], "{name}");
            assert!(state.intents().unwrap().is_empty(), "{name}");
            assert!(state.checkpoint(set).unwrap().is_some(), "{name}");
            let owed = state.owed_after(set, None, 10).unwrap();
            assert_eq!((owed.len(), owed[0].desired.attempts), (1, 1), "{name}");
            let told: Vec<_> = state.changes(100).unwrap().into_iter().map(|one| one.change).collect();
            assert_eq!(told, [Change::Deleted, Change::Created, Change::Created], "{name}");
            if !was_cut {
                assert!(message > 10, "a group has more messages");
                break;
            }
        }
    }
}

/// Commits groups on a thread of its own, and calls `happens` with the number of each that was committed. Returns the state
/// and its set.
pub(super) fn commit_while(
    url: String,
    groups: usize,
    mut happens: impl FnMut(usize),
) -> (PostgresState, SetId) {
    let (sender, committed) = mpsc::channel();
    let run = thread::spawn(move || {
        let mut state = PostgresState::open(&copy(&url, "here")).unwrap();
        let set = state.set("http://h/list.xml").unwrap();
        state.record_changes();
        for number in 0..groups {
            commit_fifty(&mut state, number, set);
            // Reads meanwhile are answered by the server that accepts writes.
            assert!(state.held(&format!("http://h/{number:03}-49")).unwrap().is_some());
            sender.send(number).unwrap();
        }
        (state, set)
    });
    while let Ok(number) = committed.recv() {
        happens(number);
    }
    run.join().unwrap()
}

#[test]
fn a_server_that_is_stopped_at_once_in_the_midst_of_a_run_makes_it_wait() {
    const GROUPS: usize = 60;
    const STOPS: [usize; 3] = [8, 24, 40];
    let Some(server) = PostgresServer::start() else { return };
    let (state, set) = commit_while(server.url(), GROUPS, |number| {
        if STOPS.contains(&number) {
            server.stop_at_once();
            server.begin();
        }
    });
    assert_whole(&state, set, GROUPS);
}

#[test]
fn o646_a_server_that_restarts_while_the_right_of_a_former_run_is_watched_is_waited_for() {
    let Some(server) = PostgresServer::start() else { return };
    drop(PostgresState::open(&copy(&server.url(), "here")).unwrap());
    sql(&server.url(), "UPDATE copy SET token = 'of the dead', folder = 'far away'");
    let link = ServerLink::new(copy(&server.url(), "here").address);
    let url = server.url();
    let opening = thread::spawn(move || PostgresState::open(&copy(&url, "here")).map(drop));
    let watches = |session: &Session| {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%LEFT JOIN beat%' AND pid <> pg_backend_pid()";
        Ok::<_, EngineFault>(session.one(sql, &[])?.try_get::<_, i64>(0)? > 0)
    };
    wait_until("the right is watched", || link.read(watches).unwrap());
    server.stop_at_once();
    server.begin();
    opening.join().unwrap().unwrap();
}
