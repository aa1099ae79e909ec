//! Shared plans, of engines that several workers can reach: slices are claimed once, done once, and free again when a
//! share ends.

use std::collections::BTreeSet;

use super::support::{NamedTest, TestPlace, at, names, place, record};
use crate::state::{
    Checkpoint, ClaimedSlice, CopyState, DoneActions, JoinedPlan, Ledger, NewSlice, Operation, SetId,
    ShareCounts, SliceBoard, SliceFailure, SliceProgress,
};

pub(super) const ALL: &[NamedTest] = &[
    (
        "nothing_of_a_plan_is_to_be_had_before_it_is_sealed",
        nothing_of_a_plan_is_to_be_had_before_it_is_sealed,
    ),
    (
        "each_slice_is_claimed_by_one_worker_origins_in_turns",
        each_slice_is_claimed_by_one_worker_origins_in_turns,
    ),
    ("groups_of_several_workers_are_one_copy", groups_of_several_workers_are_one_copy),
    ("a_checkpoint_does_not_pass_a_slice", a_checkpoint_does_not_pass_a_slice),
    (
        "a_share_that_ends_frees_its_slices_as_far_as_they_are_not_done",
        a_share_that_ends_frees_its_slices_as_far_as_they_are_not_done,
    ),
    ("a_run_that_takes_the_copy_over_ends_every_share", a_run_that_takes_the_copy_over_ends_every_share),
    ("what_others_could_not_have_is_told_to_the_run", what_others_could_not_have_is_told_to_the_run),
];

const SET: SetId = SetId(0);

fn slice(id: i64, turn: i64, total: u16) -> NewSlice {
    NewSlice { id, turn, total, actions: id.to_string().into_bytes() }
}

/// Returns slices of three origins, in the order of their URIs.
fn slices() -> Vec<NewSlice> {
    [(1, 1), (2, 2), (3, 1), (4, 2), (5, 1)].map(|(id, turn)| slice(id, turn, 3)).into()
}

fn shared(state: &mut dyn CopyState) -> Box<dyn SliceBoard> {
    state.set("http://h/list.xml").unwrap();
    let sharing = state.sharing().unwrap();
    sharing.begin_plan(SET).unwrap();
    sharing.add_slices(&slices()).unwrap();
    sharing.seal_plan().unwrap()
}

fn join(at: &TestPlace) -> JoinedPlan {
    at.at.join().unwrap().unwrap()
}

fn ids(claimed: &[ClaimedSlice]) -> Vec<i64> {
    claimed.iter().map(|slice| slice.progress.slice).collect()
}

/// Commits the actions of a slice at some places: each places a file of its name.
fn complete_some(state: &mut dyn CopyState, progress: &mut SliceProgress, places: &[u16]) {
    let mut ledger = Ledger::default();
    let mut operations: Vec<Operation> = Vec::new();
    for at in places {
        progress.done.insert(*at);
        operations.push(place(&format!("{}-{at}", progress.slice), SET, false));
    }
    ledger.slices.progress.insert(progress.slice, *progress);
    ledger.slices.counts = ShareCounts { done: places.len() as u64, bytes: 10, ..ShareCounts::default() };
    state.commit_group(None, &[&operations], &ledger).unwrap();
}

fn complete_all(state: &mut dyn CopyState, claimed: Vec<ClaimedSlice>) {
    for mut slice in claimed {
        let open: Vec<_> = (0..3).filter(|place| !slice.progress.done.has(*place)).collect();
        complete_some(state, &mut slice.progress, &open);
    }
}

fn checkpoint() -> Ledger {
    let mut checkpoint = Checkpoint::new();
    checkpoint.datetime = Some(at(7));
    Ledger { checkpoints: [(SET, checkpoint)].into(), ..Ledger::default() }
}

fn nothing_of_a_plan_is_to_be_had_before_it_is_sealed(at: &TestPlace) {
    let mut state = at.open();
    state.set("http://h/list.xml").unwrap();
    let sharing = state.sharing().unwrap();
    sharing.begin_plan(SET).unwrap();
    sharing.add_slices(&slices()).unwrap();
    assert!(at.at.join().unwrap().is_none());
    sharing.seal_plan().unwrap();
    assert_eq!(join(at).set, SET);
}

fn each_slice_is_claimed_by_one_worker_origins_in_turns(at: &TestPlace) {
    let mut state = at.open();
    let mut first = shared(&mut *state);
    let mut joined = join(at);
    let one = first.claim(4).unwrap();
    assert_eq!((ids(&one), one[0].actions.clone()), (vec![1, 3], b"1".to_vec()));
    assert_eq!(ids(&joined.board.claim(1).unwrap()), [5]);
    assert_eq!(ids(&joined.board.claim(100).unwrap()), [2, 4]);
    assert!(first.claim(100).unwrap().is_empty() && at.at.join().unwrap().is_none());
    assert!(!first.have_others_done().unwrap());
}

