//! Writes exchanges and members of packages as records of WARC.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use data_encoding::HEXLOWER;
use http::{HeaderMap, StatusCode, header};
use instep_net::{Exchange, HttpOptions};
use instep_store::next_bytes;
use instep_warc::{
    IDENTICAL_PAYLOAD, NOT_MODIFIED, PayloadDigest, PayloadHasher, RecordPacking, WarcHead, WarcKind,
};
use resourcesync::DateTime;

use super::{
    captured::Captured,
    folder::{ArchiveFolder, OpenFile},
    index,
    known::{FirstCapture, KnownPayloads},
    orders::ArchivedMember,
};

/// Blocks with at most this many bytes are stored uncompressed. Compressing them took twice the time of everything else
/// for a record, and a file of the copy takes at least this much of the disk too.
const SMALL: u64 = 4_096;

/// Writes records into the files of an archive.
pub(super) struct RecordWriter {
    folder: ArchiveFolder,
    /// The payloads of the archive, read from the indexes when the first body is written.
    known: Option<KnownPayloads>,
    /// The second of the last record and its text, which many records share.
    second: (u64, Arc<str>),
}

impl RecordWriter {
    pub(super) fn new(folder: ArchiveFolder) -> Self {
        Self { folder, known: None, second: (0, date(0)) }
    }

    /// Writes a response and its request. If the archive has the payload already, writes a revisit instead of the
    /// response.
    pub(super) fn exchange(&mut self, captured: Captured) -> io::Result<()> {
        self.begin()?;
        let Captured { exchange, body, digest, is_whole } = captured;
        let (uri, date, response) = (exchange.uri.as_str(), self.date(exchange.at), record_id());
        let reason = exchange.status.canonical_reason().unwrap_or_default();
        let block =
            http_head(&["HTTP/1.1 ", exchange.status.as_str(), " ", reason, "\r\n"], &exchange.headers);
        let is_ok = exchange.status == StatusCode::OK && body.length() > 0;
        if is_ok {
            self.learn()?;
        }
        let first = self.known.as_ref().and_then(|known| known.get(&digest)).filter(|_| is_ok);
        let payload = digest.to_string();
        let head = |kind| {
            WarcHead::new(kind, &response, &date)
                .with("WARC-Target-URI", uri)
                .with("Content-Type", "application/http; msgtype=response")
        };
        let is_revisit = first.is_some() || exchange.status == StatusCode::NOT_MODIFIED;
        let head = match first {
            Some(first) => head(WarcKind::Revisit)
                .with("WARC-Profile", IDENTICAL_PAYLOAD)
                .with("WARC-Payload-Digest", &payload)
                .with("WARC-Refers-To-Target-URI", &first.uri)
                .with("WARC-Refers-To-Date", &first.date),
            None if is_revisit => head(WarcKind::Revisit).with("WARC-Profile", NOT_MODIFIED),
            None => head(WarcKind::Response).with("WARC-Payload-Digest", &payload),
        };
        let head = if is_whole || is_revisit { head } else { head.with("WARC-Truncated", "unspecified") };
        let mime = exchange.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let status = exchange.status.as_str();
        let length = if is_revisit { 0 } else { body.length() };
        let head_length = block.len() as u64;
        let (file, _) = self.folder.current()?;
        let mut all: Box<dyn io::Read> = if is_revisit { Box::new(io::empty()) } else { body.read()? };
        let mime = mime.unwrap_or_default();
        let packing =
            packing(head_length + length, mime, exchange.headers.contains_key(header::CONTENT_ENCODING));
        let written = file.writer.write(&head, head_length + length, &mut block.chain(&mut all), packing)?;
        file.list(|place| index::line(&head, mime, status, place), written);
        if is_ok
            && !is_revisit
            && let Some(known) = &mut self.known
        {
            known.add(digest, FirstCapture { uri: uri.into(), date: Arc::clone(&date) });
        }
        write_request(file, &exchange, &response, &date)
    }

    /// Writes a member of a package.
    pub(super) fn member(&mut self, member: ArchivedMember) -> io::Result<()> {
        self.begin()?;
        let (length, digest) = measure(&member.file)?;
        let mime = member.media_type.as_deref().unwrap_or("application/octet-stream");
        let (id, date, digest) = (record_id(), self.date(member.at), digest.to_string());
        let head = WarcHead::new(WarcKind::Resource, &id, &date)
            .with("WARC-Target-URI", &member.uri)
            .with("Content-Type", mime)
            .with("WARC-Payload-Digest", &digest);
        let (file, _) = self.folder.current()?;
        let mut block = (&member.file).take(length);
        let written = file.writer.write(&head, length, &mut block, packing(length, mime, false))?;
        file.list(|place| index::line(&head, mime, "", place), written);
        Ok(())
    }

    /// Makes everything that was written durable.
    pub(super) fn keep(&mut self) -> io::Result<()> {
        self.folder.keep()
    }

