//! The text of a datetime while it is written.

/// A short text that is built in place: each of a million entries has several datetimes, and formatting them piece by
/// piece costs more than reading them.
pub(super) struct Figures {
    bytes: [u8; 40],
    length: usize,
}

impl Figures {
    pub(super) fn new() -> Self {
        Self { bytes: [0; 40], length: 0 }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// Appends a number with exactly this many digits, zeros first.
    pub(super) fn number(&mut self, mut value: u32, digits: usize) {
        let end = self.length + digits;
        if let Some(places) = self.bytes.get_mut(self.length..end) {
            for place in places.iter_mut().rev() {
                *place = b'0' + (value % 10) as u8;
                value /= 10;
            }
            self.length = end;
        }
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}
