//! The content of `response` records: the head of an HTTP message, and the payload behind its codings.

use std::io::{self, BufRead, BufReader, Read};

use brotli_decompressor::Decompressor;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// The most bytes of a head that are read.
const MOST_HEAD: u64 = 256 << 10;

/// The most codings of a body: each has a decoder within the one before, and its calls go through all of them.
const MOST_CODINGS: usize = 8;

/// The bytes at the start of a body that show its form.
const START: u64 = 1_024;

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

/// Returns the bytes of the resource in a response: without the chunks and the codings in which it was sent. `None` for a
/// coding that is not known here, or for too many of them.
pub fn payload<'b>(head: &HttpHead, body: &'b mut dyn BufRead) -> Option<Box<dyn Read + 'b>> {
    let is_chunked =
        head.get("Transfer-Encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
    let body: Box<dyn BufRead + 'b> = Box::new(body);
    let body = if is_chunked { BodyCoding::Chunks.removed(body) } else { body };
    let codings = head.get("Content-Encoding").unwrap_or_default().to_ascii_lowercase();
    if codings.split(',').nth(MOST_CODINGS).is_some() {
        return None;
    }
    // Codings are listed in the order in which they were applied, so the last one is removed first.
    codings
        .rsplit(',')
        .map(str::trim)
        .try_fold(body, |body, coding| {
            let coding = match coding {
                "" | "identity" => return Some(body),
                "gzip" | "x-gzip" => BodyCoding::Gzip,
                "deflate" => BodyCoding::Deflate,
                "br" => BodyCoding::Brotli,
                _ => return None,
            };
            Some(coding.removed(body))
        })
        .map(|body| Box::new(body) as _)
}

fn is_chunk(start: &[u8]) -> bool {
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let size = line.split(|byte| matches!(byte, b';' | b'\r' | b' ')).next().unwrap_or_default();
    line.len() < start.len() && !size.is_empty() && size.len() <= 16 && size.iter().all(u8::is_ascii_hexdigit)
}

/// A coding of a body that is removed.
#[derive(Clone, Copy, Debug)]
enum BodyCoding {
    /// Its division into chunks.
    Chunks,
    Gzip,
    Deflate,
    Brotli,
}

impl BodyCoding {
    /// Returns a body without this coding.
    fn removed<'b>(self, body: Box<dyn BufRead + 'b>) -> Box<dyn BufRead + 'b> {
        let (start, content) = (Vec::new(), Box::new(io::empty()));
        Box::new(BufReader::new(DecodedBody { coding: self, start, coded: Some(body), content }))
    }

    /// Returns the decoder of a body that begins with these bytes; the body itself if it was unpacked already, and only
    /// the header was left.
    fn decoder<'b>(self, start: &[u8], body: Box<dyn BufRead + 'b>) -> Box<dyn Read + 'b> {
        let is_zlib = matches!(start, [first, second, ..] if first & 0x0f == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0);
        match self {
            _ if start.is_empty() => body_of(body),
            Self::Chunks if is_chunk(start) => Box::new(Chunks { body, left: 0, ended: false }),
            Self::Gzip if start.starts_with(&[0x1f, 0x8b]) => Box::new(MultiGzDecoder::new(body)),
            Self::Deflate if is_zlib => Box::new(ZlibDecoder::new(body)),
            // Neither format begins with a signature, but compressed bytes do not look like text.
            Self::Deflate if !is_text(start) => Box::new(DeflateDecoder::new(body)),
            Self::Brotli if !is_text(start) => Box::new(Decompressor::new(body, 8 << 10)),
            _ => body_of(body),
        }
    }
}

fn body_of<'b>(body: Box<dyn BufRead + 'b>) -> Box<dyn Read + 'b> {
    Box::new(body)
}

/// Returns `true` for bytes that begin a text.
fn is_text(start: &[u8]) -> bool {
    let start = &start[..start.len().min(1_024)];
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // The last character may be cut off by the limit above.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    text.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}'))
}

/// The content of a coded body.
struct DecodedBody<'b> {
    coding: BodyCoding,
    /// The first bytes of the body, as far as they have come.
    start: Vec<u8>,
    /// The rest of the body, until it is known how the body begins.
    coded: Option<Box<dyn BufRead + 'b>>,
    content: Box<dyn Read + 'b>,
}

impl Read for DecodedBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(mut coded) = self.coded.take() {
            // Reads on until there are enough bytes to recognize the coding: at the end of the reader's buffer a single read
            // may return one byte.
            let missing = START - self.start.len() as u64;
            if let Err(error) = coded.by_ref().take(missing).read_to_end(&mut self.start) {
                // The caller may read again, and must not find the end of the content then.
                self.coded = Some(coded);
                return Err(error);
            }
            let start = std::mem::take(&mut self.start);
            let body = Box::new(io::Cursor::new(start.clone()).chain(coded));
            self.content = self.coding.decoder(&start, body);
        }
        self.content.read(buffer)
    }
}

