//! Reads bytes part by part.

use std::io::{self, Read};

/// Reads the next bytes into a buffer; `None` at the end. A read that a signal interrupts is repeated, because the bytes
/// are not at fault.
///
/// # Errors
/// If the reader fails.
pub fn next_bytes<'b>(from: &mut (impl Read + ?Sized), buffer: &'b mut [u8]) -> io::Result<Option<&'b [u8]>> {
    let read = loop {
        match from.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    if read == 0 {
        return Ok(None);
    }
    Ok(Some(&buffer[..read]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that a signal interrupts before each part.
    struct InterruptedParts<'a> {
        bytes: &'a [u8],
        is_next: bool,
    }

    impl Read for InterruptedParts<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_next = !self.is_next;
            if self.is_next { Err(io::ErrorKind::Interrupted.into()) } else { self.bytes.read(buffer) }
        }
    }

    #[test]
    fn o608_bytes_whose_read_a_signal_interrupts_are_read_to_their_end() {
        let mut from = InterruptedParts { bytes: b"a text", is_next: false };
        let (mut buffer, mut all) = ([0; 4], Vec::new());
        while let Some(part) = next_bytes(&mut from, &mut buffer).unwrap() {
            all.extend_from_slice(part);
        }
        assert_eq!(all, b"a text");
    }
}
