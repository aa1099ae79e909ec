//! W3C datetimes with the precision they were written with.

use std::fmt;

/// A W3C datetime (ATT-22): one of its six forms, with the precision and the zone it was written with.
///
/// Two values are equal if they are written alike. They are ordered by the instant at which they begin, so
/// `2013-01-03` comes before `2013-01-03T00:00:01Z`; [`DateTime::overlaps`] shows if two values of different
/// precision can mean the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    seconds: i64,
    nanos: u32,
    precision: Precision,
    offset_minutes: i16,
}

/// The precision of a W3C datetime: the fields that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// `YYYY`
    Year,
    /// `YYYY-MM`
    Month,
    /// `YYYY-MM-DD`
    Day,
    /// `YYYY-MM-DDThh:mm` with a zone
    Minute,
    /// `YYYY-MM-DDThh:mm:ss` with a zone
    Second,
    /// `YYYY-MM-DDThh:mm:ss.s` with a zone and this many digits, 1 to 9; further digits are cut off
    Fraction(u8),
}

/// The reason why a text is not a W3C datetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DateTimeError {
    /// The text has none of the six forms.
    #[error("Not one of the six W3C datetime forms")]
    Form,
    /// A time has neither `Z` nor an offset.
    #[error("A time needs a zone designator: Z or +hh:mm")]
    NoZone,
    /// A field is out of its range: month 13, 30 February, hour 24.
    #[error("A field is out of its range")]
    Range,
}

impl DateTime {
    /// Creates an instant in UTC with six fraction digits: the form that a Source of this project writes.
    pub fn from_unix_micros(micros: i64) -> Self {
        Self {
            seconds: micros.div_euclid(1_000_000),
            nanos: (micros.rem_euclid(1_000_000) * 1_000) as u32,
            precision: Precision::Fraction(6),
            offset_minutes: 0,
        }
    }

    /// Creates an instant in UTC in whole seconds.
    pub fn from_unix_seconds(seconds: i64) -> Self {
        Self { seconds, nanos: 0, precision: Precision::Second, offset_minutes: 0 }
    }

    /// Returns the start of this value in microseconds since 1970; finer digits are cut off.
    pub fn unix_micros(&self) -> i64 {
        self.seconds.saturating_mul(1_000_000).saturating_add(i64::from(self.nanos / 1_000))
    }

    /// Returns the start of this value: seconds since 1970, and the nanoseconds after them.
    pub fn instant(&self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    /// Returns the first instant after this value: the start of the next day for `2013-01-03`.
    pub fn end(&self) -> (i64, u32) {
        let local = self.seconds + i64::from(self.offset_minutes) * 60;
        let (year, month, _) = civil_from_days(local.div_euclid(86_400));
        match self.precision {
            Precision::Year => (days_from_civil(year + 1, 1, 1) * 86_400, 0),
            Precision::Month if month == 12 => (days_from_civil(year + 1, 1, 1) * 86_400, 0),
            Precision::Month => (days_from_civil(year, month + 1, 1) * 86_400, 0),
            Precision::Day => (self.seconds + 86_400, 0),
            Precision::Minute => (self.seconds + 60, 0),
            Precision::Second => (self.seconds + 1, 0),
            Precision::Fraction(digits) => {
                let nanos = self.nanos + 10u32.pow(9 - u32::from(digits.min(9)));
                (self.seconds + i64::from(nanos / 1_000_000_000), nanos % 1_000_000_000)
            }
        }
    }

    /// Returns `true` if the two can mean the same time, each taken with the precision it was written with.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.instant() < other.end() && other.instant() < self.end()
    }

    /// Returns the precision the value was written with.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Returns the offset the value was written with, in minutes east of UTC.
    pub fn offset_minutes(&self) -> i16 {
        self.offset_minutes
    }

    /// Returns `true` for the complete form in UTC that §7 recommends (ATT-23).
    pub fn is_complete_utc(&self) -> bool {
        self.precision >= Precision::Second && self.offset_minutes == 0
    }

