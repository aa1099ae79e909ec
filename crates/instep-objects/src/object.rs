//! Objects as they are put: a name, and what readers are told of the bytes.

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
    /// An object without headers of its own.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// Metadata by which a writer knows its own objects.
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
}

/// The digests of an object that the service keeps itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptDigests {
    /// SHA-256 of all its bytes.
    pub sha256: Option<[u8; 32]>,
    /// MD5 of all its bytes: the entity tag of an object that was put as a whole and is not encrypted with keys that change
    /// it.
    pub md5: Option<[u8; 16]>,
    /// `Content-Type`, if it says anything.
    pub media_type: Option<String>,
    /// The validator of the bytes that these are digests of, without quotation marks; `None` if nothing was asked.
    pub etag: Option<String>,
}
