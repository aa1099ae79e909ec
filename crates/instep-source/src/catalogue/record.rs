use resourcesync::{Change, ChangeFreq, DateTime, Digests, Link, MediaType, Uri};

/// A resource as the Source last saw it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resource {
    /// Where it stands in the catalogue: the bytes of its path, or of its URI where it has no file. The walk of a
    /// folder and a scan of the catalogue yield the same order.
    pub key: Vec<u8>,
    /// Its URI.
    pub uri: Uri,
    /// What is published about it.
    pub state: State,
    /// What its file looked like when it was hashed; none where it has no file here.
    pub stamp: Option<FileStamp>,
    /// The sets it belongs to: bit n is the n-th set of the Source.
    pub sets: u64,
}

/// What is published about one state of a resource.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct State {
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
    /// How often it is expected to change.
    pub changefreq: Option<ChangeFreq>,
    /// Links to related resources.
    pub links: Vec<Link>,
}

/// What the file system said of a file when it was hashed.
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
    /// When it was recorded: later than that of each record before it.
    pub datetime: DateTime,
    /// What happened: created, updated or deleted.
    pub change: Change,
    /// The resource.
    pub uri: Uri,
    /// The state after the change; of a deleted resource nothing is known.
    pub state: State,
    /// The sets it belongs to.
    pub sets: u64,
}