    /// Returns `true` if the year has four digits, so that the value can be written as a W3C datetime.
    pub(crate) fn has_w3c_form(&self) -> bool {
        let local = self.seconds.saturating_add(i64::from(self.offset_minutes) * 60);
        (days_from_civil(0, 1, 1) * 86_400..days_from_civil(10_000, 1, 1) * 86_400).contains(&local)
    }

    /// Reads one of the six forms (ATT-22); an offset is subtracted (ATT-24).
    ///
    /// # Errors
    /// If the text has no such form, a time lacks its zone, or a field is out of range.
    pub fn parse(text: &str) -> Result<Self, DateTimeError> {
        let mut fields = DateTimeFields { rest: text.as_bytes() };
        let year = fields.digits(4)?;
        let date = |month, day, precision| -> Result<Self, DateTimeError> {
            Ok(Self { seconds: date_seconds(year, month, day)?, nanos: 0, precision, offset_minutes: 0 })
        };
        if fields.rest.is_empty() {
            return date(1, 1, Precision::Year);
        }
        fields.expect(b'-')?;
        let month = fields.digits(2)?;
        if fields.rest.is_empty() {
            return date(month, 1, Precision::Month);
        }
        fields.expect(b'-')?;
        let day = fields.digits(2)?;
        if fields.rest.is_empty() {
            return date(month, day, Precision::Day);
        }
        let mut value = date(month, day, Precision::Minute)?;
        fields.expect(b'T')?;
        let hour = fields.digits(2)?;
        fields.expect(b':')?;
        let minute = fields.digits(2)?;
        let mut second = 0;
        if fields.take(b':') {
            second = fields.digits(2)?;
            value.precision = Precision::Second;
            if fields.take(b'.') {
                let (nanos, digits) = fields.fraction()?;
                value.nanos = nanos;
                value.precision = Precision::Fraction(digits);
            }
        }
        if hour > 23 || minute > 59 || second > 59 {
            return Err(DateTimeError::Range);
        }
        value.offset_minutes = fields.zone()?;
        value.seconds += i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second)
            - i64::from(value.offset_minutes) * 60;
        Ok(value)
    }
}

impl std::str::FromStr for DateTime {
    type Err = DateTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.seconds + i64::from(self.offset_minutes) * 60;
        let (year, month, day) = civil_from_days(local.div_euclid(86_400));
        let mut text = Figures { bytes: [0; 40], length: 0 };
        match u32::try_from(year) {
            Ok(year @ 0..=9_999) => text.number(year, 4),
            _ => write!(f, "{year:04}")?,
        }
        if self.precision >= Precision::Month {
            text.byte(b'-');
            text.number(month as u32, 2);
        }
        if self.precision >= Precision::Day {
            text.byte(b'-');
            text.number(day as u32, 2);
        }
        if self.precision >= Precision::Minute {
            self.write_time(local.rem_euclid(86_400) as u32, &mut text);
        }
        f.write_str(text.as_str())
    }
}

impl DateTime {
    fn write_time(&self, second: u32, text: &mut Figures) {
        text.byte(b'T');
        text.number(second / 3_600, 2);
        text.byte(b':');
        text.number(second / 60 % 60, 2);
        if self.precision >= Precision::Second {
            text.byte(b':');
            text.number(second % 60, 2);
        }
        if let Precision::Fraction(digits) = self.precision {
            let digits = digits.clamp(1, 9);
            text.byte(b'.');
            text.number(self.nanos / 10u32.pow(9 - u32::from(digits)), usize::from(digits));
        }
        let offset = u32::from(self.offset_minutes.unsigned_abs());
        match self.offset_minutes {
            0 => return text.byte(b'Z'),
            1.. => text.byte(b'+'),
            _ => text.byte(b'-'),
        }
        text.number(offset / 60, 2);
        text.byte(b':');
        text.number(offset % 60, 2);
    }
}

/// A short text that is built in place: each of a million entries has several datetimes, and formatting them piece by
/// piece costs more than reading them.
struct Figures {
    bytes: [u8; 40],
    length: usize,
}

