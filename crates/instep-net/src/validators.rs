//! Validators of a representation (RFC 9110 §8.8).

/// The validators of a representation. They belong to the URI that it came from: sent to a mirror or another URI, an
/// equal tag is a coincidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Validators {
    /// `ETag`, as it is written.
    pub etag: Option<Box<str>>,
    /// `Last-Modified`, as it is written.
    pub last_modified: Option<Box<str>>,
}

impl Validators {
    /// Returns validators that were kept from an earlier response.
    pub fn new(etag: Option<&str>, last_modified: Option<&str>) -> Self {
        Self { etag: etag.map(Into::into), last_modified: last_modified.map(Into::into) }
    }

    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    /// Returns the ETag if it is a strong one, which promises equal bytes; `None` if it is weak or missing.
    pub fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| etag.starts_with('"'))
    }
}
