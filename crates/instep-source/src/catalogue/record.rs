//! The vocabulary of the catalogue: resources, their states, changes and observations.

use std::path::PathBuf;

use resourcesync::{Change, ChangeFreq, DateTime, Digests, Link, MediaType, Relation, Uri};
use serde::{Deserialize, Serialize};

/// A resource as the Source last saw it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resource {
    /// Its key in the catalogue: the number of its root and the bytes of its path; or 0 and its URI, if it is in no
    /// root. The walk of a folder and a scan of the catalogue have the same order.
    pub key: Vec<u8>,
    /// Its URI.
    pub uri: Uri,
    /// The state that is published.
    pub state: ResourceState,
    /// The stamp of its file when it was hashed; `None` if it has no file here.
    pub(crate) stamp: Option<FileStamp>,
    /// `true` if the next scan hashes the file again even if its stamp is unchanged: it was hashed so soon after a
    /// change that a later change could have left the same times.
    pub(crate) rehash: bool,
    /// Its file, if the key does not contain the path.
    pub file: Option<PathBuf>,
    /// The sets that it belongs to, as bits: bit n is the n-th set of the Source.
    pub sets: u64,
    /// Maintained by the catalogue; ignored in an observation.
    pub history: History,
}

/// The history of a resource, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct History {
    /// The time since which it is known.
    pub since: Option<DateTime>,
    /// The number of changes since then.
    pub changes: u64,
}

impl Resource {
    /// Returns a resource of the first set of which only the URI is known.
    pub fn new(key: Vec<u8>, uri: Uri) -> Self {
        Self {
            key,
            uri,
            state: ResourceState::default(),
            stamp: None,
            rehash: false,
            file: None,
            sets: 1,
            history: History::default(),
        }
    }
}

/// One state of a resource, as it is published.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ResourceState {
    /// The resource's own last modification.
    pub lastmod: Option<DateTime>,
    /// The length in bytes, as served.
    pub length: Option<u64>,
    /// Digests of the bytes.
    pub digests: Digests,
    /// The media type.
    pub media_type: Option<MediaType>,
    /// The content coding of the stored bytes.
    pub encoding: Option<Box<str>>,
    /// The frequency at which it is expected to change.
    pub changefreq: Option<ChangeFreq>,
    /// Links to related resources.
    pub links: Vec<Link>,
}

impl ResourceState {
    /// Returns a state of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if both describe the same bytes. Digests decide if both have one of the same algorithm;
    /// otherwise length and last modification do. A new modification time for the same bytes is not a change of the
    /// resource.
    pub fn same_bytes(&self, other: &Self) -> bool {
        match self.digests.agrees_with(&other.digests) {
            Some(equal) => equal && self.encoding == other.encoding,
            None => {
                self.length == other.length
                    && self.lastmod == other.lastmod
                    && self.encoding == other.encoding
            }
        }
    }
}

/// The attributes of a file in its file system when it was hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileStamp {
    /// Bytes.
    pub(crate) length: u64,
    /// The last modification, in nanoseconds since 1970.
    pub(crate) mtime_ns: i64,
    /// The last change of the inode, in nanoseconds since 1970.
    pub(crate) ctime_ns: i64,
    /// The inode number.
    pub(crate) inode: u64,
}

/// An entry of the change log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChangeRecord {
    /// Its number in the log, from 1. The numbers of one Source have no gaps.
    pub sequence: u64,
    /// The time at which it was recorded: later than that of each record before it.
    pub datetime: DateTime,
    /// The kind of change: created, updated or deleted.
    pub change: Change,
    /// The resource.
    pub uri: Uri,
    /// The state after the change; empty if the resource was deleted.
    pub state: ResourceState,
    /// The digests of the bytes before the change; none if the resource was created.
    pub before: Digests,
    /// The patch from the state before the change.
    pub(crate) patch: Option<Patch>,
    /// The sets in which it happened.
    pub sets: u64,
}