/// The content of chunks (RFC 9112 §7.1).
struct Chunks<'b> {
    body: Box<dyn BufRead + 'b>,
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
                // The empty line after the bytes of the chunk before.
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
    use crate::interrupted::InterruptedBytes;

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
        assert!(body(b"HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\n\r\n..").is_none());
        let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\none";
        assert!(body(cut).unwrap().is_err());
    }

    #[test]
    fn o368_a_payload_comes_without_deflate_and_brotli_also_one_over_the_other() {
        let text = "Hello, hello. ".repeat(5);
        let read = |mut coded: Box<dyn Read + '_>| {
            let mut all = Vec::new();
            coded.read_to_end(&mut all).unwrap();
            all
        };
        let fast = flate2::Compression::fast();
        let gzip = |bytes: &[u8]| read(Box::new(flate2::read::GzEncoder::new(bytes, fast)));
        let zlib = read(Box::new(flate2::read::ZlibEncoder::new(text.as_bytes(), fast)));
        let raw = read(Box::new(flate2::read::DeflateEncoder::new(text.as_bytes(), fast)));
        // Made by the reference encoder.
        let brotli = &[
            0x1b, 0x45, 0x00, 0xf8, 0x8d, 0xd4, 0x46, 0xf3, 0x5a, 0x46, 0x0d, 0x82, 0x54, 0x86, 0xa6, 0xd9,
            0xde, 0x58, 0x5c, 0xc6, 0x53, 0xf1, 0x00, 0x62, 0x34, 0x8e, 0x0e,
        ];
        let cases: [(&str, &[u8]); 7] = [
            ("deflate", &zlib),
            ("deflate", &raw),
            ("br", brotli),
            ("BR, gzip", &gzip(brotli)),
            ("gzip,gzip", &gzip(&gzip(text.as_bytes()))),
            ("br", text.as_bytes()),
            ("deflate, identity", text.as_bytes()),
        ];
        for (coding, coded) in cases {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\n\r\n");
            let message = [head.as_bytes(), coded].concat();
            assert_eq!(body(&message).unwrap().unwrap(), text.as_bytes(), "{coding}");
            let cut = [head.as_bytes(), &coded[..coded.len() / 2]].concat();
            let is_coded = coded != text.as_bytes();
            assert_eq!(body(&cut).unwrap().is_err(), is_coded, "{coding}");
        }
    }

    #[test]
    fn o884_a_body_in_thousands_of_codings_is_not_read() {
        let head = |codings: &str| {
            let message = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {codings}\r\n\r\n");
            HttpHead::read(&mut message.as_bytes()).unwrap()
        };
        assert!(payload(&head(&["gzip"; MOST_CODINGS].join(", ")), &mut &b"text"[..]).is_some());
        assert!(payload(&head(&["gzip"; 20_000].join(",")), &mut &b"text"[..]).is_none());
    }

    #[test]
    fn o493_a_payload_is_complete_although_its_first_read_was_interrupted() {
        let mut gzip = Vec::new();
        flate2::read::GzEncoder::new(&b"text"[..], flate2::Compression::fast())
            .read_to_end(&mut gzip)
            .unwrap();
        let cases: [(&str, &[u8]); 2] =
            [("Content-Encoding: gzip", &gzip), ("Transfer-Encoding: chunked", b"4\r\ntext\r\n0\r\n\r\n")];
        for (field, coded) in cases {
            let message = format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n");
            let head = HttpHead::read(&mut message.as_bytes()).unwrap();
            let mut body = InterruptedBytes::new(coded);
            let mut all = Vec::new();
            payload(&head, &mut body).unwrap().read_to_end(&mut all).unwrap();
            assert_eq!(all, b"text", "{field}");
        }
    }

    /// A body of which one byte at a time is ready, as where the buffer of a reader ends.
    struct DrippingBody<'b>(&'b [u8]);

    impl Read for DrippingBody<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.fill_buf()?.read(buffer)?;
            self.consume(read);
            Ok(read)
        }
    }

    impl BufRead for DrippingBody<'_> {
        fn fill_buf(&mut self) -> io::Result<&[u8]> {
            Ok(&self.0[..self.0.len().min(1)])
        }

        fn consume(&mut self, bytes: usize) {
            self.0 = &self.0[bytes..];
        }
    }

    #[test]
    fn o550_a_payload_comes_without_its_codings_also_if_only_its_first_byte_is_ready() {
        let fast = flate2::Compression::fast();
        let (mut gzip, mut zlib) = (Vec::new(), Vec::new());
        flate2::read::GzEncoder::new(&b"text"[..], fast).read_to_end(&mut gzip).unwrap();
        flate2::read::ZlibEncoder::new(&b"text"[..], fast).read_to_end(&mut zlib).unwrap();
        let cases: [(&str, &[u8]); 3] = [
            ("Transfer-Encoding: chunked", b"4\r\ntext\r\n0\r\n\r\n"),
            ("Content-Encoding: gzip", &gzip),
            ("Content-Encoding: deflate", &zlib),
        ];
        for (field, coded) in cases {
            let message = [format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n").as_bytes(), coded].concat();
            let mut block = DrippingBody(&message);
            let head = HttpHead::read(&mut block).unwrap();
            let mut all = Vec::new();
            payload(&head, &mut block).unwrap().read_to_end(&mut all).unwrap();
            assert_eq!(all, b"text", "{field}");
        }
    }
}
