//! Addresses, written relative to the nearest one used before (RFC 3284 §5.1 to §5.3), and numbers (§2).

use crate::patch::error::PatchError;

const NEAR: usize = 4;
const SAME: usize = 3 * 256;
const HERE_MODE: u8 = 1;
const FIRST_NEAR: u8 = 2;
const FIRST_SAME: u8 = FIRST_NEAR + NEAR as u8;

/// The addresses used last.
#[derive(Debug)]
pub(super) struct Addresses {
    near: [usize; NEAR],
    next: usize,
    same: [usize; SAME],
}

impl Addresses {
    pub(super) fn new() -> Self {
        Self { near: [0; NEAR], next: 0, same: [0; SAME] }
    }

    /// Reads the address of a COPY at `here`; it must be before `here`.
    pub(super) fn read(
        &mut self,
        mode: u8,
        here: usize,
        section: &mut Input<'_>,
    ) -> Result<usize, PatchError> {
        let address = match mode {
            0 => Some(section.number()?),
            HERE_MODE => here.checked_sub(section.number()?),
            FIRST_NEAR..FIRST_SAME => {
                self.near[usize::from(mode - FIRST_NEAR)].checked_add(section.number()?)
            }
            _ => Some(self.same[usize::from(mode - FIRST_SAME) * 256 + usize::from(section.byte()?)]),
        };
        let address = address.filter(|address| *address < here);
        let address = address.ok_or_else(|| malformed("a copy from an address after itself"))?;
        self.used(address);
        Ok(address)
    }

    /// Writes an address in the fewest bytes, and returns the mode.
    pub(super) fn write(&mut self, address: usize, here: usize, section: &mut Vec<u8>) -> u8 {
        let slot = address % SAME;
        if self.same[slot] == address {
            self.used(address);
            section.push((slot % 256) as u8);
            return FIRST_SAME + (slot / 256) as u8;
        }
        let mut best = (0, address);
        let near =
            (FIRST_NEAR..).zip(self.near).filter_map(|(mode, near)| Some((mode, address.checked_sub(near)?)));
        for (mode, distance) in [(HERE_MODE, here - address)].into_iter().chain(near) {
            if distance < best.1 {
                best = (mode, distance);
            }
        }
        self.used(address);
        put_number(section, best.1);
        best.0
    }

    fn used(&mut self, address: usize) {
        self.near[self.next] = address;
        self.next = (self.next + 1) % NEAR;
        self.same[address % SAME] = address;
    }
}

/// Bytes that are read from the front.
#[derive(Debug)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, PatchError> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], PatchError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(|| malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a number in base 128, the most significant digit first.
    pub(super) fn number(&mut self) -> Result<usize, PatchError> {
        let mut number = 0usize;
        loop {
            let byte = self.byte()?;
            if number > usize::MAX >> 7 {
                return Err(malformed("a number without end"));
            }
            number = number << 7 | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
    }
}

pub(super) fn put_number(section: &mut Vec<u8>, number: usize) {
    let digits = (usize::BITS - number.leading_zeros()).div_ceil(7).max(1);
    for digit in (0..digits).rev() {
        let more = if digit > 0 { 0x80 } else { 0 };
        section.push((number >> (7 * digit) & 0x7f) as u8 | more);
    }
}

pub(super) fn malformed(what: &str) -> PatchError {
    PatchError::Malformed(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Input, put_number};

    #[test]
    fn numbers_are_written_in_base_128() {
        for (number, bytes) in
            [(0, &[0][..]), (127, &[0x7f]), (128, &[0x81, 0]), (123_456_789, &[0xba, 0xef, 0x9a, 0x15])]
        {
            let mut written = Vec::new();
            put_number(&mut written, number);
            assert_eq!(written, bytes);
            assert_eq!(Input(bytes).number(), Ok(number));
        }
        assert!(Input(&[0xff; 20]).number().is_err());
    }
}
