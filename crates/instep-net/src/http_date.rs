//! Dates in headers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
/// From the weekday of 1970-01-01 on.
const WEEKDAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];

/// Reads a date of HTTP (RFC 9110 §5.6.7); `None` if it is none.
///
/// Each response has two dates, nearly always in the form that servers must write. `httpdate` checks a date by converting
/// it back, which costs four times as much; it reads all others.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    usual(text.as_bytes()).or_else(|| httpdate::parse_http_date(text).ok())
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`; `None` for anything else.
fn usual(text: &[u8]) -> Option<SystemTime> {
    let text: &[u8; 29] = text.try_into().ok()?;
    let between =
        [(3, b','), (4, b' '), (7, b' '), (11, b' '), (16, b' '), (19, b':'), (22, b':'), (25, b' ')];
    if between.iter().any(|(at, byte)| text[*at] != *byte) || !text.ends_with(b"GMT") {
        return None;
    }
    let month = MONTHS.iter().position(|month| text[8..11] == month[..])?;
    let (day, year) = (number(&text[5..7])?, number(&text[12..16])?);
    let (hour, minute, second) = (number(&text[17..19])?, number(&text[20..22])?, number(&text[23..25])?);
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let most = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month];
    if year < 1970 || !(1..=most).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_since_1970(year, month as u64, day);
    if text[..3] != WEEKDAYS[(days % 7) as usize][..] {
        return None;
    }
    Some(UNIX_EPOCH + Duration::from_secs(days * 86_400 + hour * 3_600 + minute * 60 + second))
}

/// Returns the days from 1970-01-01 to a date; January is 0. Years are counted from 1 March, so that the leap day comes
/// last.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

fn number(digits: &[u8]) -> Option<u64> {
    let digit = |number: u64, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'));
    digits.iter().try_fold(0, digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dates_that_exist_are_read() {
        let second = |text: &str| parse(text)?.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
        assert_eq!(second("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(second("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(second("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(second("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(second("Sun Nov  6 08:49:37 1994"), Some(784_111_777));
        for text in [
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Thu, 29 Feb 2023 00:00:00 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "",
        ] {
            assert_eq!(usual(text.as_bytes()), None, "{text}");
        }
    }

    /// Every day of two hundred years, and later ones.
    #[test]
    fn a_date_is_read_as_httpdate_writes_and_reads_it() {
        for number in 0..80_000_u64 {
            let second = number * 86_400 + number * 7_919 % 86_400 + number / 75_000 * 200_000_000_000;
            let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
            assert_eq!(usual(text.as_bytes()), httpdate::parse_http_date(&text).ok(), "{text}");
        }
    }
}
