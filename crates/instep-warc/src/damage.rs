//! Damage in an archive: the place where the next record may begin.

use std::io::{self, BufRead};

/// The first bytes of a record that is not compressed, with the line end before them: of WARC 1.0 and 1.1, or of a draft
/// such as 0.18.
const PLAIN: [&[u8]; 2] = [b"\nWARC/1.", b"\nWARC/0."];
/// The length of each of [`PLAIN`], in bytes.
const LENGTH: usize = PLAIN[0].len();

/// Reads up to a byte at which a record or a gzip member may begin, and returns the number of bytes before it; `None` if
/// there is no such byte. Whether a record is there is for a reader to find out: bytes of a body may look like one.
///
/// # Errors
/// If the input cannot be read.
pub fn find_record(input: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let (mut window, mut passed) = (Vec::new(), 0);
    loop {
        let more = input.fill_buf()?;
        if more.is_empty() {
            return Ok(None);
        }
        window.extend_from_slice(more);
        let length = more.len();
        input.consume(length);
        if let Some((place, bytes)) = window.windows(LENGTH).enumerate().find(|(_, bytes)| begins(bytes)) {
            let is_plain = PLAIN.contains(&bytes);
            return Ok(Some(passed + place as u64 + u64::from(is_plain)));
        }
        // The first bytes of a record may lie across two pieces of input, so the last ones of this piece are kept.
        let done = window.len().saturating_sub(LENGTH - 1);
        window.drain(..done);
        passed += done as u64;
    }
}

fn begins(bytes: &[u8]) -> bool {
    // The three highest flags of a gzip member are reserved (RFC 1952 §2.3.1).
    PLAIN.contains(&bytes)
        || bytes.starts_with(&[0x1f, 0x8b, 8]) && bytes.get(3).is_some_and(|flags| *flags < 0x20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o239_the_next_record_is_found_across_pieces() {
        let plain = b"garbage WARC/1.1 in a line\r\nWARC/1.1\r\n";
        let draft = b"garbage WARC/0.18 in a line\nWARC/0.18\n";
        let gzip = b"\x1f\x8bno\x1f\x8b\x08\xffno\x1f\x8b\x08\0begin";
        for size in 1..12 {
            let find = |bytes: &[u8]| find_record(&mut io::BufReader::with_capacity(size, bytes)).unwrap();
            assert_eq!(find(plain), Some(28), "{size}");
            assert_eq!(find(draft), Some(28), "{size}");
            assert_eq!(find(gzip), Some(10), "{size}");
            assert_eq!(find(b"nothing of it"), None, "{size}");
        }
    }
}
