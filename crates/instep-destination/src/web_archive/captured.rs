//! Exchanges as the records of an archive have them: small bodies are kept in memory behind their heads, large ones in a
//! file without a name.

use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
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

/// The most bytes for which room is made before they arrive.
const ROOM: usize = 64 << 10;

/// An exchange whose body has arrived.
pub(super) struct Captured {
    pub(super) heads: CapturedHeads,
    /// The head of the answer, as it is recorded, and its body.
    pub(super) answer: CapturedAnswer,
    /// The digest of the body as received.
    pub(super) digest: PayloadDigest,
    /// `false` if the body was not received to its end.
    pub(super) is_whole: bool,
}

/// The statements of an exchange outside its body.
pub(super) struct CapturedHeads {
    pub(super) uri: Uri,
    pub(super) status: StatusCode,
    pub(super) at: SystemTime,
    /// The `Content-Type` of the answer; empty if it has none.
    pub(super) media_type: Box<str>,
    /// `true` if the body has a content coding.
    pub(super) is_coded: bool,
    /// The request, as it is recorded.
    pub(super) request: Vec<u8>,
}

impl CapturedHeads {
    pub(super) fn of(exchange: &Exchange<'_>) -> Self {
        let (host, target) = host_and_target(exchange.uri.as_str());
        let line = [exchange.method.as_str(), " /", target, " HTTP/1.1\r\nhost: ", host, "\r\n"];
        let media_type = exchange.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Self {
            uri: exchange.uri.clone(),
            status: exchange.status,
            at: exchange.at,
            media_type: media_type.unwrap_or_default().into(),
            is_coded: exchange.headers.contains_key(header::CONTENT_ENCODING),
            request: http_head(&line, exchange.request_headers, 0),
        }
    }
}

/// The answer of an exchange: its head, and its body as far as it has arrived.
pub(super) struct CapturedAnswer {
    /// The head, followed by the body unless that waits in a file.
    bytes: Vec<u8>,
    head: usize,
    length: u64,
    file: Option<File>,
}

impl CapturedAnswer {
    /// Returns the head of an answer whose body has not begun to arrive.
    pub(super) fn of(exchange: &Exchange<'_>) -> Self {
        let reason = exchange.status.canonical_reason().unwrap_or_default();
        let line = ["HTTP/1.1 ", exchange.status.as_str(), " ", reason, "\r\n"];
        let announced = exchange.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let room = announced.and_then(|length| length.parse().ok()).unwrap_or(0);
        let bytes = http_head(&line, exchange.headers, ROOM.min(room));
        Self { head: bytes.len(), bytes, length: 0, file: None }
    }

    /// Returns the head.
    pub(super) fn head(&self) -> &[u8] {
        self.bytes.get(..self.head).unwrap_or_default()
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
        file.write_all(&self.bytes[self.head..])?;
        file.write_all(piece)?;
        self.bytes.truncate(self.head);
        self.bytes.shrink_to_fit();
        self.file = Some(file);
        Ok(())
    }

    /// Returns the bytes in memory, and the file with the bytes that follow them, at its beginning.
    pub(super) fn into_parts(self) -> io::Result<(Vec<u8>, Option<File>)> {
        let mut file = self.file;
        file.as_mut().map_or(Ok(()), File::rewind)?;
        Ok((self.bytes, file))
    }
}

/// Returns the host of a URI, and its path and query without the first slash and a fragment.
fn host_and_target(uri: &str) -> (&str, &str) {
    let rest = uri.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    (host, target.strip_prefix('/').unwrap_or(target))
}

/// Returns the head of a message, with room for a body. The body is recorded without its chunks, so the header that
/// announces them is left out.
fn http_head(start: &[&str], headers: &HeaderMap, room: usize) -> Vec<u8> {
    let mut head = Vec::with_capacity(512 + room);
    start.iter().for_each(|part| head.extend_from_slice(part.as_bytes()));
    for (name, value) in headers {
        if name == header::TRANSFER_ENCODING {
            continue;
        }
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"\r\n");
    head
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
