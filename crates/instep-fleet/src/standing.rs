//! The standing of a Source: all present knowledge of it, and its state in a word.

use std::{fmt, str::FromStr};

use instep_destination::{CopySize, exit_code};

use crate::{cause::LookCause, definition::SourceDefinition, schedule::Pacing, share::WorkerId};

/// A Source of the fleet: its definition, and the present knowledge of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetSource {
    /// Its definition.
    pub definition: SourceDefinition,
    /// `true` if the configuration file has it.
    pub from_file: bool,
    /// Its standing.
    pub standing: SourceStanding,
    /// The time at which the look under way began, in seconds since 1970.
    pub running: Option<i64>,
    pub(crate) hold: SourceHold,
}

/// The worker that has a Source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceHold {
    /// `None` if no worker holds it.
    pub(crate) worker: Option<WorkerId>,
    /// The number of times that it was claimed: a look of an earlier time ends without effect.
    pub(crate) epoch: i64,
    /// A number that grows whenever the row changes.
    pub(crate) changed: i64,
}

impl SourceHold {
    /// Returns `true` if another hold is of the same look.
    pub(crate) fn is_same_look(self, other: Self) -> bool {
        (self.worker, self.epoch) == (other.worker, other.epoch)
    }
}

impl FleetSource {
    /// Returns its state in a word.
    pub fn state(&self, now: i64) -> SourceState {
        self.standing.state(self.definition.approve, now)
    }

    /// Returns `true` if the end of a look was written down, and no look has begun since.
    pub(crate) fn shows_end_of(&self, look: SourceHold, end: &SourceStanding) -> bool {
        let Self { hold, standing, .. } = self;
        hold.worker.is_none() && hold.epoch == look.epoch && standing.ended == end.ended
    }

    /// Returns the number of the worker that runs it now.
    pub fn worker(&self) -> Option<WorkerId> {
        self.hold.worker
    }
}

/// The record's data of a Source beside its definition. Times are seconds since 1970, by this machine's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceStanding {
    /// The time of the next look.
    pub due: i64,
    /// The interval between looks that adapts to its changes, in seconds.
    pub interval: u64,
    /// Failures in a row.
    pub failures: u32,
    /// `true` if it failed so often that it is visited only once a week.
    pub quarantined: bool,
    /// `true` if an operator paused it.
    pub paused: bool,
    /// `true` if an operator approved it.
    pub approved: bool,
    /// `true` if an operator requested a look now.
    pub wanted: bool,
    /// The time at which it was added.
    pub added: i64,
    /// The size of its first plan.
    pub sized: Option<CopySize>,
    /// The time at which the last look began.
    pub began: Option<i64>,
    /// The time at which the last look ended.
    pub ended: Option<i64>,
    /// The exit code of the last look.
    pub exit_code: Option<u8>,
    /// The cause of the failure of the last look; `None` if it did not fail, or an operator cannot remove the cause.
    pub cause: Option<LookCause>,
    /// `true` if the last look found that the copy equals the Source.
    pub in_step: bool,
    /// The last look in a sentence, or the error that ended it.
    pub summary: String,
    /// The time of the last look that ended without an error.
    pub success: Option<i64>,
    /// The Source's time up to which everything is held or pending.
    pub checkpoint: Option<i64>,
    /// Resources held.
    pub held: u64,
    /// Bytes held.
    pub bytes: u64,
    /// Resources that are retried by the next look.
    pub pending: u64,
    /// The message that the operator got last, until the Source recovers.
    pub alerted: Option<String>,
}

/// Seconds by which the clocks of two workers may differ, or a clock may be set back, without effect.
pub(crate) const CLOCKS_APART: i64 = 3_600;

impl SourceStanding {
    /// Returns the age of the Source's state that the copy has reached, in seconds.
    pub fn lag(&self, now: i64) -> Option<u64> {
        self.checkpoint.map(|checkpoint| u64::try_from(now.saturating_sub(checkpoint)).unwrap_or(0))
    }

    /// Returns `true` before the first synchronization has ended without an error.
    pub fn is_new(&self) -> bool {
        self.success.is_none()
    }

    /// Returns the state in a word; `approve` is that of the definition.
    pub fn state(&self, approve: bool, now: i64) -> SourceState {
        let is_overdue = now > self.overdue();
        match self {
            Self { paused: true, .. } => SourceState::Paused,
            // Before its failures: only an operator ends this.
            _ if self.waits_for_approval(approve) => SourceState::Waiting,
            Self { quarantined: true, .. } => SourceState::Quarantined,
            Self { failures: 1.., .. } => SourceState::Failing,
            _ if self.is_new() => SourceState::New,
            Self { pending: 1.., .. } => SourceState::Behind,
            Self { exit_code: Some(exit_code::DONE), in_step: true, .. } if !is_overdue => {
                SourceState::InStep
            }
            Self { exit_code: Some(exit_code::DONE), .. } if !is_overdue => SourceState::Done,
            _ => SourceState::Behind,
        }
    }

