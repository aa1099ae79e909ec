//! The text of a datetime while it is written.

use std::fmt;

/// A short text that is built in place: each of a million entries has several datetimes, and formatting them piece by
/// piece costs more than reading them.
pub(super) struct Figures {
    bytes: [u8; 48],
    length: usize,
}

impl Figures {
    pub(super) fn new() -> Self {
        Self { bytes: [0; 48], length: 0 }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// Appends a number with exactly this many digits, zeros first.
    #[inline]
    pub(super) fn number<const DIGITS: usize>(&mut self, mut value: u32) {
        let rest = self.bytes.get_mut(self.length..).unwrap_or_default();
        let Some(places) = rest.first_chunk_mut::<DIGITS>() else { return };
        // Two digits a step: most fields have just two.
        for places in places.rchunks_mut(2) {
            let two = (value % 100) as u8;
            match places {
                [ten, one] => (*ten, *one) = (b'0' + two / 10, b'0' + two % 10),
                [one] => *one = b'0' + two % 10,
                _ => {}
            }
            value /= 100;
        }
        self.length += DIGITS;
    }

    /// Takes the last characters back.
    pub(super) fn cut(&mut self, characters: usize) {
        self.length = self.length.saturating_sub(characters);
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl fmt::Write for Figures {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.byte(byte));
        Ok(())
    }
}
