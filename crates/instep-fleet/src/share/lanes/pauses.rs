//! Pauses that hosts request from a worker, and their way to the others. PURE.

use std::time::Duration;

use super::{KeptLane, KnownPause, LanePause, WorkerLanes};

impl<K: Ord + Clone> WorkerLanes<K> {
    /// Applies a pause from a row. Returns its length if it is new.
    pub(crate) fn note_pause(&mut self, now: Duration, lane: &K, pause: LanePause) -> Option<Duration> {
        let kept = self.lanes.get_mut(lane)?;
        let until = now + pause.length;
        if let Some(known) = &mut kept.pause {
            // A longer one takes the place of this one in the row, also if it was there before: the worker that wrote this one
            // had not read it.
            let is_longer = known.until > until;
            if known.number == pause.number || is_longer {
                known.is_passed_on &= known.number == pause.number;
                return None;
            }
        }
        kept.pause = Some(KnownPause { number: pause.number, until, is_passed_on: true });
        Some(pause.length)
    }

    /// Applies a pause that a host requested from this worker. It is to be passed on to the others, unless they have one
    /// of this length.
    pub(crate) fn asked_to_pause(&mut self, now: Duration, lane: K, pause: LanePause) {
        let kept = self.lanes.entry(lane).or_insert_with(|| KeptLane::new(now));
        let until = now + pause.length;
        if kept.pause.is_none_or(|known| known.until < until) {
            kept.pause = Some(KnownPause { number: pause.number, until, is_passed_on: false });
        }
    }

    /// Notes that the others can read a pause.
    pub(crate) fn pause_passed_on(&mut self, lane: &K, number: i64) {
        let pause = self.lanes.get_mut(lane).and_then(|kept| kept.pause.as_mut());
        if let Some(pause) = pause.filter(|pause| pause.number == number) {
            pause.is_passed_on = true;
        }
    }

    /// Notes that a pause is over.
    pub(crate) fn pause_ended(&mut self, lane: &K, number: i64) {
        if let Some(kept) = self.lanes.get_mut(lane) {
            kept.pause = kept.pause.filter(|known| known.number != number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::LaneStep;

    #[test]
    fn o512_a_pause_is_passed_on_until_that_succeeds_and_then_for_what_is_left_of_it() {
        let seconds = Duration::from_secs;
        let pause = |number, length| LanePause { number, length: seconds(length) };
        let mut lanes = WorkerLanes::new(1);
        lanes.asked_to_pause(seconds(0), "a", pause(7, 60));
        assert!(lanes.steps(seconds(0)).contains(&LaneStep::BeginPause("a", pause(7, 60))));
        // It could not be written, and another worker has passed on a shorter one.
        assert!(lanes.steps(seconds(20)).contains(&LaneStep::BeginPause("a", pause(7, 40))));
        assert_eq!(lanes.note_pause(seconds(20), &"a", pause(8, 10)), None);
        assert!(lanes.steps(seconds(20)).contains(&LaneStep::BeginPause("a", pause(7, 40))));
        lanes.pause_passed_on(&"a", 7);
        let is_of_pause =
            |step: &LaneStep<_>| matches!(step, LaneStep::BeginPause(..) | LaneStep::EndPause(..));
        assert!(!lanes.steps(seconds(20)).iter().any(is_of_pause));
        assert!(lanes.steps(seconds(60)).contains(&LaneStep::EndPause("a", 7)));
    }

    #[test]
    fn o647_a_shorter_pause_in_the_row_does_not_end_a_longer_one_that_was_there_before() {
        let seconds = Duration::from_secs;
        let pause = |number, length| LanePause { number, length: seconds(length) };
        let [mut first, mut second] = [1, 2].map(WorkerLanes::new);
        first.asked_to_pause(seconds(0), "a", pause(7, 60));
        first.pause_passed_on(&"a", 7);
        // The second worker had not read the row when its host requested a pause, and wrote over it.
        second.asked_to_pause(seconds(1), "a", pause(8, 5));
        second.pause_passed_on(&"a", 8);
        assert_eq!(first.note_pause(seconds(2), &"a", pause(8, 5)), None);
        let again = LaneStep::BeginPause("a", pause(7, 58));
        assert!(first.steps(seconds(2)).contains(&again));
        first.pause_passed_on(&"a", 7);
        assert!(!first.steps(seconds(2)).contains(&again), "it is written once");
        assert_eq!(second.note_pause(seconds(2), &"a", pause(7, 58)), Some(seconds(58)));
        assert!(second.steps(seconds(6)).iter().all(|step| !matches!(step, LaneStep::EndPause(..))));
        // Neither of them writes again what both know.
        assert_eq!(first.note_pause(seconds(3), &"a", pause(7, 58)), None);
        for lanes in [&first, &second] {
            assert!(lanes.steps(seconds(3)).iter().all(|step| !matches!(step, LaneStep::BeginPause(..))));
        }
    }
}