    /// Ends the last file.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.folder.close()
    }

    /// Reads the payloads of the archive if this was not done. Most rounds of a run that follows a Source have no body to
    /// compare with them.
    fn learn(&mut self) -> io::Result<()> {
        if self.known.is_none() {
            self.known = Some(self.folder.known()?);
        }
        Ok(())
    }

    /// Begins a new file with a record about it, if one is needed.
    fn begin(&mut self) -> io::Result<()> {
        let now = self.date(SystemTime::now());
        let (file, is_new) = self.folder.current()?;
        if !is_new {
            return Ok(());
        }
        let about = format!(
            "software: {}\r\nformat: WARC File Format 1.1\r\nconformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n",
            HttpOptions::USER_AGENT
        );
        let id = record_id();
        let head = WarcHead::new(WarcKind::Warcinfo, &id, &now)
            .with("WARC-Filename", &file.name)
            .with("Content-Type", "application/warc-fields");
        file.writer.write(&head, about.len() as u64, &mut about.as_bytes(), RecordPacking::Stored).map(drop)
    }

    /// Returns a time as records write it.
    fn date(&mut self, at: SystemTime) -> Arc<str> {
        let second = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.second.0 != second {
            self.second = (second, date(second));
        }
        Arc::clone(&self.second.1)
    }
}

/// Writes the request of an exchange, with the id of the record of its response.
fn write_request(file: &mut OpenFile, exchange: &Exchange, response: &str, date: &str) -> io::Result<()> {
    let uri = exchange.uri.as_str();
    let (host, target) = host_and_target(uri);
    let line = [exchange.method.as_str(), " /", target, " HTTP/1.1\r\nhost: ", host, "\r\n"];
    let request = http_head(&line, &exchange.request_headers);
    let id = record_id();
    let head = WarcHead::new(WarcKind::Request, &id, date)
        .with("WARC-Target-URI", uri)
        .with("WARC-Concurrent-To", response)
        .with("Content-Type", "application/http; msgtype=request");
    file.writer.write(&head, request.len() as u64, &mut &*request, RecordPacking::Stored)?;
    Ok(())
}

/// Returns the number of bytes of a file, and their digest.
fn measure(mut file: &File) -> io::Result<(u64, PayloadDigest)> {
    let (mut hasher, mut length, mut buffer) = (PayloadHasher::default(), 0, vec![0; 64 << 10]);
    file.rewind()?;
    while let Some(part) = next_bytes(&mut file, &mut buffer)? {
        hasher.update(part);
        length += part.len() as u64;
    }
    file.rewind()?;
    Ok((length, hasher.finish()))
}

/// Returns a new identifier of a record: a random UUID.
pub(crate) fn record_id() -> String {
    let mut bytes: [u8; 16] = rand::random();
    (bytes[6], bytes[8]) = (bytes[6] & 0x0f | 0x40, bytes[8] & 0x3f | 0x80);
    let digits = HEXLOWER.encode(&bytes);
    let mut text = String::with_capacity(46);
    let mut before = "<urn:uuid:";
    for part in [0..8, 8..12, 12..16, 16..20, 20..32] {
        text.push_str(before);
        text.push_str(digits.get(part).unwrap_or_default());
        before = "-";
    }
    text.push('>');
    text
}

/// Returns the host of a URI, and its path and query without the first slash and a fragment.
fn host_and_target(uri: &str) -> (&str, &str) {
    let rest = uri.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    (host, target.strip_prefix('/').unwrap_or(target))
}

/// Returns a second since 1970 as records write it.
fn date(second: u64) -> Arc<str> {
    DateTime::from_unix_seconds(i64::try_from(second).unwrap_or(i64::MAX)).to_string().into()
}

/// Returns the packing of a record whose block has `length` bytes. Data that is compressed already is stored as it is.
fn packing(length: u64, media_type: &str, is_coded: bool) -> RecordPacking {
    const COMPRESSED: [&str; 9] = [
        "application/gzip",
        "application/vnd.openxmlformats-officedocument",
        "application/x-7z-compressed",
        "application/x-xz",
        "application/zip",
        "application/zstd",
        "audio/",
        "video/",
        "image/",
    ];
    // Images that are not compressed: text or plain pixels.
    const PLAIN: [&str; 3] = ["image/svg", "image/bmp", "image/tiff"];
    let is =
        |known: &&str| media_type.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known));
    let is_compressed = is_coded || COMPRESSED.iter().any(&is) && !PLAIN.iter().any(is);
    if length <= SMALL || is_compressed { RecordPacking::Stored } else { RecordPacking::Compressed }
}

/// Returns the head of a message. The body is recorded without its chunks, so the header that announces them is left out.
fn http_head(start: &[&str], headers: &HeaderMap) -> Vec<u8> {
    let mut head = Vec::with_capacity(512);
    start.iter().for_each(|part| head.extend_from_slice(part.as_bytes()));
    let shown = headers.iter().filter(|(name, _)| **name != header::TRANSFER_ENCODING);
    for (name, value) in shown {
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
