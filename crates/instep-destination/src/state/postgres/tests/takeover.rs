//! A standby that takes over, and transactions that conflict with others.

use instep_testkit::PostgresServer;

use super::{
    copy,
    faults::{assert_whole, commit_fifty, commit_while, names, place},
    sql,
};
use crate::state::{Ledger, WriteGroups as _, WriteRecords as _, postgres::PostgresState};

#[test]
fn a_run_goes_on_with_a_synchronous_standby_that_is_promoted_and_nothing_is_lost() {
    const GROUPS: usize = 40;
    const LOST_AFTER: usize = 15;
    let Some(primary) = PostgresServer::start() else { return };
    let Some(standby) = primary.synchronous_standby() else { return };
    // The URL as operators write it, with all servers. The one that accepts writes is used.
    let url = format!("postgres://instep@127.0.0.1:{},127.0.0.1:{}/copies", primary.port(), standby.port());
    let (state, set) = commit_while(url, GROUPS, |number| {
        if number == LOST_AFTER {
            primary.stop_at_once();
            standby.promote();
        }
    });
    assert_whole(&state, set, GROUPS);
    drop(state);
    let state = PostgresState::open_beside(&copy(&standby.url(), "")).unwrap();
    assert_eq!(names(&state).len(), 50 * GROUPS);
}

#[test]
fn a_transaction_that_loses_against_another_one_is_tried_again() {
    let Some(server) = PostgresServer::start() else { return };
    let url = server.url();
    let mut state = PostgresState::open(&copy(&url, "here")).unwrap();
    let set = state.set("http://h/list.xml").unwrap();
    state.record_changes();
    for code in ["40001", "40P01"] {
        // A rollback does not give the numbers of a sequence back, so the first three attempts fail.
        sql(
            &url,
            &format!(
                "DROP SEQUENCE IF EXISTS attempt; CREATE SEQUENCE attempt;
                 CREATE OR REPLACE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                     IF nextval('attempt') <= 3 THEN RAISE EXCEPTION 'another one won' USING ERRCODE = '{code}'; END IF;
                     RETURN NULL; END $$;
                 DROP TRIGGER IF EXISTS lose ON held;
                 CREATE TRIGGER lose AFTER INSERT ON held FOR EACH STATEMENT EXECUTE FUNCTION lose()"
            ),
        );
        let number = usize::from(code == "40P01");
        commit_fifty(&mut state, number, set);
        assert_whole(&state, set, number + 1);
    }
    // Any other failure ends the run at once.
    sql(
        &url,
        "CREATE OR REPLACE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$",
    );
    let refused = state.commit_group(None, &[&[place("late", set)]], &Ledger::default()).unwrap_err();
    assert!(crate::error::error_chain(&refused).contains("no"), "{refused}");
    assert_whole(&state, set, 2);
}
