//! The content of `response` records: the head of an HTTP message, and the payload behind its codings.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// Bytes of a head.
const MOST_HEAD: u64 = 256 << 10;

/// The head of an HTTP response in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpHead {
    /// The status; `None` if the line is not one of HTTP.
    pub status: Option<u16>,
    fields: Vec<(String, String)>,
}

impl HttpHead {
    /// Reads the head at the start of a block.
    ///
    /// # Errors
    /// If the block cannot be read.
    pub fn read(block: &mut dyn BufRead) -> io::Result<Self> {
        let mut head = Self::default();
        let mut block = block.take(MOST_HEAD);
        for number in 0.. {
            let mut line = Vec::new();
            block.read_until(b'\n', &mut line)?;
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            match (number, line.split_once(':')) {
                (0, _) => {
                    head.status =
                        line.strip_prefix("HTTP/").and_then(|line| line.split(' ').nth(1)?.parse().ok())
                }
                _ if line.is_empty() => break,
                (_, Some((name, value))) => {
                    head.fields.push((name.trim().to_owned(), value.trim().to_owned()))
                }
                (_, None) => {}
            }
        }
        Ok(head)
    }

    /// Returns the value of a field; the case of its name does not matter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// Returns the bytes of the resource in a response: without the chunks and the gzip coding in which it was sent. `None` for
/// a coding that is not known here.
pub fn payload<'b>(head: &HttpHead, body: &'b mut dyn BufRead) -> Option<Box<dyn Read + 'b>> {
    let is_chunked =
        head.get("Transfer-Encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
    // Who unpacked the chunks may have left the header, so the body itself decides.
    let body: Box<dyn BufRead + 'b> = match is_chunked && begins_with_chunk(body) {
        true => Box::new(BufReader::new(Chunks { body, left: 0, ended: false })),
        false => Box::new(body),
    };
    match head.get("Content-Encoding").map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "identity") => Some(Box::new(body)),
        Some("gzip" | "x-gzip") => Some(Box::new(Gzip { coded: Some(body), content: Box::new(io::empty()) })),
        Some(_) => None,
    }
}

fn begins_with_chunk(body: &mut dyn BufRead) -> bool {
    let Ok(start) = body.fill_buf() else { return false };
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let size = line.split(|byte| matches!(byte, b';' | b'\r' | b' ')).next().unwrap_or_default();
    line.len() < start.len() && !size.is_empty() && size.len() <= 16 && size.iter().all(u8::is_ascii_hexdigit)
}

/// The content of gzip, or of a body that was unpacked already: the first bytes decide.
struct Gzip<'b> {
    /// The body until its first bytes are there.
    coded: Option<Box<dyn BufRead + 'b>>,
    content: Box<dyn Read + 'b>,
}

impl Read for Gzip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(coded) = &mut self.coded {
            let is_gzip = coded.fill_buf()?.starts_with(&[0x1f, 0x8b]);
            if let Some(coded) = self.coded.take() {
                self.content = if is_gzip { Box::new(MultiGzDecoder::new(coded)) } else { Box::new(coded) };
            }
        }
        self.content.read(buffer)
    }
}

/// The content of chunks (RFC 9112 §7.1).
struct Chunks<'b> {
    body: &'b mut dyn BufRead,
    left: u64,
    ended: bool,
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 && !self.ended {
            let mut line = Vec::new();
            (&mut *self.body).take(4_096).read_until(b'\n', &mut line)?;
            let text = String::from_utf8_lossy(&line);
            let size = text.trim().split(';').next().unwrap_or_default().trim();
            match u64::from_str_radix(size, 16) {
                _ if line.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
                // The end of the chunk before.
                _ if size.is_empty() => {}
                Ok(0) => self.ended = true,
                Ok(size) => self.left = size,
                Err(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "a chunk without a size")),
            }
        }
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.body.read(&mut buffer[..most])?;
        if read == 0 && self.left > 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(message: &[u8]) -> Option<io::Result<Vec<u8>>> {
        let mut message = message;
        let head = HttpHead::read(&mut message).unwrap();
        assert_eq!(head.status, Some(200));
        let mut all = Vec::new();
        let payload = payload(&head, &mut message).map(|mut payload| payload.read_to_end(&mut all).map(drop));
        payload.map(|result| result.map(|()| all))
    }

    #[test]
    fn o238_a_payload_comes_without_the_codings_it_was_sent_in_also_if_only_their_headers_are_left() {
        let cases: [(&[u8], &[u8]); 4] = [
            (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nplain", b"plain"),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\none\r\n4\r\n two\r\n0\r\n\r\n",
                b"one two",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nunpacked\n already",
                b"unpacked\n already",
            ),
            (b"HTTP/1.0 200\nA\n\n", b""),
        ];
        for (message, expected) in cases {
            assert_eq!(body(message).unwrap().unwrap(), expected);
        }
        let mut gzip = flate2::read::GzEncoder::new(&b"text"[..], flate2::Compression::fast());
        let mut message = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n".to_vec();
        gzip.read_to_end(&mut message).unwrap();
        assert_eq!(body(&message).unwrap().unwrap(), b"text");
        let unpacked = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nunpacked";
        assert_eq!(body(unpacked).unwrap().unwrap(), b"unpacked", "o238");
        message.truncate(message.len() - 5);
        assert!(body(&message).unwrap().is_err());
        assert!(body(b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n..").is_none());
        let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\none";
        assert!(body(cut).unwrap().is_err());
    }
}