    /// Returns the time from which a look may begin. If the last look ended in the future, the clock has been set back
    /// meanwhile, or that of the worker that made it is ahead, and the pause after it would last until this clock is there: then
    /// the pause begins now, and is over if the clocks are far apart.
    pub(crate) fn due_at(&self, now: i64) -> i64 {
        let ahead = self.ended.map_or(0, |ended| ended.saturating_sub(now)).max(0);
        if ahead > CLOCKS_APART { self.due.min(now) } else { self.due.saturating_sub(ahead) }
    }

    /// Returns the time after which the next look is overdue.
    pub(crate) fn overdue(&self) -> i64 {
        self.due.saturating_add(self.interval.max(300).cast_signed())
    }

    /// Returns `true` if it was sized, and an operator has to approve it before anything is copied.
    pub fn waits_for_approval(&self, approve: bool) -> bool {
        approve && !self.approved && self.sized.is_some() && self.is_new()
    }

    pub(crate) fn pacing(&self) -> Pacing {
        Pacing {
            due: self.due,
            interval: self.interval,
            failures: self.failures,
            quarantined: self.quarantined,
        }
    }

    pub(crate) fn pace(&mut self, pacing: Pacing) {
        let Pacing { due, interval, failures, quarantined } = pacing;
        (self.due, self.interval, self.failures, self.quarantined) = (due, interval, failures, quarantined);
    }
}

/// The state of a Source in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SourceState {
    /// The copy equals the Source at the last look.
    InStep,
    /// The last look did everything that was requested, but the copy differs from the Source, or it is unknown if it does:
    /// resources that are gone at the Source are kept, or its documents do not show everything.
    Done,
    /// Something is pending, was left for later, or a look is overdue.
    Behind,
    /// The last look failed.
    Failing,
    /// It failed so often that it is visited only once a week.
    Quarantined,
    /// An operator paused it.
    Paused,
    /// It is sized and waits for approval.
    Waiting,
    /// Its first synchronization has not ended yet.
    New,
}

impl SourceState {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::InStep,
        Self::Done,
        Self::Behind,
        Self::Failing,
        Self::Quarantined,
        Self::Paused,
        Self::Waiting,
        Self::New,
    ];

    /// Returns its name, as used in addresses, JSON and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InStep => "in-step",
            Self::Done => "done",
            Self::Behind => "behind",
            Self::Failing => "failing",
            Self::Quarantined => "quarantined",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::New => "new",
        }
    }
}

impl fmt::Display for SourceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SourceState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|state| state.as_str() == text);
        named.ok_or_else(|| format!("write one of {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o943_the_pause_after_a_look_by_a_clock_that_is_ahead_is_as_long_as_after_any_other() {
        let look = |ended, due| SourceStanding { ended: Some(ended), due, ..SourceStanding::default() };
        assert_eq!([1_000, 1_600, 2_000].map(|now| look(1_600, 1_660).due_at(now)), [1_060, 1_660, 1_660]);
        assert_eq!(look(1_001 + CLOCKS_APART, 90_000).due_at(1_000), 1_000);
        assert_eq!(SourceStanding { due: 5, ..SourceStanding::default() }.due_at(1_000), 5);
    }

    #[test]
    fn o746_a_source_that_nothing_but_an_approval_lets_go_on_waits_for_it_also_if_it_failed() {
        let failed =
            SourceStanding { sized: Some(CopySize::new(1, 1)), failures: 9, ..SourceStanding::default() };
        let quarantined = SourceStanding { quarantined: true, ..failed.clone() };
        assert_eq!([&failed, &quarantined].map(|one| one.state(true, 0)), [SourceState::Waiting; 2]);
        assert_eq!(failed.state(false, 0), SourceState::Failing);
        let approved = SourceStanding { approved: true, ..failed };
        assert_eq!(approved.state(true, 0), SourceState::Failing);
    }

    #[test]
    fn the_state_is_what_an_operator_has_to_know_first() {
        let now = 1_000_000;
        let well = SourceStanding {
            due: now + 60,
            interval: 900,
            success: Some(now - 10),
            exit_code: Some(0),
            in_step: true,
            ..SourceStanding::default()
        };
        let state = |change: &dyn Fn(&mut SourceStanding), approve| {
            let mut standing = well.clone();
            change(&mut standing);
            standing.state(approve, now)
        };
        assert_eq!(state(&|_| {}, true), SourceState::InStep, "approval was for the beginning");
        assert_eq!(state(&|s| s.in_step = false, false), SourceState::Done);
        assert_eq!(state(&|s| (s.in_step, s.due) = (false, now - 1_000), false), SourceState::Behind);
        assert_eq!(state(&|s| s.pending = 1, false), SourceState::Behind);
        assert_eq!(state(&|s| s.exit_code = Some(9), false), SourceState::Behind);
        assert_eq!(state(&|s| s.due = now - 1_000, false), SourceState::Behind);
        assert_eq!(state(&|s| s.failures = 1, false), SourceState::Failing);
        assert_eq!(state(&|s| (s.failures, s.quarantined) = (9, true), false), SourceState::Quarantined);
        assert_eq!(state(&|s| (s.failures, s.paused) = (9, true), false), SourceState::Paused);
        let new = |s: &mut SourceStanding| (s.success, s.sized) = (None, Some(CopySize::new(1, 1)));
        assert_eq!(state(&|s| new(s), true), SourceState::Waiting);
        assert_eq!(state(&|s| new(s), false), SourceState::New);
        for state in SourceState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
    }
}