impl Figures {
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// Appends a number with exactly this many digits, zeros first.
    fn number(&mut self, mut value: u32, digits: usize) {
        let end = self.length + digits;
        if let Some(places) = self.bytes.get_mut(self.length..end) {
            for place in places.iter_mut().rev() {
                *place = b'0' + (value % 10) as u8;
                value /= 10;
            }
            self.length = end;
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

struct DateTimeFields<'a> {
    rest: &'a [u8],
}

impl DateTimeFields<'_> {
    fn digits(&mut self, count: usize) -> Result<u32, DateTimeError> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(DateTimeError::Form)?;
        self.rest = rest;
        head.iter().try_fold(0, |value, byte| match byte {
            b'0'..=b'9' => Ok(value * 10 + u32::from(byte - b'0')),
            _ => Err(DateTimeError::Form),
        })
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), DateTimeError> {
        if self.take(byte) { Ok(()) } else { Err(DateTimeError::Form) }
    }

    fn fraction(&mut self) -> Result<(u32, u8), DateTimeError> {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 || length > 12 {
            return Err(DateTimeError::Form);
        }
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        let kept = length.min(9);
        let value = digits[..kept].iter().fold(0, |value, byte| value * 10 + u32::from(byte - b'0'));
        Ok((value * 10u32.pow(9 - kept as u32), kept as u8))
    }

    fn zone(&mut self) -> Result<i16, DateTimeError> {
        let sign = match self.rest {
            [] => return Err(DateTimeError::NoZone),
            [b'Z'] => return Ok(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return Err(DateTimeError::Form),
        };
        self.rest = &self.rest[1..];
        let hours = self.digits(2)?;
        self.expect(b':')?;
        let minutes = self.digits(2)?;
        match self.rest {
            [] if hours <= 23 && minutes <= 59 => Ok(sign * (hours * 60 + minutes) as i16),
            [] => Err(DateTimeError::Range),
            _ => Err(DateTimeError::Form),
        }
    }
}

fn date_seconds(year: u32, month: u32, day: u32) -> Result<i64, DateTimeError> {
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return Err(DateTimeError::Range),
    };
    if !(1..=days).contains(&day) {
        return Err(DateTimeError::Range);
    }
    Ok(days_from_civil(i64::from(year), i64::from(month), i64::from(day)) * 86_400)
}

/// Returns the days since 1970-01-01 of a date of the proleptic Gregorian calendar. Years are counted from 1 March in
/// eras of 400, so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{DateTime, DateTimeError};

    #[test]
    fn the_six_forms_are_written_as_they_were_read() {
        for text in [
            "1997",
            "1997-07",
            "1997-07-16",
            "1997-07-16T19:20+01:00",
            "1997-07-16T19:20:30-05:30",
            "1997-07-16T19:20:30.45Z",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
            "2000-02-29",
        ] {
            assert_eq!(DateTime::parse(text).map(|value| value.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn att_24_an_offset_is_subtracted() {
        let local = DateTime::parse("2012-01-01T01:00:00+01:00").unwrap();
        let utc = DateTime::parse("2012-01-01T00:00:00Z").unwrap();
        assert_eq!(local.instant(), utc.instant());
    }

    #[test]
    fn what_is_no_w3c_datetime_is_refused_with_its_reason() {
        for (text, error) in [
            ("2013-01-03T09:00:00", DateTimeError::NoZone),
            ("2013-01-03 09:00:00Z", DateTimeError::Form),
            ("2013-01-03T09:00:00z", DateTimeError::Form),
            ("2013-01-03T09:00:00+0000", DateTimeError::Form),
            ("2013-01-03T24:00:00Z", DateTimeError::Range),
            ("2013-01-03T09:00:60Z", DateTimeError::Range),
            ("2013-02-29", DateTimeError::Range),
            ("2013-13", DateTimeError::Range),
            ("13-01-03", DateTimeError::Form),
            ("", DateTimeError::Form),
            ("2013-01-03T09:00:00.Z", DateTimeError::Form),
            ("2013-01-03T09:00:00+99:00", DateTimeError::Range),
        ] {
            assert_eq!(DateTime::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_day_overlaps_each_time_within_it() {
        let day = DateTime::parse("2012-05-06").unwrap();
        let within = DateTime::parse("2012-05-06T23:59:59.5Z").unwrap();
        let after = DateTime::parse("2012-05-07T00:00:00Z").unwrap();
        assert!(day.overlaps(&within) && !day.overlaps(&after));
    }
}
