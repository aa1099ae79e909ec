//! A simulation of the leases: workers stop, die, join and are started again, answers are lost, clocks drift, and the
//! record fails over.
//! In every case, a Source has one worker at a time, nothing takes effect twice, a host has no more transfers than
//! its limit, each worker gets its turn, and nothing stays with a dead worker.

mod rows;
mod seats;
mod simulation;

use std::time::Duration;

use simulation::Simulation;

use super::*;

#[test]
fn a_source_has_one_worker_a_host_no_more_than_its_limit_nothing_is_done_twice_or_orphaned() {
    let seeds = if std::env::var_os("INSTEP_LONG").is_some() { 5_000 } else { 300 };
    for seed in 0..seeds {
        let ended = Simulation::new(seed).run();
        let live: BTreeSet<_> = ended
            .workers
            .iter()
            .filter(|worker| !worker.is_dead)
            .filter_map(|worker| worker.lease_state.as_ref().map(LeaseState::me))
            .collect();
        let registered: BTreeSet<_> = ended.rows.beats.keys().copied().collect();
        assert!(registered.is_subset(&live), "seed {seed}: {registered:?} and {live:?}");
        for source in &ended.rows.sources {
            assert!(source.effects.is_sorted_by(|a, b| a < b), "seed {seed}: {:?}", source.effects);
            assert!(source.worker.is_none_or(|worker| live.contains(&worker)), "seed {seed}");
            let late = source.effects.last().copied().unwrap_or_default();
            assert!(late + 3 >= source.epoch && late > 0, "seed {seed}: {late} of {}", source.epoch);
        }
        let orphans: Vec<_> = ended.rows.lanes.iter().flatten().collect();
        assert!(orphans.is_empty(), "seed {seed}: seats that nobody wants: {orphans:?}");
        let starved = ended.starved();
        assert!(starved.is_empty(), "seed {seed}: no turn for {starved:?}");
    }
}

#[test]
fn o161_a_worker_that_waits_for_seats_asks_again_when_those_that_had_them_are_gone() {
    let second = Duration::from_secs(1);
    let mut lanes = WorkerLanes::new(2);
    let request = LaneRequest { kept: 0, wanted: 8 };
    let rows = |rows: &[LaneSeat]| BTreeMap::from([("a", rows.to_vec())]);
    lanes.note(second, 8, &BTreeMap::from([("a", LaneDemand { wanted: 3, kept: 0 })]));
    assert_eq!(lanes.steps(second), [LaneStep::Ask("a", 8)]);
    let other = LaneSeat { worker: 1, held: 8, wanted: 8, turn: 0 };
    let waits = answer(2, 8, request, &[other]);
    assert_eq!(lanes.answered(&"a", waits), 0);
    lanes.seen(second, &rows(&[other, waits.seat]));
    assert!(lanes.steps(second).is_empty(), "all are in use");
    // The other one was killed, or has left before this one looked.
    lanes.seen(2 * second, &rows(&[waits.seat]));
    assert_eq!(lanes.steps(2 * second), [LaneStep::Ask("a", 8)]);
    let has = answer(2, 8, request, &[waits.seat]);
    assert_eq!(lanes.answered(&"a", has), 8);
    lanes.seen(3 * second, &rows(&[has.seat]));
    assert!(lanes.steps(3 * second).is_empty(), "it asks once");
}

#[test]
fn an_outage_of_the_record_kills_nobody() {
    let mut lease_state = LeaseState::new(1, Duration::ZERO);
    let second = Duration::from_secs(1);
    for look in 0..8 {
        assert!(lease_state.seen(look * 2 * second, &[(1, 0), (2, 7)]).is_empty());
    }
    // Nobody answered for an hour; then the other one has four seconds, and more, to beat.
    assert!(lease_state.seen(3_600 * second, &[(1, 0), (2, 7)]).is_empty());
    assert!(lease_state.seen(3_602 * second, &[(1, 0), (2, 8)]).is_empty());
    for look in 1..10 {
        assert!(lease_state.seen((3_602 + 2 * look) * second, &[(2, 8)]).is_empty());
    }
    assert_eq!(lease_state.seen(3_622 * second, &[(2, 8)]), [(2, 8)]);
}