/// A patch from the state before a change to that after it (§14.4), as it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Patch {
    /// Its name below `out`.
    pub(crate) name: String,
    /// Its media type, which says how it is applied.
    pub(crate) media_type: String,
    /// Its bytes.
    pub(crate) length: u64,
    /// Its digests.
    pub(crate) hash: String,
}

impl Patch {
    /// Returns a patch with one digest.
    pub(crate) fn new(name: String, media_type: &MediaType, length: u64, hash: &Digests) -> Self {
        Self { name, media_type: media_type.as_str().to_owned(), length, hash: hash.to_string() }
    }

    /// Returns the link to the patch in the entry of its change (LN-9). `base` is the base URL of the Source.
    pub(crate) fn link(&self, base: &str, modified: DateTime) -> Option<Link> {
        let mut link = Link::new(Relation::Patch, Uri::parse(&format!("{base}{}", self.name)).ok()?);
        link.media_type = Some(MediaType::new(&self.media_type));
        link.length = Some(self.length);
        link.hash = Digests::parse(&self.hash, |_| ());
        link.modified = Some(modified);
        Some(link)
    }
}

/// An observation of one resource, by a scan or reported by an application.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Observation {
    /// The resource exists in this state. The catalogue decides if that is a change.
    Found(Resource),
    /// The resource is unchanged, but the operator has chosen other digest algorithms.
    Rehashed {
        /// The resource, with the digests to publish.
        resource: Resource,
        /// The digests of the same bytes by the former algorithms, which show if the bytes have changed.
        also: Digests,
    },
    /// The resource was reported as changed, even if its state shows no difference.
    Changed(Resource),
    /// The resource no longer exists, but another one has its URI in some sets, where nothing is deleted for readers.
    Moved {
        /// Its key.
        key: Vec<u8>,
        /// The sets of the other one.
        stays_in: u64,
    },
    /// The resource no longer exists.
    Gone {
        /// Its key.
        key: Vec<u8>,
    },
}

impl Observation {
    /// Returns the resource; `None` if it no longer exists.
    pub(crate) fn found(&self) -> Option<&Resource> {
        match self {
            Self::Found(resource) | Self::Changed(resource) | Self::Rehashed { resource, .. } => {
                Some(resource)
            }
            Self::Gone { .. } | Self::Moved { .. } => None,
        }
    }

    /// Returns the key of the resource.
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Self::Found(resource) | Self::Changed(resource) | Self::Rehashed { resource, .. } => {
                &resource.key
            }
            Self::Gone { key } | Self::Moved { key, .. } => key,
        }
    }
}

/// The outcome of a batch of observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// The last sequence number of the log after the batch.
    pub sequence: u64,
    /// Resources that were created.
    pub created: u64,
    /// Resources with new bytes.
    pub updated: u64,
    /// Resources that were deleted.
    pub deleted: u64,
    /// Resources whose bytes are unchanged, but not their description: links, media type, digest algorithms.
    pub described: u64,
    /// Resources of which only the times of the file have changed.
    pub refreshed: u64,
}

impl Recorded {
    /// Adds the outcome of a later batch.
    pub fn add(&mut self, later: &Self) {
        self.sequence = self.sequence.max(later.sequence);
        self.created += later.created;
        self.updated += later.updated;
        self.deleted += later.deleted;
        self.described += later.described;
        self.refreshed += later.refreshed;
    }
}

/// The position of the catalogue in its history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The last sequence number of the change log, 0 before the first change.
    pub sequence: u64,
    /// The datetime of that change.
    pub datetime: Option<DateTime>,
    /// The last sequence number whose change was removed; 0 if none was.
    pub forgotten: u64,
    /// A number that grows with everything that changes a Resource List, also with changes that are not in the change
    /// log.
    pub revision: u64,
    /// The sets whose first scan is complete, as bits. Only changes after that are logged.
    pub baselined: u64,
}

/// The size of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceTotals {
    /// Resources.
    pub resources: u64,
    /// The bytes of the resources whose length is known.
    pub bytes: u64,
}