fn groups_of_several_workers_are_one_copy(at: &TestPlace) {
    let mut state = at.open();
    let mut first = shared(&mut *state);
    let JoinedPlan { state: mut other, mut board, .. } = join(at);
    let (one, two) = (first.claim(6).unwrap(), board.claim(100).unwrap());
    complete_all(&mut *other, two);
    complete_all(&mut *state, one);
    assert!(first.have_others_done().unwrap() && board.have_others_done().unwrap());
    let held = names(&*state);
    assert_eq!(held.len(), 15);
    // Each row has its own number, by which later runs remember the resources that a list names.
    let numbers: BTreeSet<_> = state.held_after(None, 99).unwrap().iter().map(|held| held.id).collect();
    assert_eq!(numbers.len(), 15);
    let shares = first.shares().unwrap();
    let counts: Vec<_> = shares.iter().map(|share| (share.sharer == first.me(), share.counts)).collect();
    let of = |done: u64| ShareCounts { done, created: done, bytes: done / 3 * 10, ..ShareCounts::default() };
    assert!(counts.contains(&(true, of(6))) && counts.contains(&(false, of(9))), "{counts:?}");
}

fn a_checkpoint_does_not_pass_a_slice(at: &TestPlace) {
    let mut state = at.open();
    let mut board = shared(&mut *state);
    let refused = state.commit_group(None, &[], &checkpoint()).unwrap_err();
    assert!(refused.to_string().contains("not done"), "{refused}");
    assert_eq!(state.checkpoint(SET).unwrap(), None);
    let claimed = board.claim(100).unwrap();
    complete_all(&mut *state, claimed);
    record(&mut *state, &checkpoint());
    assert!(state.checkpoint(SET).unwrap().is_some());
}

fn a_share_that_ends_frees_its_slices_as_far_as_they_are_not_done(at: &TestPlace) {
    let mut state = at.open();
    let mut first = shared(&mut *state);
    let JoinedPlan { state: mut dead, mut board, .. } = join(at);
    let mut claimed = board.claim(5).unwrap();
    complete_some(&mut *dead, &mut claimed[0].progress, &[0, 2]);
    let seen = first.shares().unwrap().into_iter().find(|share| share.sharer == board.me()).unwrap();
    assert!(!first.end_share(seen.sharer, seen.beat + 1).unwrap(), "it has beaten since");
    assert!(first.end_share(seen.sharer, seen.beat).unwrap());
    assert!(!first.end_share(seen.sharer, seen.beat).unwrap());
    assert!(board.claim(1).is_err());
    let mut late = Ledger::default();
    late.slices.progress.insert(1, claimed[0].progress);
    assert!(dead.commit_group(None, &[&[place("late", SET, false)]], &late).is_err());
    // Another worker continues where the first one was.
    let JoinedPlan { state: mut other, board: mut next, .. } = join(at);
    let again = next.claim(1).unwrap();
    let mut done = DoneActions::default();
    done.insert(0);
    done.insert(2);
    assert_eq!((ids(&again), again[0].progress.done), (vec![1], done));
    complete_all(&mut *other, again);
    drop((other, next));
    // A worker that leaves gives its slices back.
    let rest = first.claim(100).unwrap();
    assert_eq!(ids(&rest), [3, 5, 2, 4]);
    complete_all(&mut *state, rest);
    assert_eq!(names(&*state).len(), 15);
    assert!(!names(&*state).contains(&"late".to_owned()));
    assert!(first.shares().unwrap().iter().all(|share| share.has_ended == (share.sharer != first.me())));
}

fn a_run_that_takes_the_copy_over_ends_every_share(at: &TestPlace) {
    let mut state = at.open();
    let mut first = shared(&mut *state);
    let JoinedPlan { state: mut other, mut board, .. } = join(at);
    let mut claimed = board.claim(1).unwrap();
    complete_some(&mut *other, &mut claimed[0].progress, &[0]);
    drop(state);
    // The run is gone, and no other has taken the copy over: other workers may still commit.
    complete_some(&mut *other, &mut claimed[0].progress, &[1]);
    let mut second = at.open();
    assert!(board.claim(1).is_err() && first.claim(1).is_err());
    let late = other.commit_group(None, &[&[place("late", SET, false)]], &Ledger::default());
    assert!(late.is_err() && at.at.join().unwrap().is_none());
    assert_eq!(names(&*second), ["1-0", "1-1"]);
    record(&mut *second, &checkpoint());
    // A plan that was never sealed is removed too.
    let sharing = second.sharing().unwrap();
    sharing.begin_plan(SET).unwrap();
    sharing.add_slices(&slices()).unwrap();
    drop(second);
    record(&mut *at.open(), &checkpoint());
}

fn what_others_could_not_have_is_told_to_the_run(at: &TestPlace) {
    let mut state = at.open();
    let first = shared(&mut *state);
    let JoinedPlan { state: mut other, mut board, .. } = join(at);
    let mut progress = board.claim(1).unwrap()[0].progress;
    let failure = |uri: &str, what: &str| SliceFailure {
        uri: uri.to_owned(),
        kind: "missing".to_owned(),
        what: what.to_owned(),
        explicable: true,
    };
    let mut ledger = Ledger::default();
    progress.done.insert(0);
    ledger.slices.progress.insert(progress.slice, progress);
    ledger.slices.failures =
        vec![failure("http://h/b", "no"), failure("http://h/a", "404"), failure("http://h/b", "404")];
    record(&mut *other, &ledger);
    let told = first.failures_after("", 1).unwrap();
    assert_eq!(told, [failure("http://h/a", "404")]);
    assert_eq!(first.failures_after("http://h/a", 9).unwrap(), [failure("http://h/b", "404")]);
}
