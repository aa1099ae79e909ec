//! Work that is done together: lookups of many names in one statement, and a run that waits for the helpers of the last
//! one.

use std::{collections::BTreeSet, thread};

use instep_testkit::{PostgresServer, wait_until};
use tokio_util::sync::CancellationToken;

use super::{copy, faults::place, sql};
use crate::{
    map::CopyPath,
    state::{
        JoinedPlan, Ledger, NewSlice, ReadHeld as _, ReadPacks as _, SharePlan as _, WaitingPlans,
        WriteGroups as _, WriteRecords as _, postgres::PostgresState,
    },
};

#[test]
fn o75_names_that_nothing_has_are_found_for_many_resources_at_once() {
    let Some(server) = PostgresServer::start() else { return };
    let mut state = PostgresState::open(&copy(&server.url(), "folder")).unwrap();
    let set = state.set("http://h/").unwrap();
    state.commit_group(None, &[&[place("a", set), place("d/b", set)]], &Ledger::default()).unwrap();
    let paths = ["a", "a/c", "b", "d", "d/b", "d/c", "d0"].map(|path| CopyPath::from_state(path).unwrap());
    let free = state.free_names(&paths.each_ref()).unwrap();
    let one_by_one = paths.iter().filter(|path| state.kind_at(path).unwrap().is_none());
    assert_eq!(free, one_by_one.map(|path| path.as_str().to_owned()).collect::<BTreeSet<_>>());
    assert_eq!(free.len(), 4, "{free:?}");
}

#[test]
fn o78_who_takes_a_shared_plan_over_waits_until_helpers_have_committed() {
    let Some(server) = PostgresServer::start() else { return };
    let at = copy(&server.url(), "folder");
    let mut first = PostgresState::open(&at).unwrap();
    let set = first.set("http://h/").unwrap();
    first.begin_plan(set).unwrap();
    first.add_slices(&[NewSlice { id: 1, turn: 0, total: 1, actions: Vec::new() }]).unwrap();
    drop(first.seal_plan().unwrap());
    let JoinedPlan { state: mut helper, board, .. } = PostgresState::join(&at).unwrap().unwrap();
    // All workers are in one process here, so one gets another name.
    let rename = format!("UPDATE instep.share SET name = 'another process' WHERE sharer = {}", board.me());
    sql(&server.url(), &rename);
    assert!(!board.is_ending().unwrap());

    let next = at.clone().after_former_writer();
    let next = thread::spawn(move || PostgresState::open(&next).unwrap());
    wait_until("the helper is to end", || board.is_ending().unwrap());
    helper.commit_group(None, &[&[place("late", set)]], &Ledger::default()).unwrap();
    drop(helper);
    let next = next.join().unwrap();
    assert!(next.held("http://h/late").unwrap().is_some());
    assert!(PostgresState::join(&at).unwrap().is_none(), "the plan is gone");
}

#[test]
fn o964_the_slices_of_a_process_that_has_ended_are_free_at_once_but_for_those_of_its_own_run() {
    let Some(server) = PostgresServer::start() else { return };
    let at = copy(&server.url(), "folder");
    let mut plans = WaitingPlans::at(&server.url(), &CancellationToken::new()).unwrap();
    plans.end_shares_of("process 7 on host").unwrap();
    let mut first = PostgresState::open(&at).unwrap();
    let set = first.set("http://h/").unwrap();
    first.begin_plan(set).unwrap();
    let slice = |id| NewSlice { id, turn: 0, total: 1, actions: Vec::new() };
    first.add_slices(&[slice(1), slice(2)]).unwrap();
    let mut own = first.seal_plan().unwrap();
    let JoinedPlan { state: helper, mut board, .. } = PostgresState::join(&at).unwrap().unwrap();
    assert_eq!((own.claim(1).unwrap().len(), board.claim(1).unwrap().len()), (1, 1));
    // All workers are in one process here, so each gets another name.
    for (process, sharer) in [(7, board.me()), (8, own.me())] {
        let rename =
            format!("UPDATE instep.share SET name = 'process {process} on host' WHERE sharer = {sharer}");
        sql(&server.url(), &rename);
    }
    sql(&server.url(), "UPDATE instep.copy SET holder = 'process 8 on host'");
    for process in ["process 9 on host", "process 8 on host"] {
        plans.end_shares_of(process).unwrap();
        assert!(own.claim(1).unwrap().is_empty(), "both slices are claimed");
    }
    plans.end_shares_of("process 7 on host").unwrap();
    assert!(board.claim(1).is_err(), "its share has ended");
    assert_eq!(own.claim(1).unwrap().len(), 1);
    drop(helper);
}
