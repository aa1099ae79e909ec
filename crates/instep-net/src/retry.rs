//! Pauses before further attempts. PURE.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, header};

/// The longest pause between two attempts, unless the server requests a longer one. It limits the delay until a
/// recovered host is noticed.
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Returns the pause before a retry. It doubles each time; half of it is left to chance (`chance` in 0..1), so that
/// many clients that failed together do not come back together.
pub(crate) fn backoff(first: Duration, retry: u32, chance: f64) -> Duration {
    let whole = first.saturating_mul(1 << retry.min(16)).min(MAX_BACKOFF);
    whole.mul_f64(0.5 + chance / 2.0)
}

/// Returns the pause that the headers of an answer request, as [`retry_after`] does; `None` if they request none. A date
/// is by the clock of the server, so it counts from the time at which the server sent the answer, and from `now` only if
/// that is not stated.
pub(crate) fn requested_pause(headers: &HeaderMap, now: SystemTime, most: Duration) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    let sent = text(header::DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    retry_after(text(header::RETRY_AFTER)?, sent.unwrap_or(now), most)
}

/// Returns the pause that a `Retry-After` requests, in seconds or as a date, but never more than `most` (D29). `None`
/// if it is neither.
fn retry_after(text: &str, now: SystemTime, most: Duration) -> Option<Duration> {
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
    fn o854_a_date_of_a_retry_after_counts_by_the_clock_of_the_server() {
        let server = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, httpdate::fmt_http_date(server + minute).parse().unwrap());
        assert_eq!(requested_pause(&headers, server, hour), Some(minute), "there is no other clock");
        headers.insert(header::DATE, httpdate::fmt_http_date(server).parse().unwrap());
        for now in [server - 24 * hour, server + 24 * hour] {
            assert_eq!(requested_pause(&headers, now, hour), Some(minute));
        }
        headers.remove(header::RETRY_AFTER);
        assert_eq!(requested_pause(&headers, server, hour), None);
    }

    #[test]
    fn d30_the_pause_doubles_up_to_a_limit_and_is_never_less_than_half() {
        let first = Duration::from_millis(500);
        assert_eq!(backoff(first, 0, 0.0), Duration::from_millis(250));
        assert_eq!(backoff(first, 3, 1.0), Duration::from_secs(4));
        assert_eq!(backoff(first, 40, 1.0), MAX_BACKOFF);
    }
}
