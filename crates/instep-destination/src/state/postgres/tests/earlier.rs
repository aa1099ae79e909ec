//! States that earlier versions wrote are brought up to date, read and continued.

use instep_testkit::PostgresServer;

use super::{
    super::{DatabaseCopy, PostgresState},
    sql,
};
use crate::state::{
    HeldAt, Ledger, Operation, ReadFollowed as _, ReadHeld as _, ReadLog as _, ReadPending as _,
    ResourceMetadata, SetId, WriteGroups as _,
};

/// The copy in the file.
const NAME: &str = "2eb9b906249c5d53dcd805afe56fdeaf";

const FIRST: &str = include_str!("../../../../tests/golden/postgres/1.sql");

fn held(state: &PostgresState) -> Vec<String> {
    let held = state.held_after(None, 100).unwrap();
    held.iter().map(|held| held.uri.as_str().replace("http://127.0.0.1:5597/", "")).collect()
}

#[test]
fn a_state_of_the_first_version_is_read_and_written_on() {
    let Some(server) = PostgresServer::start() else { return };
    sql(&server.url(), FIRST);
    let copy = DatabaseCopy::at(&server.url(), NAME, "another folder").unwrap();
    let mut state = PostgresState::open(&copy).unwrap();
    assert_eq!(held(&state), ["a.txt", "d/b%20c.txt"]);
    assert_eq!(state.held("http://127.0.0.1:5597/a.txt").unwrap().unwrap().metadata.length, Some(4));
    let set = SetId(0);
    let owed = state.owed_after(set, None, 10).unwrap();
    assert_eq!((owed.len(), owed[0].desired.attempts), (1, 1));
    let reached = state.checkpoint(set).unwrap().unwrap().datetime.unwrap();
    assert_eq!(reached.to_string(), "2026-11-24T02:27:05.475381Z");
    assert_eq!(state.past_runs(10).unwrap().len(), 1);
    assert_eq!(state.setting("base").unwrap().as_deref(), Some("http://127.0.0.1:5597/"));

    // The pending resource is fetched.
    let uri = owed[0].desired.uri.clone();
    let placed = Operation::Place {
        uri: uri.clone(),
        path: crate::map::CopyPath::from_state("gone.txt").unwrap(),
        key: None,
        staged: 0,
        sets: set.mask(),
        metadata: ResourceMetadata { length: Some(5), ..ResourceMetadata::new() },
        replaces: false,
        place: HeldAt::Path,
    };
    let mut ledger = Ledger::default();
    ledger.settle(set, uri.as_str());
    state.commit_group(None, &[&[placed]], &ledger).unwrap();
    super::put(&mut state, "written by", "this version").unwrap();
    drop(state);
    let state = PostgresState::open_beside(&copy).unwrap();
    assert_eq!(held(&state), ["a.txt", "d/b%20c.txt", "gone.txt"]);
    assert_eq!(state.owed_count().unwrap(), 0);
    assert_eq!(state.setting("written by").unwrap().as_deref(), Some("this version"));
}
