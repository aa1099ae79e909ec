//! Responses that came from a cache between the Source and the copy, such as that of a content delivery network.

use instep_net::ResponseTimes;
use resourcesync::{DateTime, value::Precision};

use crate::clock::{in_seconds, now};

/// The longest age that a cache may state, in seconds (RFC 9111 §1.2.2).
const OLDEST: i64 = 1 << 31;

/// The number of seconds by which the clock of a Source's documents may be ahead of that of its web server.
const SKEW: i64 = 60;

/// The time that a response was in a cache, by the clocks of the Source and of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeInCache {
    /// The time at which the Source sent the response.
    pub since: DateTime,
    /// The time at which the cache answered with it.
    until: DateTime,
}

impl TimeInCache {
    /// Returns the time that a response was in a cache; `None` if it came from the Source itself.
    pub(super) fn of(times: &ResponseTimes) -> Option<Self> {
        let age = i64::try_from(times.age?.as_secs()).ok().filter(|age| (1..=OLDEST).contains(age))?;
        let date = times.sent.and_then(in_seconds)?;
        let (date_seconds, _) = date.instant();
        // Caches keep the `Date` of the Source (RFC 9110 §6.6.1), but some replace it by that of their own answer.
        let is_kept = now().instant().0.saturating_sub(date_seconds) >= age / 2;
        Some(if is_kept {
            Self { since: date, until: DateTime::from_unix_seconds(date_seconds.saturating_add(age)) }
        } else {
            Self { since: DateTime::from_unix_seconds(date_seconds.saturating_sub(age)), until: date }
        })
    }

    /// Returns `true` if the Source sent the response before a modification, and the cache answered after it (O731). A
    /// modification in the future is that of a wrong clock or time zone, and a day is that of an unknown time zone.
    pub(crate) fn spans(&self, modified: &DateTime) -> bool {
        let (modified_seconds, _) = modified.instant();
        modified.precision() >= Precision::Second
            && self.since.instant().0.saturating_add(SKEW) < modified_seconds
            && modified_seconds <= self.until.instant().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o731_a_response_is_from_before_a_modification_only_if_it_was_in_a_cache_meanwhile() {
        let time = |text: &str| DateTime::parse(text).unwrap();
        let in_cache =
            TimeInCache { since: time("2013-01-02T10:00:00Z"), until: time("2013-01-02T12:00:00Z") };
        for (modified, expected) in [
            ("2013-01-02T09:59:59Z", false),
            ("2013-01-02T10:00:30Z", false),
            ("2013-01-02T11:00:00Z", true),
            ("2013-01-02T13:00:00.5+02:00", true),
            ("2013-01-02T12:00:01Z", false),
            ("2013-01-02T11:00Z", false),
            ("2013-01-02", false),
        ] {
            assert_eq!(in_cache.spans(&time(modified)), expected, "{modified}");
        }
    }
}
