//! A simulation of shared plans: workers stop, die and join, requests and answers are lost, and other runs take the
//! copy over. In every case, nothing takes effect twice, no slice stays with a dead worker, and no checkpoint passes
//! a resource that is neither held nor pending.

mod rows;
mod world;

use std::time::Duration;

use world::World;

use super::*;
use crate::state::SliceProgress;

#[test]
fn a_shared_plan_takes_effect_once_whoever_is_stopped_killed_or_not_answered() {
    let (mut shared, mut longest) = (0, 0);
    for seed in 0..5_000 {
        let mut world = World::new(seed);
        world.begin_run();
        while !world.rows.has_checkpoint {
            world.step();
            let patience = world.calm_from + 300;
            assert!(world.now < patience, "seed {seed}: a slice stays with a worker that is gone");
            shared += u64::from(world.workers.len() > 2);
        }
        longest = longest.max(world.now);
    }
    assert!(shared > 5_000 && longest > 100, "the simulation has too little in it: {shared}, {longest}");
}

#[test]
fn an_observer_that_was_stopped_does_not_count_others_as_dead() {
    let mut watch = BeatWatch::default();
    let at = Duration::from_secs;
    assert!(watch.look(at(0), &[(1, 7)]).is_empty());
    // A pause of hours counts as four seconds.
    assert!(watch.look(at(9_000), &[(1, 7)]).is_empty());
    for second in 1..6 {
        assert!(watch.look(at(9_000 + second), &[(1, 7), (2, 0)]).is_empty());
    }
    assert_eq!(watch.look(at(9_006), &[(1, 7), (2, 0)]), [(1, 7)]);
    assert!(watch.look(at(9_007), &[(1, 8), (2, 0)]).is_empty(), "it has beaten");
}

#[test]
fn o963_the_slices_of_a_worker_that_helps_are_free_ten_seconds_after_its_last_heartbeat() {
    let mut watch = BeatWatch::default();
    for second in 0..10 {
        assert!(watch.look(Duration::from_secs(second), &[(1, 7)]).is_empty());
    }
    assert_eq!(watch.look(Duration::from_secs(10), &[(1, 7)]), [(1, 7)]);
}

#[test]
fn a_worker_claims_more_when_half_of_what_it_has_is_done() {
    let mut book = SliceBook::new(16);
    let progress = |slice| SliceProgress { slice, done: Default::default(), total: 256 };
    assert_eq!(book.wanted(), 512);
    let first = book.take(progress(1));
    assert_eq!((first.len(), book.wanted()), (256, 256));
    let second = book.take(progress(2));
    assert_eq!(book.wanted(), 0);
    let done: Vec<_> = first.into_iter().filter_map(|place| book.settle(place)).collect();
    assert_eq!((done.len(), book.wanted()), (256, 256));
    assert!(done[255].is_finished() && !done[254].is_finished());
    // Actions that another worker has done are not done again.
    let mut half = done[127];
    half.slice = 3;
    assert_eq!(book.take(half).first().map(|at| at.place), Some(128));
    assert_eq!(second.len(), 256);
}
