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
