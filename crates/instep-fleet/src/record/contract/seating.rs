//! A host's limit holds over all workers, and seats are never lost with one of them.

use std::{collections::BTreeMap, thread, time::Duration};

use super::{
    holding::{claimed, ending, two},
    support::{TestFleet, name, source},
};
use crate::{
    FleetRecord,
    record::Claim,
    share::{LanePause, LaneRequest},
};

const HOST: &str = "https://host.example";
const LIMIT: u64 = 8;

/// Requests seats at the host. Returns the seats that are then held, and those that may be used.
fn asked(record: &FleetRecord, worker: i64, (kept, wanted): (u64, u64)) -> Option<(u64, u64)> {
    let request = BTreeMap::from([(HOST.to_owned(), LaneRequest { kept, wanted })]);
    let answers = record.ask_lanes(worker, LIMIT, &request).unwrap()?;
    Some((answers[0].0.seat.held, answers[0].0.granted))
}

fn held(record: &FleetRecord, by: i64) -> BTreeMap<i64, u64> {
    let seen = record.lanes_of(by).unwrap();
    seen.seats.get(HOST).into_iter().flatten().map(|seat| (seat.worker, seat.held)).collect()
}

pub(super) fn a_host_has_no_more_seats_than_its_limit_whoever_asks(at: &TestFleet) {
    let [one, two] = two(at);
    assert_eq!(asked(&one, 1, (0, 64)), Some((8, 8)));
    assert_eq!(asked(&two, 2, (0, 64)), Some((0, 0)));
    assert_eq!(asked(&one, 1, (8, 64)), Some((8, 4)), "all of them are in use");
    assert_eq!(asked(&one, 1, (4, 64)), Some((4, 4)));
    assert_eq!(asked(&two, 2, (0, 64)), Some((4, 4)));
    // The answer was lost, and the request is made once more.
    assert_eq!(asked(&two, 2, (0, 64)), Some((4, 4)));
    assert_eq!(held(&one, 1), BTreeMap::from([(1, 4), (2, 4)]));
    two.leave_lanes(2, &[HOST.to_owned(), "https://other.example".to_owned()]).unwrap();
    assert_eq!((held(&one, 1), held(&two, 2)), (BTreeMap::from([(1, 4)]), BTreeMap::new()));
    assert_eq!(asked(&one, 1, (4, 64)), Some((8, 8)));
}

pub(super) fn the_seats_of_a_dead_worker_are_free_with_its_sources_and_the_dead_get_none(at: &TestFleet) {
    let [one, two] = two(at);
    assert!(claimed(&one, 1, "a", 0).is_some());
    assert_eq!(asked(&one, 1, (0, 8)), Some((8, 8)));
    assert_eq!(asked(&two, 2, (0, 8)), Some((0, 0)));
    assert!(two.remove_worker(1, Some(0)).unwrap());
    assert_eq!(held(&two, 2), BTreeMap::from([(2, 0)]));
    assert!(claimed(&two, 2, "a", 1).is_some());
    assert_eq!(asked(&one, 1, (8, 8)), None);
    assert_eq!(asked(&two, 2, (0, 8)), Some((8, 8)));
}

pub(super) fn a_rest_is_heard_of_by_all_and_forgotten_once(at: &TestFleet) {
    let [one, two] = two(at);
    asked(&one, 1, (0, 1));
    let pause = LanePause { number: 7, length: Duration::from_millis(2_500) };
    let request = BTreeMap::from([(HOST.to_owned(), LaneRequest { kept: 0, wanted: 1 })]);
    two.begin_pause(HOST, pause).unwrap();
    assert_eq!(one.lanes_of(1).unwrap().pauses, [(HOST.to_owned(), pause)]);
    let answers = two.ask_lanes(2, LIMIT, &request).unwrap().unwrap();
    assert_eq!(answers[0].1, Some(pause), "who comes later hears of it too");
    let longer = LanePause { number: 9, length: Duration::from_secs(60) };
    one.begin_pause(HOST, longer).unwrap();
    two.end_pause(HOST, 7).unwrap();
    assert_eq!(two.lanes_of(2).unwrap().pauses, [(HOST.to_owned(), longer)], "that was another one");
    two.end_pause(HOST, 9).unwrap();
    assert_eq!(one.lanes_of(1).unwrap().pauses, []);
}

pub(super) fn workers_at_the_same_time_get_no_seat_twice(at: &TestFleet) {
    let records = two(at);
    let others = (3..6).map(|id| {
        let record = at.open();
        record.register(&super::support::worker(id)).unwrap();
        record
    });
    let records: Vec<_> = records.into_iter().chain(others).collect();
    thread::scope(|scope| {
        for (worker, record) in (1..).zip(records) {
            scope.spawn(move || {
                let record = &record;
                let mut kept = 0;
                for turn in 0..30 {
                    let (held, granted) = asked(record, worker, (kept, 1 + turn % 8)).unwrap();
                    let all: u64 = self::held(record, worker).values().sum();
                    assert!(granted <= held && all <= LIMIT, "{all} seats, {held} of worker {worker}");
                    kept = if turn % 3 == 0 { 0 } else { granted };
                }
            });
        }
    });
}

pub(super) fn looks_at_a_host_are_counted_over_all_workers(at: &TestFleet) {
    let [mut one, two] = two(at);
    one.add(&[source("b"), source("c")], 0).unwrap();
    let claim = |record: &FleetRecord, worker: i64, of: &str, host: &str| {
        record.claim(worker, (&name(of), 0), (host, 2), 5).unwrap()
    };
    let Claim::Taken(first) = claim(&one, 1, "a", HOST) else { panic!("it is free") };
    assert!(matches!(claim(&two, 2, "b", HOST), Claim::Taken(_)));
    assert!(matches!(claim(&one, 1, "c", HOST), Claim::HostFull));
    assert!(one.finish(&ending(&first)).unwrap().is_some());
    assert!(matches!(claim(&one, 1, "c", HOST), Claim::Taken(_)));
    assert!(matches!(one.claim(1, (&name("a"), 1), (HOST, 2), 5).unwrap(), Claim::HostFull));
    assert!(one.remove_worker(2, Some(0)).unwrap());
    assert!(matches!(one.claim(1, (&name("a"), 1), (HOST, 2), 5).unwrap(), Claim::Taken(_)));
}

pub(super) fn o513_lanes_that_nobody_is_in_are_forgotten_with_their_pauses(at: &TestFleet) {
    let [one, two] = two(at);
    asked(&one, 1, (0, 1));
    let pause = LanePause { number: 1, length: Duration::from_secs(9) };
    one.begin_pause("https://resting.example", pause).unwrap();
    assert!(claimed(&two, 2, "a", 0).is_some());
    one.leave_lanes(1, &[HOST.to_owned()]).unwrap();
    let lanes = || one.all("SELECT origin FROM lane ORDER BY origin", &[], |row| row.string(0)).unwrap();
    assert_eq!(lanes(), [HOST, "https://resting.example"]);
    two.forget_lanes().unwrap();
    assert!(lanes().is_empty(), "a killed worker left the pause");
    assert_eq!(asked(&two, 2, (0, 3)), Some((3, 3)));
    two.begin_pause(HOST, pause).unwrap();
    two.forget_lanes().unwrap();
    assert_eq!(two.lanes_of(2).unwrap().pauses, [(HOST.to_owned(), pause)]);
}
