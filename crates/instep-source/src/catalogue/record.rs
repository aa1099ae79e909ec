//! The vocabulary of the catalogue: resources, their states, changes and observations.

use std::path::PathBuf;

use resourcesync::{Change, ChangeFreq, DateTime, Digests, Link, MediaType, Relation, Uri};
use serde::{Deserialize, Serialize};

/// A resource as the Source last saw it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resource {
    /// Its key in the catalogue: the number of its root and the bytes of its path, or 0 and its URI where it
    /// lies in no root. The walk of a folder and a scan of the catalogue yield the same order.
    pub key: Vec<u8>,
    /// Its URI.
    pub uri: Uri,
    /// The state that is published.
    pub state: ResourceState,
    /// The stamp of its file when it was hashed; `None` if it has no file here.
    pub stamp: Option<FileStamp>,
    /// `true` if the next scan hashes the file again although its stamp is the same: it was hashed so soon after a
    /// change that another one could have left the same times.
    pub rehash: bool,
    /// Its file, if the key does not name it.
    pub file: Option<PathBuf>,
    /// The sets it belongs to: bit n is the n-th set of the Source.
    pub sets: u64,
    /// Counted by the catalogue itself; ignored in an observation.
    pub history: History,
}

/// The behaviour of a resource since it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct History {
    /// Since when it is known.
    pub since: Option<DateTime>,
    /// The number of changes since then.
    pub changes: u64,
}

impl Resource {
    /// A resource of the first set of which only the URI is known.
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
    /// Bytes, as served.
    pub length: Option<u64>,
    /// Digests of the bytes.
    pub digests: Digests,
    /// Media type.
    pub media_type: Option<MediaType>,
    /// Content coding of the stored bytes.
    pub encoding: Option<Box<str>>,
    /// The frequency at which it is expected to change.
    pub changefreq: Option<ChangeFreq>,
    /// Links to related resources.
    pub links: Vec<Link>,
}

impl ResourceState {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if both describe the same bytes: by digest if they share one, else by length and last modification. A
    /// new modification time over equal bytes is no change of the resource.
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
pub struct FileStamp {
    /// Bytes.
    pub length: u64,
    /// Last modification, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of the inode, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// Inode number.
    pub inode: u64,
}

/// One line of the change log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChangeRecord {
    /// Its place in the log, from 1, without gaps within one Source.
    pub sequence: u64,
    /// The time at which it was recorded: later than that of each record before it.
    pub datetime: DateTime,
    /// The kind of change: created, updated or deleted.
    pub change: Change,
    /// The resource.
    pub uri: Uri,
    /// The state after the change; of a deleted resource nothing is known.
    pub state: ResourceState,
    /// Digests of the bytes before the change; none of what was created.
    pub before: Digests,
    /// The patch that was made of the state before.
    pub patch: Option<Patch>,
    /// The sets in which it happened.
    pub sets: u64,
}

/// A patch from the state before a change to that after it (§14.4), as it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Patch {
    /// Its name below `out`.
    pub name: String,
    /// Its media type: how it is applied.
    pub media_type: String,
    /// Its bytes.
    pub length: u64,
    /// Its digests.
    pub hash: String,
}

impl Patch {
    /// A patch with one digest.
    pub fn new(name: String, media_type: &MediaType, length: u64, hash: &Digests) -> Self {
        Self { name, media_type: media_type.as_str().to_owned(), length, hash: hash.to_string() }
    }

    /// The link to it in the entry of its change (LN-9), with the base URL of the Source.
    pub(crate) fn link(&self, base: &str, modified: DateTime) -> Option<Link> {
        let mut link = Link::new(Relation::Patch, Uri::parse(&format!("{base}{}", self.name)).ok()?);
        link.media_type = Some(MediaType::new(&self.media_type));
        link.length = Some(self.length);
        link.hash = Digests::parse(&self.hash, |_| ());
        link.modified = Some(modified);
        Some(link)
    }
}

/// One resource as somebody has seen it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Observation {
    /// It is there, in this state; the catalogue finds out whether that is news.
    Found(Resource),
    /// A resource as before, after the operator has chosen other algorithms.
    Rehashed {
        /// With the digests to publish.
        resource: Resource,
        /// Digests of the same bytes by the algorithms chosen before: they show if anything changed.
        also: Digests,
    },
    /// It is said to have changed, whether or not its state shows it.
    Changed(Resource),
    /// It is there no longer, and another resource has its URI: for readers nothing is gone.
    Moved {
        /// Its key.
        key: Vec<u8>,
    },
    /// It is there no longer.
    Gone {
        /// Its key.
        key: Vec<u8>,
    },
}

impl Observation {
    /// Returns the resource that is there; `None` if it is gone.
    pub(crate) fn found(&self) -> Option<&Resource> {
        match self {
            Self::Found(resource) | Self::Changed(resource) | Self::Rehashed { resource, .. } => {
                Some(resource)
            }
            Self::Gone { .. } | Self::Moved { .. } => None,
        }
    }

    /// The resource it is about.
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Self::Found(resource) | Self::Changed(resource) | Self::Rehashed { resource, .. } => {
                &resource.key
            }
            Self::Gone { key } | Self::Moved { key } => key,
        }
    }
}

/// The outcome of a batch of observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// The last sequence number of the log after the batch.
    pub sequence: u64,
    /// Resources that are new.
    pub created: u64,
    /// Resources with new bytes.
    pub updated: u64,
    /// Resources that are gone.
    pub deleted: u64,
    /// Resources with the bytes they had, of which something else is new: links, media type, algorithms.
    pub described: u64,
    /// Resources of which nothing is new but the times of their file.
    pub refreshed: u64,
}

impl Recorded {
    /// Adds what a later batch came to.
    pub fn add(&mut self, later: &Self) {
        self.sequence = self.sequence.max(later.sequence);
        self.created += later.created;
        self.updated += later.updated;
        self.deleted += later.deleted;
        self.described += later.described;
        self.refreshed += later.refreshed;
    }
}

/// The position of the catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The last sequence number of the change log, 0 before the first change.
    pub sequence: u64,
    /// The datetime of that change.
    pub datetime: Option<DateTime>,
    /// The last sequence number that retention has dropped, 0 while none is.
    pub forgotten: u64,
    /// Grows whenever anything changes that a Resource List shows, also what is no change of a resource.
    pub revision: u64,
    /// The sets whose first complete scan is done: only from then on their changes are logged.
    pub baselined: u64,
}

/// The size of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceTotals {
    /// Resources.
    pub resources: u64,
    /// Bytes of those whose length is known.
    pub bytes: u64,
}
