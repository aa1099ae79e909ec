//! The written forms of values within the records of a state.

use resourcesync::{Algorithm, Change, DateTime, Digest, Digests, Link, MediaType, Uri};
use serde::{Deserialize, Serialize};

use crate::state::{Checkpoint, DocumentRecord, HeldAt, PassedEntry, ResourceMetadata, codec};

pub(super) fn uri(text: &str) -> Result<Uri, String> {
    Uri::parse_recorded(text).map_err(|error| format!("{text:?} is no URI: {error}"))
}

pub(super) fn time(text: &str) -> Result<DateTime, String> {
    DateTime::parse(text).map_err(|error| format!("{text:?} is no time: {error}"))
}

pub(super) fn times(text: Option<&str>) -> Result<Option<DateTime>, String> {
    text.map(time).transpose()
}

pub(super) fn digests(text: &str) -> Result<Digests, String> {
    text.parse().map_err(|error| format!("{text:?} are no digests: {error}"))
}

/// Returns a text that every engine can store: PostgreSQL accepts no NUL.
pub(super) fn plain(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns 32 bytes in the form of a SHA-256 digest. The digest of a document has this form too, although it is another
/// one: only this program compares it.
fn sha256(bytes: &[u8; 32]) -> Option<String> {
    Digest::new(Algorithm::Sha256, bytes).map(|digest| digest.to_string())
}

fn from_sha256(text: Option<&str>) -> Result<Option<[u8; 32]>, String> {
    let bytes = |text: &str| {
        let digest: Digest = text.parse().ok()?;
        digest.bytes()?.try_into().ok()
    };
    text.map(|text| bytes(text).ok_or_else(|| format!("{text:?} is no SHA-256"))).transpose()
}

/// Metadata of a resource. Unknown values are left out.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetadataLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digests: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lastmod: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    datetime: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    links: Option<String>,
}

impl MetadataLine {
    pub(super) fn of(metadata: &ResourceMetadata) -> Self {
        // Only digests that can be computed, as the engines store them.
        let digests: Digests = metadata.digests.verifiable().cloned().collect();
        Self {
            length: metadata.length,
            digests: (!digests.is_empty()).then(|| digests.to_string()),
            lastmod: codec::datetime_text(metadata.lastmod.as_ref()),
            datetime: codec::datetime_text(metadata.datetime.as_ref()),
            etag: metadata.etag.clone(),
            media_type: metadata.media_type.as_ref().map(|kind| kind.as_str().to_owned()),
            links: codec::links_text(&metadata.links),
        }
    }

    pub(super) fn metadata(self) -> Result<ResourceMetadata, String> {
        let links = self.links.map_or(Some(Vec::new()), |text| Link::list_from_json(&text));
        Ok(ResourceMetadata {
            length: self.length,
            digests: self.digests.map_or_else(|| Ok(Digests::new()), |text| digests(&text))?,
            lastmod: times(self.lastmod.as_deref())?,
            datetime: times(self.datetime.as_deref())?,
            etag: self.etag,
            media_type: self.media_type.as_deref().map(MediaType::new),
            links: links.ok_or("these are no links")?,
        })
    }
}

/// The part of an object that has the bytes of a resource.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenPart {
    key: Box<str>,
    offset: u64,
    length: u64,
}

impl WrittenPart {
    pub(super) fn of(place: &HeldAt) -> Option<Self> {
        match place {
            HeldAt::Path => None,
            HeldAt::Object { key, offset, length } => {
                Some(Self { key: key.clone(), offset: *offset, length: *length })
            }
        }
    }

    pub(super) fn place(self) -> HeldAt {
        let Self { key, offset, length } = self;
        HeldAt::Object { key, offset, length }
    }
}

/// The point up to which a set was followed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenCheckpoint {
    datetime: Option<String>,
    last: Option<WrittenPassed>,
    document: Option<String>,
    position: u64,
    leading: Option<String>,
    newest: Option<String>,
}

/// The last package of a Change Dump that was applied.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPassed {
    uri: String,
    datetime: Option<String>,
    change: String,
}

impl WrittenCheckpoint {
    pub(super) fn of(checkpoint: &Checkpoint) -> Self {
        let last = checkpoint.last.as_ref().map(|last| WrittenPassed {
            uri: last.uri.to_string(),
            datetime: codec::datetime_text(last.datetime.as_ref()),
            change: last.change.as_str().to_owned(),
        });
        Self {
            datetime: codec::datetime_text(checkpoint.datetime.as_ref()),
            last,
            document: checkpoint.document.as_ref().map(ToString::to_string),
            position: checkpoint.position,
            leading: checkpoint.leading.as_ref().and_then(sha256),
            newest: codec::datetime_text(checkpoint.newest.as_ref()),
        }
    }

    pub(super) fn checkpoint(self) -> Result<Checkpoint, String> {
        let passed = |last: WrittenPassed| {
            let (datetime, change) = (times(last.datetime.as_deref())?, Change::parse(&last.change));
            Ok::<_, String>(PassedEntry { uri: uri(&last.uri)?, datetime, change })
        };
        Ok(Checkpoint {
            datetime: times(self.datetime.as_deref())?,
            last: self.last.map(passed).transpose()?,
            document: self.document.as_deref().map(uri).transpose()?,
            position: self.position,
            leading: from_sha256(self.leading.as_deref())?,
            newest: times(self.newest.as_deref())?,
        })
    }
}

/// The record of a document that was read.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentLine {
    uri: String,
    etag: Option<Box<str>>,
    last_modified: Option<Box<str>>,
    digest: Option<String>,
    at: Option<String>,
    extra: Option<Box<str>>,
}

impl DocumentLine {
    pub(super) fn of(document: &DocumentRecord) -> Self {
        Self {
            uri: document.uri.to_string(),
            etag: document.etag.clone(),
            last_modified: document.last_modified.clone(),
            digest: document.digest.as_ref().and_then(sha256),
            at: codec::datetime_text(document.at.as_ref()),
            extra: document.extra.clone(),
        }
    }

    pub(super) fn record(self) -> Result<DocumentRecord, String> {
        let mut document = DocumentRecord::new(uri(&self.uri)?);
        (document.etag, document.last_modified) = (self.etag, self.last_modified);
        (document.digest, document.extra) = (from_sha256(self.digest.as_deref())?, self.extra);
        document.at = times(self.at.as_deref())?;
        Ok(document)
    }
}
