//! W3C datetimes with the precision they were written with.

mod calendar;
mod fields;
mod figures;

use std::{
    fmt::{self, Write as _},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use calendar::{civil_from_days, date_seconds, days_from_civil};
use fields::{DateTimeFields, IN_RANGE};
use figures::Figures;

use super::ValueError;

/// A W3C datetime (ATT-22): one of its six forms, with the precision and the zone it was written with.
///
/// Two values are equal if they are written alike. They are ordered by the instant at which they begin, so
/// `2013-01-03` comes before `2013-01-03T00:00:01Z`; [`DateTime::overlaps`] shows if two values of different
/// precision can mean the same time.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use resourcesync::DateTime;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let of_a_file = UNIX_EPOCH + Duration::from_secs(1_357_200_000);
/// let time = DateTime::from(of_a_file);
/// assert_eq!(time.to_string(), "2013-01-03T08:00:00.000000Z");
/// let (seconds, nanos) = time.instant();
/// assert_eq!(UNIX_EPOCH + Duration::new(u64::try_from(seconds)?, nanos), of_a_file);
/// assert!("2013-01-03".parse::<DateTime>()?.overlaps(&time));
/// # Ok(())
/// # }
/// ```
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
            Precision::Month => (days_from_civil(year, i64::from(month) + 1, 1) * 86_400, 0),
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

    /// Returns the same instant in the complete form in UTC (ATT-23); `None` if the value has no seconds, which would have
    /// to be invented.
    pub fn complete_utc(&self) -> Option<Self> {
        let utc = Self { offset_minutes: 0, ..*self };
        (self.precision >= Precision::Second && utc.has_w3c_form()).then_some(utc)
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
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        Self::read(text).map_err(|expected| ValueError::new(text, expected))
    }

    /// Reads one of the six forms; an error is the expected form.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        let mut fields = DateTimeFields::of(text);
        let year = fields.digits(4)?;
        let date = |month, day, precision| -> Result<Self, &'static str> {
            let seconds = date_seconds(year, month, day).ok_or(IN_RANGE)?;
            Ok(Self { seconds, nanos: 0, precision, offset_minutes: 0 })
        };
        if fields.is_at_end() {
            return date(1, 1, Precision::Year);
        }
        fields.expect(b'-')?;
        let month = fields.digits(2)?;
        if fields.is_at_end() {
            return date(month, 1, Precision::Month);
        }
        fields.expect(b'-')?;
        let day = fields.digits(2)?;
        if fields.is_at_end() {
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
            return Err(IN_RANGE);
        }
        value.offset_minutes = fields.zone()?;
        value.seconds += i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second)
            - i64::from(value.offset_minutes) * 60;
        Ok(value)
    }
}

/// A time of a clock or a file: an instant in UTC with six fraction digits, the form that a Source of this project writes.
impl From<SystemTime> for DateTime {
    fn from(time: SystemTime) -> Self {
        let micros = |length: Duration| i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        Self::from_unix_micros(match time.duration_since(UNIX_EPOCH) {
            Ok(since) => micros(since),
            Err(before) => -micros(before.duration()),
        })
    }
}

impl std::str::FromStr for DateTime {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.figures().as_str())
    }
}

impl DateTime {
    /// Appends the datetime as it is written.
    pub(crate) fn append_to(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(self.figures().as_bytes());
    }

    fn figures(&self) -> Figures {
        let local = self.seconds + i64::from(self.offset_minutes) * 60;
        let (year, month, day) = civil_from_days(local.div_euclid(86_400));
        let mut text = Figures::new();
        match u32::try_from(year) {
            Ok(year @ 0..=9_999) => text.number::<4>(year),
            // No W3C datetime; `figures` has room for any year.
            _ => drop(write!(text, "{year:04}")),
        }
        if self.precision >= Precision::Month {
            text.byte(b'-');
            text.number::<2>(month);
        }
        if self.precision >= Precision::Day {
            text.byte(b'-');
            text.number::<2>(day);
        }
        if self.precision >= Precision::Minute {
            self.write_time(local.rem_euclid(86_400) as u32, &mut text);
        }
        text
    }

    fn write_time(&self, second: u32, text: &mut Figures) {
        text.byte(b'T');
        text.number::<2>(second / 3_600);
        text.byte(b':');
        text.number::<2>(second / 60 % 60);
        if self.precision >= Precision::Second {
            text.byte(b':');
            text.number::<2>(second % 60);
        }
        if let Precision::Fraction(digits) = self.precision {
            text.byte(b'.');
            text.number::<9>(self.nanos);
            text.cut(9 - usize::from(digits.clamp(1, 9)));
        }
        let offset = u32::from(self.offset_minutes.unsigned_abs());
        match self.offset_minutes {
            0 => return text.byte(b'Z'),
            1.. => text.byte(b'+'),
            _ => text.byte(b'-'),
        }
        text.number::<2>(offset / 60);
        text.byte(b':');
        text.number::<2>(offset % 60);
    }
}

#[cfg(test)]
mod tests;
