//! The headers of an answer that describe a file, computed once for each state of it.

use std::{
    fs::{File, Metadata},
    io,
    os::unix::fs::{FileExt, MetadataExt},
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::HeaderValue;

use super::condition::RepresentationValidators;
use crate::catalogue::{FileStamp, ResourceState};

/// Files up to this many bytes are read at once, inside the task, and may be kept in memory.
const SMALL_FILE: u64 = 64 * 1024;

/// The memory of a value beside its bytes: the count of those that share them.
const HEADER_BYTES: usize = 32;

/// One state of a file, as it is served.
#[derive(Debug)]
pub(crate) struct Representation {
    /// The state.
    pub stamp: FileStamp,
    /// The moment at which it was described.
    pub described: Instant,
    /// Its ETag and time.
    pub validators: RepresentationValidators,
    /// `Last-Modified`
    pub last_modified: HeaderValue,
    /// `Content-Type`
    pub content_type: HeaderValue,
    /// `Content-Encoding`, of files that are stored compressed.
    pub content_encoding: Option<HeaderValue>,
    /// `Link`: the Capability Lists that cover it.
    pub link: Option<HeaderValue>,
    /// The bytes of a small file.
    pub body: Option<Bytes>,
}

/// The description of a file by the Source, in addition to that by the file system.
#[derive(Debug, Default)]
pub(crate) struct Description {
    /// The state that is published.
    pub published: Option<ResourceState>,
    /// The stamp of the file when the digests of that state were computed.
    pub hashed: Option<FileStamp>,
    /// `Content-Type`, if no published state has it.
    pub content_type: Option<HeaderValue>,
    /// `Link`
    pub link: Option<HeaderValue>,
    /// `ETag`, if it has to be the same on several servers.
    pub etag: Option<HeaderValue>,
}

impl Representation {
    /// Describes an open file. Its bytes are kept only if it did not change while they were read.
    pub(crate) fn of(file: &File, stamp: FileStamp, description: Description) -> io::Result<Self> {
        let body = if stamp.length <= SMALL_FILE { read_at_rest(file, stamp)? } else { None };
        let Description { published, hashed, content_type, link, etag } = description;
        let state = published.unwrap_or_default();
        let strongest = state.digests.strongest().filter(|_| hashed == Some(stamp));
        let digest = strongest.and_then(|digest| digest.bytes()).map(etag_of_digest);
        let modified = u64::try_from(stamp.mtime_ns / 1_000_000_000).unwrap_or_default();
        // A time in the future is not sent, because it would be later than the answer (RFC 9110 §8.8.2.1).
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let modified = modified.min(now.as_secs());
        let own_type = state.media_type.and_then(|kind| HeaderValue::from_str(kind.as_str()).ok());
        Ok(Self {
            stamp,
            described: Instant::now(),
            validators: RepresentationValidators {
                etag: etag.or(digest).unwrap_or_else(|| etag_of_stamp(stamp)),
                modified,
            },
            last_modified: text(&httpdate::fmt_http_date(
                SystemTime::UNIX_EPOCH + Duration::from_secs(modified),
            )),
            content_type: own_type
                .or(content_type)
                .unwrap_or(HeaderValue::from_static("application/octet-stream")),
            content_encoding: state.encoding.and_then(|coding| HeaderValue::from_str(&coding).ok()),
            link,
            body,
        })
    }

    /// Returns the approximate number of bytes that it takes in memory. The headers of a version are longer than many a resource:
    /// `Link` names its neighbours.
    pub(crate) fn bytes_held(&self) -> usize {
        let length = |value: &HeaderValue| value.len() + HEADER_BYTES;
        let fixed = [&self.validators.etag, &self.last_modified, &self.content_type].map(length);
        let optional = [&self.content_encoding, &self.link].map(|value| value.as_ref().map_or(0, length));
        let headers = fixed.iter().chain(&optional).sum::<usize>();
        // 64 bytes are for its place in the cache.
        size_of::<Self>() + 64 + headers + self.body.as_ref().map_or(0, |body| body.len() + HEADER_BYTES)
    }

    #[cfg(test)]
    pub(crate) fn for_test(length: usize) -> Self {
        let description = Description::default();
        let file = tempfile::tempfile().unwrap();
        let stamp = FileStamp { length: SMALL_FILE + 1, ..FileStamp::default() };
        Self { body: Some(vec![0; length].into()), ..Self::of(&file, stamp, description).unwrap() }
    }
}

/// Returns the stamp of a file as it is now.
pub(crate) fn stamp(metadata: &Metadata) -> FileStamp {
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    FileStamp {
        length: metadata.len(),
        mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
    }
}

/// Returns `true` if a file changed so recently that its next change might leave the same times behind.
pub(crate) fn is_racy(stamp: FileStamp, now: SystemTime) -> bool {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let changed = u128::try_from(stamp.mtime_ns.max(stamp.ctime_ns)).unwrap_or_default();
    changed + 2_000_000_000 > now
}

fn read_at_rest(file: &File, stamp_before: FileStamp) -> io::Result<Option<Bytes>> {
    let mut bytes = vec![0; usize::try_from(stamp_before.length).unwrap_or_default()];
    match file.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
        Ok(()) => Ok((stamp(&file.metadata()?) == stamp_before).then(|| bytes.into())),
    }
}

/// Returns the ETag of bytes that have a digest.
pub(super) fn etag_of_digest(digest: &[u8]) -> HeaderValue {
    text(&format!("\"{}\"", HEXLOWER.encode(digest.get(..16).unwrap_or(digest))))
}

fn etag_of_stamp(stamp: FileStamp) -> HeaderValue {
    text(&format!("\"{:x}-{:x}-{:x}\"", stamp.mtime_ns, stamp.inode, stamp.length))
}

fn text(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static(""))
}
