//! Objects as they are put, listed and read: a name, and metadata of the bytes.

use bytes::Bytes;
use data_encoding::HEXLOWER_PERMISSIVE;

/// An object that is going to be put.
#[derive(Clone, Debug, Default)]
pub struct NewObject {
    /// The name below the prefix of the place.
    pub name: String,
    /// `Content-Type`.
    pub media_type: Option<String>,
    /// `Cache-Control`.
    pub cache_control: Option<String>,
    /// The mark of its writer.
    pub mark: Option<ObjectMark>,
}

impl NewObject {
    /// Returns an object without its own headers.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// Metadata by which a writer recognizes its own objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMark {
    /// The name of the metadata.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// An object as a listing has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// The name below the prefix of the place.
    pub name: String,
    /// Bytes.
    pub length: u64,
    /// The validator of its bytes, without quotation marks.
    pub etag: Option<String>,
    /// Microseconds since 1970 at which it was put.
    pub modified: i64,
    /// `true` if the service stores its SHA-256, `false` if it stores only other checksums; `None` if the listing
    /// does not show it.
    pub keeps_sha256: Option<bool>,
    /// MD5 of all its bytes, if the listing shows that its entity tag is one.
    pub md5: Option<[u8; 16]>,
}

/// The start of an object that is read in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectStart {
    /// The first bytes.
    pub bytes: Bytes,
    /// The bytes that it has in all.
    pub length: u64,
    /// The validator of its bytes, without quotation marks.
    pub etag: Option<String>,
    /// `Content-Type`, if it is meaningful.
    pub media_type: Option<String>,
}

/// The digests of an object that the service keeps itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptDigests {
    /// SHA-256 of all its bytes.
    pub sha256: Option<[u8; 32]>,
    /// MD5 of all its bytes: the entity tag of an object that was put as a whole and is not encrypted with keys that change
    /// it.
    pub md5: Option<[u8; 16]>,
    /// `Content-Type`, if it is meaningful.
    pub media_type: Option<String>,
    /// The validator of the bytes that these are digests of, without quotation marks; `None` if nothing was asked.
    pub etag: Option<String>,
}

/// Returns the MD5 in an entity tag, if it has the form of one. It is that of the bytes only if the object was put as
/// a whole, and depending on its encryption.
pub fn md5_of_etag(etag: &str) -> Option<[u8; 16]> {
    HEXLOWER_PERMISSIVE.decode(etag.as_bytes()).ok()?.try_into().ok()
}
