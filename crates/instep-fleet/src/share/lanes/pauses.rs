//! Pauses that hosts request from a worker, and their way to the others. PURE.

use std::time::Duration;

use super::{KeptLane, KnownPause, LanePause, WorkerLanes};

impl<K: Ord + Clone> WorkerLanes<K> {
    /// Applies a pause from a row. Returns its length if it is new.
    pub(crate) fn note_pause(&mut self, now: Duration, lane: &K, pause: LanePause) -> Option<Duration> {
        let kept = self.lanes.get_mut(lane)?;
        let until = now + pause.length;
        // A longer one that is still to be passed on takes the place of this one.
        let is_known =
            |known: KnownPause| known.number == pause.number || !known.is_passed_on && known.until > until;
        if kept.pause.is_some_and(is_known) {
            return None;
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
}
