//! The log of runs, and the progress after them.

use super::support::{TestPlace, at as time, uri};
use crate::state::{CopyState, KEPT_RUNS, LoggedProblem, LoggedRun, ReachedPoint, RunId, SourceId};

fn end(state: &mut dyn CopyState, id: RunId, exit_code: u8) -> (LoggedRun, Vec<LoggedProblem>) {
    let mut run = LoggedRun::new(id, time(0), "list");
    (run.finished, run.exit_code) = (Some(time(7)), Some(exit_code));
    run.summary = Some("2 created, 3 failed".to_owned());
    let problems = vec![
        LoggedProblem::new("missing", 1, None, "it is \"gone\"".to_owned()),
        LoggedProblem::new("wrong_digest", 2, Some(uri("http://h/a")), "md5 differs".to_owned()),
    ];
    state.finish_run(&run, &problems).unwrap();
    (run, problems)
}

pub(super) fn the_log_remembers_the_last_run_and_its_problems(at: &TestPlace) {
    let mut state = at.open();
    state.begin_run(time(0), "baseline", None).unwrap();
    assert_eq!(state.last_ended_run(None).unwrap(), None);
    for exit_code in [0, 3, 3] {
        let id = state.begin_run(time(0), "baseline", None).unwrap();
        let ended = end(&mut *state, id, exit_code);
        assert_eq!(state.last_ended_run(None).unwrap(), Some(ended));
    }
    drop(state);
    let newest = &at.open().past_runs(1).unwrap()[0];
    assert_eq!((newest.exit_code, newest.started, newest.ended), (Some(3), time(0), Some(time(7))));
    let problems: Vec<_> = newest.problems.iter().map(|one| (one.kind.as_str(), one.count)).collect();
    assert_eq!(problems, [("wrong_digest", 2), ("missing", 1)]);
    assert_eq!(newest.problems[0].first, Some(uri("http://h/a")));
}

fn two_sources(state: &mut dyn CopyState) -> [SourceId; 2] {
    let sets = ["http://a/list.xml", "http://b/list.xml"].map(|name| state.set(name).unwrap());
    [("http://a/", sets[0]), ("http://b/", sets[1])]
        .map(|(url, set)| state.found_source(url, &[set]).unwrap())
}

pub(super) fn b25_the_last_run_of_a_source_is_kept_however_often_another_is_run(at: &TestPlace) {
    let mut state = at.open();
    let [rare, often] = two_sources(&mut *state);
    for (source, times) in [(rare, 1), (often, 150)] {
        for _ in 0..times {
            let id = state.begin_run(time(0), "list", None).unwrap();
            state.run_is_of(id, source).unwrap();
            end(&mut *state, id, if source == rare { 3 } else { 0 });
        }
    }
    let (run, problems) = state.last_ended_run(Some(rare)).unwrap().unwrap();
    assert_eq!((run.exit_code, problems.len()), (Some(3), 2));
    assert_eq!(state.last_ended_run(Some(often)).unwrap().unwrap().0.exit_code, Some(0));
}

pub(super) fn the_log_is_bounded_and_newest_first(at: &TestPlace) {
    let mut state = at.open();
    for number in 0..KEPT_RUNS + 20 {
        let id = state.begin_run(time(number), "list", None).unwrap();
        end(&mut *state, id, 0);
    }
    let runs = state.past_runs(1_000).unwrap();
    assert_eq!(runs.len() as i64, KEPT_RUNS);
    assert_eq!(runs[0].started, time(KEPT_RUNS + 19));
    assert!(runs.is_sorted_by(|a, b| a.started.instant() > b.started.instant()));
    assert!(runs.iter().all(|run| run.problems.len() == 2));
    let killed = state.begin_run(time(0), "list", None).unwrap();
    assert_ne!(killed, RunId(0));
    assert_eq!(state.past_runs(1).unwrap()[0].ended, None);
}

pub(super) fn the_points_have_the_last_one_before_the_time_that_is_asked_for(at: &TestPlace) {
    let mut state = at.open();
    assert_eq!(state.reached_since(time(0)).unwrap(), []);
    let point = |seconds| ReachedPoint { at: time(seconds), reached: time(seconds - 5) };
    let minutes = [0, 1, 2, 3, 9];
    for minute in minutes {
        state.note_reached(point(minute * 60)).unwrap();
        state.note_reached(point(minute * 60 + 30)).unwrap();
    }
    state.make_durable().unwrap();
    drop(state);
    let state = at.open();
    let all = state.reached_since(time(0)).unwrap();
    assert_eq!(all, minutes.map(|minute| point(minute * 60 + 30)));
    let last = state.reached_since(time(4 * 60)).unwrap();
    assert_eq!(last, [3, 9].map(|minute| point(minute * 60 + 30)));
}
