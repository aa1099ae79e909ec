//! Two versions of the program that use the same record in PostgreSQL, as while workers are upgraded one by one.
//!
//! The golden files have the tables and the statements of the version before.

use std::collections::BTreeMap;

use instep_postgres::{Address, Session, Tables};
use instep_testkit::PostgresServer;

use super::*;
use crate::{
    record::server::{SCHEMA, TABLES},
    share::LaneRequest,
};

const TABLES_BEFORE: &str = include_str!("../../../tests/golden/fleet.postgres.1.sql");
const WORKER_BEFORE: &str = include_str!("../../../tests/golden/worker.postgres.1.sql");

const HOST: &str = "https://example.org";

#[test]
fn a_worker_of_the_version_before_goes_on_beside_newer_ones() {
    let Some(server) = PostgresServer::start() else { return };
    let address = Address::parse(&server.url()).unwrap().beside(SCHEMA).unwrap();
    let before = Session::open(&address).unwrap();
    before.batch(TABLES_BEFORE).unwrap();

    // A command of the newer version, then a worker.
    let place = FleetPlace::in_folder("nowhere").with_state(Some(server.url()));
    let held = FleetRecord::existing(&place).unwrap().source(&name("letters")).unwrap();
    assert_eq!((held.hold.worker, held.hold.epoch), (Some(1), 3));
    let newer = FleetRecord::open(&place).unwrap();
    newer.register(&FleetWorker { id: 2, ..newer.workers().unwrap()[0].clone() }).unwrap();
    let request = BTreeMap::from([(HOST.to_owned(), LaneRequest { kept: 0, wanted: 2 })]);
    assert!(newer.ask_lanes(2, 8, &request).unwrap().is_some());
    let claim = || newer.claim(2, (&name("letters"), 3), (HOST, 4), 9).unwrap();
    assert!(matches!(claim(), Claim::NotFree(_)));
    assert_eq!(newer.looks(&name("letters")).unwrap()[0].held, 12);

    // The worker from before ends its look; the newer one begins one, and counts as dead for the other.
    let mut steps = WORKER_BEFORE.split_inclusive(";\n");
    let mut step = |number: usize| steps.by_ref().take(number).for_each(|sql| before.batch(sql).unwrap());
    step(2);
    assert_eq!(newer.source(&name("letters")).unwrap().standing.held, 13);
    assert!(matches!(claim(), Claim::Taken(_)));
    step(4);
    assert_eq!(newer.source(&name("letters")).unwrap().hold.worker, Some(2), "not free for the other one");
    step(5);
    assert_eq!(newer.source(&name("letters")).unwrap().hold.worker, None);
    assert_eq!(newer.ask_lanes(2, 8, &request).unwrap(), None, "it was removed");
    let seats = before.one("SELECT count(*) FROM seat", &[]).unwrap();
    assert_eq!(seats.get::<_, i64>(0), 0, "its seats went with it, though the other one knows of none");

    // The version before begins again: it finds its own tables and leaves those that it does not know.
    let known = Tables { steps: &TABLES.steps[..1] };
    known.check(&before, &address).unwrap();
    known.migrate(&before, &address).unwrap();
    assert_eq!(before.one("SELECT version FROM version", &[]).unwrap().get::<_, i64>(0), 1);
    drop(FleetRecord::open(&place).unwrap());
}
