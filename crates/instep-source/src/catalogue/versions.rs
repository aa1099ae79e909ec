//! The versions of resources (§14.6): each earlier or present state, with the time from which the resource had it.

use resourcesync::{DateTime, Digests, Uri};

use super::{Catalogue, CatalogueError, NamedValue, ResourceState, Snapshot};

/// A version of a resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceVersion {
    /// The time from which the resource had this state.
    pub datetime: DateTime,
    /// The state; `None` if the resource did not exist.
    pub state: Option<ResourceState>,
}

impl ResourceVersion {
    /// Returns a version that begins at a time.
    pub fn new(datetime: DateTime, state: Option<ResourceState>) -> Self {
        Self { datetime, state }
    }
}

/// The limits on versions that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// The most versions of one resource.
    pub(crate) count: usize,
    /// Versions that were superseded before this time are removed.
    pub(crate) since: DateTime,
}

impl Keep {
    /// Returns the number of versions of a resource to remove, from the oldest on. `datetimes` are their times, in order.
    pub(super) fn leaving(self, datetimes: &[DateTime]) -> usize {
        let surplus = datetimes.len().saturating_sub(self.count.max(1));
        let old = datetimes.windows(2).take_while(|pair| pair[1] < self.since).count();
        surplus.max(old)
    }
}

impl Catalogue {
    /// Stores versions, and a named value in the same transaction. Returns the digests of states that are no longer a
    /// version.
    ///
    /// # Errors
    /// If the file cannot be written; nothing is stored then.
    pub(crate) fn keep_versions(
        &self,
        versions: Vec<(Uri, ResourceVersion)>,
        keep: Keep,
        beside: NamedValue,
    ) -> Result<Vec<Digests>, CatalogueError> {
        self.writer.run(move |ledger| {
            ledger.set_meta(std::slice::from_ref(&beside))?;
            ledger.keep_versions(&versions, keep)
        })
    }

    /// Returns those of the digests that no version has.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn without_version(&self, digests: Vec<Digests>) -> Result<Vec<Digests>, CatalogueError> {
        self.writer.run(move |ledger| ledger.unreferenced(&digests))
    }
}

impl Snapshot {
    /// Returns the versions of a resource, oldest first.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn versions(&self, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError> {
        self.reader.versions(uri)
    }

    /// Returns the time from which a resource has had its present state; `None` if no version of it is kept.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn version_since(&self, uri: &Uri) -> Result<Option<DateTime>, CatalogueError> {
        Ok(self.reader.versions_since(&[uri])?.pop().flatten())
    }

    /// Returns the times of [`Self::version_since`] for some resources, each at its place.
    pub(crate) fn versions_since(&self, uris: &[&Uri]) -> Result<Vec<Option<DateTime>>, CatalogueError> {
        self.reader.versions_since(uris)
    }
}
