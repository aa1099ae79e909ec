//! Pauses before further attempts. PURE.

use std::time::{Duration, SystemTime};

/// The longest pause between two attempts, unless the server requests a longer one. It limits the delay until a
/// recovered host is noticed.
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Returns the pause before a retry. It doubles each time; half of it is left to chance (`chance` in 0..1), so that
/// many clients that failed together do not come back together.
pub(crate) fn backoff(first: Duration, retry: u32, chance: f64) -> Duration {
    let whole = first.saturating_mul(1 << retry.min(16)).min(MAX_BACKOFF);
    whole.mul_f64(0.5 + chance / 2.0)
}

/// Returns the pause that a `Retry-After` requests, in seconds or as a date, but never more than `most` (D29). `None`
/// if it is neither.
pub(crate) fn retry_after(text: &str, now: SystemTime, most: Duration) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(most, Duration::from_secs).min(most));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default().min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d29_retry_after_is_seconds_or_a_date_and_never_absurd() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let hour = Duration::from_secs(3600);
        let date = |seconds| httpdate::fmt_http_date(now + Duration::from_secs(seconds));
        for (text, pause) in [
            ("1", Some(1)),
            (" 120 ", Some(120)),
            ("1000000000", Some(3600)),
            ("99999999999999999999999", Some(3600)),
            ("-5", None),
            ("soon", None),
            ("", None),
            ("1.5", None),
            (&date(60), Some(60)),
            (&date(86_400), Some(3600)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
        ] {
            assert_eq!(retry_after(text, now, hour), pause.map(Duration::from_secs), "{text:?}");
        }
    }

    #[test]
    fn d30_the_pause_doubles_up_to_a_limit_and_is_never_less_than_half() {
        let first = Duration::from_millis(500);
        assert_eq!(backoff(first, 0, 0.0), Duration::from_millis(250));
        assert_eq!(backoff(first, 3, 1.0), Duration::from_secs(4));
        assert_eq!(backoff(first, 40, 1.0), MAX_BACKOFF);
    }
}
