//! The time of the next look at a Source: by the changes found, and by the number of failures. PURE.

use serde::{Deserialize, Serialize};

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

/// The longest pause between two looks, in seconds: a hundred years. The time of the next look must be one that can be
/// written: datetimes have years of four digits.
pub const LONGEST_PAUSE: u64 = 36_500 * DAY;

/// The pause after a look whose database or object storage could not be reached, in seconds.
const AFTER_OUTAGE: u64 = 10;

/// The rule by which a Source is due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cadence {
    /// As often as it changes, within [`PacingRules`].
    #[default]
    Adaptive,
    /// A fixed time after the last look ended.
    Every {
        /// The time, in seconds.
        seconds: u64,
    },
    /// At these times of the day, UTC.
    At {
        /// Minutes since midnight.
        minutes: Vec<u16>,
    },
}

/// The bounds of pauses, for all Sources of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacingRules {
    /// The shortest interval of [`Cadence::Adaptive`], and the pause after a first failure; in seconds.
    pub shortest: u64,
    /// The longest interval of [`Cadence::Adaptive`], in seconds.
    pub longest: u64,
    /// The longest pause after a failure, in seconds.
    pub longest_backoff: u64,
    /// Failures in a row after which a Source is in quarantine.
    pub quarantine_after: u32,
    /// The pause in quarantine, in seconds.
    pub quarantine: u64,
}

impl Default for PacingRules {
    fn default() -> Self {
        Self {
            shortest: 15 * MINUTE,
            longest: 30 * DAY,
            longest_backoff: DAY,
            quarantine_after: 8,
            quarantine: 7 * DAY,
        }
    }
}

/// The result of a look at a Source, as far as it determines the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookVerdict {
    /// The look brought something new: the next one comes sooner.
    Changed,
    /// The look brought nothing new: the next one comes later.
    Unchanged,
    /// More is pending than before: the next look comes after the shortest interval.
    Behind,
    /// A limit ended the run: there is more to do at once.
    More,
    /// The Source could not be copied, and is at fault: the pauses grow, up to quarantine.
    Failed,
    /// Something on this side kept it from being copied: no fault of the Source.
    Blocked,
    /// The database or the object storage of the copy could not be reached: this shows nothing about the Source.
    Outage,
}

/// The time of the next look, and the values that it is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pacing {
    /// The time of the next look, in seconds since 1970.
    pub(crate) due: i64,
    /// The interval of [`Cadence::Adaptive`], in seconds.
    pub(crate) interval: u64,
    /// Failures in a row.
    pub(crate) failures: u32,
    /// The Source has failed so often that it is visited only once a week.
    pub(crate) quarantined: bool,
}

impl Pacing {
    /// Returns the pacing of a Source without looks: due at once.
    pub(crate) fn new(now: i64, rules: &PacingRules) -> Self {
        Self { due: now, interval: rules.shortest, failures: 0, quarantined: false }
    }

    /// Returns the next look after one that ended `now`. `seed` spreads Sources that would be due at one moment.
    pub(crate) fn after(
        self,
        verdict: LookVerdict,
        cadence: &Cadence,
        rules: &PacingRules,
        (now, seed): (i64, u64),
    ) -> Self {
        let well = Self { failures: 0, quarantined: false, ..self };
        let within = |interval: u64| interval.clamp(rules.shortest, rules.longest);
        match verdict {
            LookVerdict::Changed => {
                Self { interval: within(self.interval / 2), ..well }.due_by(cadence, now, seed)
            }
            // Rounded up, so that an interval of one second grows too.
            LookVerdict::Unchanged => {
                let interval = within(self.interval.saturating_mul(3).div_ceil(2));
                Self { interval, ..well }.due_by(cadence, now, seed)
            }
            LookVerdict::Behind => Self { interval: rules.shortest, ..well }.due_by(cadence, now, seed),
            LookVerdict::More => Self { due: now, ..well },
            LookVerdict::Outage => Self { due: later(now, AFTER_OUTAGE, seed), ..self },
            LookVerdict::Blocked => {
                let failures = self.failures.saturating_add(1);
                let pause = backoff(cadence, rules, failures);
                Self { failures, due: later(now, pause, seed), ..self }
            }
            LookVerdict::Failed => {
                let failures = self.failures.saturating_add(1);
                let quarantined = self.quarantined || failures >= rules.quarantine_after;
                let pause = if quarantined { rules.quarantine } else { backoff(cadence, rules, failures) };
                Self { failures, quarantined, due: later(now, pause, seed), ..self }
            }
        }
    }

    fn due_by(self, cadence: &Cadence, now: i64, seed: u64) -> Self {
        let due = match cadence {
            Cadence::Adaptive => later(now, self.interval, seed),
            Cadence::Every { seconds } => later(now, *seconds, seed),
            Cadence::At { minutes } => {
                next_of_day(minutes, now).saturating_add((seed % (5 * MINUTE)).cast_signed())
            }
        };
        Self { due, ..self }
    }
}

/// Returns the pause after failures in a row: it doubles with each, from the shortest one or that of the operator, up to the
/// longest one.
fn backoff(cadence: &Cadence, rules: &PacingRules, failures: u32) -> u64 {
    let longest = rules.longest_backoff.max(rules.shortest);
    let first = match cadence {
        Cadence::Every { seconds } => *seconds,
        Cadence::Adaptive | Cadence::At { .. } => rules.shortest,
    };
    let doubled = first.saturating_mul(1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX));
    doubled.min(longest)
}

/// Returns the time after a pause, up to a tenth later, so that Sources that were added together drift apart.
fn later(now: i64, pause: u64, seed: u64) -> i64 {
    let jitter = seed % (pause / 10 + 1);
    now.saturating_add(pause.saturating_add(jitter).min(i64::MAX as u64).cast_signed())
}

/// Returns the next of these times of the day that is more than a minute ahead.
fn next_of_day(minutes: &[u16], now: i64) -> i64 {
    let (day, minute) = (DAY.cast_signed(), MINUTE.cast_signed());
    let midnight = now - now.rem_euclid(day);
    let times = minutes
        .iter()
        .flat_map(|at| [0, day, 2 * day].map(|later| midnight + later + i64::from(*at) * minute));
    times.filter(|time| *time > now + minute).min().unwrap_or(now + day)
}
