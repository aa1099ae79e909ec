//! Writes exchanges and members of packages as records of WARC.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use data_encoding::HEXLOWER;
use http::StatusCode;
use instep_net::HttpOptions;
use instep_store::next_bytes;
use instep_warc::{
    IDENTICAL_PAYLOAD, NOT_MODIFIED, PayloadDigest, PayloadHasher, RecordPacking, WarcHead, WarcKind,
};
use resourcesync::DateTime;

use super::{
    captured::ArrivedExchange,
    folder::ArchiveFolder,
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

    /// Returns `true` if a record can be written without reading an index or ending a file, which take long.
    pub(super) fn is_ready(&self) -> bool {
        self.known.is_some() && self.folder.has_room()
    }

    /// Writes a response and its request. If the archive has the payload already, writes a revisit instead of the
    /// response.
    pub(super) fn exchange(&mut self, arrived: &ArrivedExchange) -> io::Result<()> {
        self.begin()?;
        let ArrivedExchange { captured, digest, is_whole } = arrived;
        let (uri, date, response) = (captured.uri.as_str(), self.date(captured.at), record_id());
        let is_ok = captured.status == StatusCode::OK && captured.length() > 0;
        if is_ok {
            self.learn()?;
        }
        let first = self.known.as_ref().and_then(|known| known.get(digest)).filter(|_| is_ok);
        let payload = digest.to_string();
        let head = |kind| {
            WarcHead::new(kind, &response, &date)
                .with("WARC-Target-URI", uri)
                .with("Content-Type", "application/http; msgtype=response")
        };
        let is_revisit = first.is_some() || captured.status == StatusCode::NOT_MODIFIED;
        let head = match first {
            Some(first) => head(WarcKind::Revisit)
                .with("WARC-Profile", IDENTICAL_PAYLOAD)
                .with("WARC-Payload-Digest", &payload)
                .with("WARC-Refers-To-Target-URI", &first.uri)
                .with("WARC-Refers-To-Date", &first.date),
            None if is_revisit => head(WarcKind::Revisit).with("WARC-Profile", NOT_MODIFIED),
            None => head(WarcKind::Response).with("WARC-Payload-Digest", &payload),
        };
        let head = if *is_whole || is_revisit { head } else { head.with("WARC-Truncated", "unspecified") };
        let (file, _) = self.folder.current()?;
        let written = if is_revisit {
            let mut block = captured.head();
            file.writer.write(&head, block.len() as u64, &mut block, RecordPacking::Stored)?
        } else {
            let length = captured.head().len() as u64 + captured.length();
            let packing = packing(length, captured.media_type(), captured.is_coded);
            let mut block = captured.answer();
            match captured.large_body()? {
                None => file.writer.write(&head, length, &mut block, packing)?,
                Some(body) => file.writer.write(&head, length, &mut block.chain(body), packing)?,
            }
        };
        let (mime, status) = (captured.media_type(), captured.status.as_str());
        file.list(|place| index::line(&head, mime, status, place), written);
        if is_ok
            && !is_revisit
            && let Some(known) = &mut self.known
        {
            known.add(*digest, FirstCapture { uri: uri.into(), date: Arc::clone(&date) });
        }
        let id = record_id();
        let head = WarcHead::new(WarcKind::Request, &id, &date)
            .with("WARC-Target-URI", uri)
            .with("WARC-Concurrent-To", &response)
            .with("Content-Type", "application/http; msgtype=request");
        let mut request = captured.request();
        file.writer.write(&head, request.len() as u64, &mut request, RecordPacking::Stored).map(drop)
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

    /// Writes what is still in memory, and returns the file, which the caller makes durable; `None` if there is none.
    pub(super) fn flush(&mut self) -> io::Result<Option<File>> {
        self.folder.flush()
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
