//! Exchanges as the records of an archive have them. Request, answer and a small body follow each other in one buffer; a
//! large body waits in a file without a name.

use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    ops::Range,
    path::Path,
    time::SystemTime,
};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use instep_net::Exchange;
use instep_warc::PayloadDigest;
use resourcesync::Uri;

/// The most bytes of a body that are kept in memory.
const IN_MEMORY: u64 = 1 << 20;

/// An exchange whose body has arrived.
pub(super) struct ArrivedExchange {
    pub(super) captured: Captured,
    /// The digest of the body as received.
    pub(super) digest: PayloadDigest,
    /// `false` if the body was not received to its end.
    pub(super) is_whole: bool,
}

/// An exchange as far as it has arrived.
pub(super) struct Captured {
    pub(super) uri: Uri,
    pub(super) status: StatusCode,
    /// The time at which the answer began.
    pub(super) at: SystemTime,
    /// `true` if the body has a content coding.
    pub(super) is_coded: bool,
    /// The request, the head of the answer, and the body unless that waits in a file.
    bytes: Vec<u8>,
    /// The place of the value of the `Content-Type` of the answer; empty if it has none.
    media_type: Range<usize>,
    request_end: usize,
    head_end: usize,
    length: u64,
    file: Option<File>,
}

impl Captured {
    /// Records the heads of an exchange in an empty buffer.
    pub(super) fn new(exchange: &Exchange<'_>, mut bytes: Vec<u8>) -> Self {
        let (host, target) = host_and_target(exchange.uri.as_str());
        let line = [exchange.method.as_str(), " /", target, " HTTP/1.1\r\nhost: ", host, "\r\n"];
        append_head(&line, exchange.request_headers, &mut bytes);
        let request_end = bytes.len();
        let reason = exchange.status.canonical_reason().unwrap_or_default();
        let line = ["HTTP/1.1 ", exchange.status.as_str(), " ", reason, "\r\n"];
        let media_type = append_head(&line, exchange.headers, &mut bytes);
        Self {
            uri: exchange.uri.clone(),
            status: exchange.status,
            at: exchange.at,
            is_coded: exchange.headers.contains_key(header::CONTENT_ENCODING),
            media_type,
            request_end,
            head_end: bytes.len(),
            bytes,
            length: 0,
            file: None,
        }
    }

    /// Returns the media type that the answer states; empty if it states none.
    pub(super) fn media_type(&self) -> &str {
        std::str::from_utf8(self.part(self.media_type.clone())).unwrap_or_default()
    }

    /// Returns the request, as it is recorded.
    pub(super) fn request(&self) -> &[u8] {
        self.part(0..self.request_end)
    }

    /// Returns the head of the answer, as it is recorded.
    pub(super) fn head(&self) -> &[u8] {
        self.part(self.request_end..self.head_end)
    }

    /// Returns the head of the answer, and the body unless that waits in a file.
    pub(super) fn answer(&self) -> &[u8] {
        self.part(self.request_end..self.bytes.len())
    }

    /// Returns the file of a large body, at its beginning.
    pub(super) fn large_body(&self) -> io::Result<Option<&File>> {
        let Some(mut file) = self.file.as_ref() else { return Ok(None) };
        file.rewind()?;
        Ok(Some(file))
    }

    /// Returns the number of bytes of the body.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the bytes that are held in memory.
    pub(super) fn in_memory(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns `true` if the body waits in a file.
    pub(super) fn is_large(&self) -> bool {
        self.file.is_some()
    }

    /// Adds a piece of the body. A large body waits in a file without a name in `folder`.
    pub(super) fn push(&mut self, piece: &Bytes, folder: &Path) -> io::Result<()> {
        self.length += piece.len() as u64;
        if let Some(file) = &mut self.file {
            return file.write_all(piece);
        }
        if self.length <= IN_MEMORY {
            self.bytes.extend_from_slice(piece);
            return Ok(());
        }
        let mut file = tempfile::tempfile_in(folder)?;
        file.write_all(self.part(self.head_end..self.bytes.len()))?;
        file.write_all(piece)?;
        self.bytes.truncate(self.head_end);
        self.bytes.shrink_to_fit();
        self.file = Some(file);
        Ok(())
    }

    /// Returns the buffer, for another exchange.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    fn part(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Returns the host of a URI, and its path and query without the first slash and a fragment.
fn host_and_target(uri: &str) -> (&str, &str) {
    let rest = uri.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    (host, target.strip_prefix('/').unwrap_or(target))
}

/// Appends the head of a message. Returns the place of its media type. The body is recorded without its chunks, so the
/// header that announces them is left out.
fn append_head(start: &[&str], headers: &HeaderMap, head: &mut Vec<u8>) -> Range<usize> {
    let mut media_type = 0..0;
    start.iter().for_each(|part| head.extend_from_slice(part.as_bytes()));
    for (name, value) in headers {
        if name == header::TRANSFER_ENCODING {
            continue;
        }
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
        if name == header::CONTENT_TYPE && media_type.is_empty() {
            let end = head.len() - b"\r\n".len();
            media_type = end - value.len()..end;
        }
    }
    head.extend_from_slice(b"\r\n");
    media_type
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o490_a_query_without_a_path_belongs_to_the_request_and_not_to_the_host() {
        for (uri, host, target) in [
            ("https://h?x=/a", "h", "?x=/a"),
            ("https://h/?x=/a", "h", "?x=/a"),
            ("https://h:8080/a/b?c#d/e", "h:8080", "a/b?c"),
            ("https://h#/a", "h", ""),
            ("https://h", "h", ""),
        ] {
            assert_eq!(host_and_target(uri), (host, target), "{uri}");
        }
    }
}
