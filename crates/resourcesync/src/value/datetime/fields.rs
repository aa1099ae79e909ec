//! The fields of a W3C datetime, read from its text.

/// The expectation for a text that has none of the six forms.
pub(super) const FORM: &str = "a W3C datetime: YYYY-MM-DDThh:mm:ssZ";
/// The expectation for a time that has neither `Z` nor an offset.
pub(super) const WITH_ZONE: &str = "a time with a zone designator: Z or +hh:mm";
/// The expectation for a field out of its range: month 13, 30 February, hour 24.
pub(super) const IN_RANGE: &str = "a date and time that exist";

/// The fields of a datetime that are still to be read.
pub(super) struct DateTimeFields<'a> {
    rest: &'a [u8],
}

impl<'a> DateTimeFields<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { rest: text.as_bytes() }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn digits(&mut self, count: usize) -> Result<u32, &'static str> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(FORM)?;
        self.rest = rest;
        head.iter().try_fold(0, |value, byte| match byte {
            b'0'..=b'9' => Ok(value * 10 + u32::from(byte - b'0')),
            _ => Err(FORM),
        })
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), &'static str> {
        if self.take(byte) { Ok(()) } else { Err(FORM) }
    }

    /// Reads the nanoseconds of a fraction and the number of its digits. There may be any number of them; those after the
    /// ninth are cut off.
    pub(super) fn fraction(&mut self) -> Result<(u32, u8), &'static str> {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return Err(FORM);
        }
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        let kept = length.min(9);
        let value = digits[..kept].iter().fold(0, |value, byte| value * 10 + u32::from(byte - b'0'));
        Ok((value * 10u32.pow(9 - kept as u32), kept as u8))
    }

    pub(super) fn zone(&mut self) -> Result<i16, &'static str> {
        let sign = match self.rest {
            [] => return Err(WITH_ZONE),
            [b'Z'] => return Ok(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return Err(FORM),
        };
        self.rest = &self.rest[1..];
        let hours = self.digits(2)?;
        self.expect(b':')?;
        let minutes = self.digits(2)?;
        match self.rest {
            [] if hours <= 23 && minutes <= 59 => Ok(sign * (hours * 60 + minutes) as i16),
            [] => Err(IN_RANGE),
            _ => Err(FORM),
        }
    }
}
