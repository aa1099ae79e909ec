//! The metadata of one version of a resource.

use resourcesync::{DateTime, Digests, Link, MediaType};

use super::plausible;

/// The metadata of one version of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The number of bytes, if it is known.
    pub length: Option<u64>,
    /// Digests: offered ones of a wanted version, computed ones of a held version.
    pub digests: Digests,
    /// The time of last modification, as the Source states it.
    pub lastmod: Option<DateTime>,
    /// The time at which this version was created, as the Source states it: the `datetime` of its change.
    pub datetime: Option<DateTime>,
    /// The server's `ETag`, for conditional requests.
    pub etag: Option<Box<str>>,
    /// The media type, as the Source states it.
    pub media_type: Option<MediaType>,
    /// Links to related resources that outlast a transfer: `via`, `describedby`, `collection` (§14).
    pub links: Vec<Link>,
}

impl ResourceMetadata {
    /// The number of links that take as much memory as the rest of a resource.
    const LINKS_OF_USUAL_SIZE: usize = 8;

    /// Returns metadata of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the time of the last change, for a comparison with an inventory without a time. That may list the change
    /// before, of which a change without a time has the time: then it is at least that of the bytes (O352). Times later
    /// than `latest` are no times.
    pub(crate) fn last_change(&self, latest: Option<DateTime>) -> Option<DateTime> {
        let change = plausible(self.datetime, latest)?;
        Some(change).max(plausible(self.lastmod, latest))
    }

    /// Returns the memory that it takes, in resources of usual size. Memory is bounded by this number, because one
    /// resource may have a hundred links (B9).
    pub(crate) fn weight(&self) -> usize {
        1 + self.links.len() / Self::LINKS_OF_USUAL_SIZE
    }
}
