//! The input of a publication: the sets as they are now, and the documents in place.

use std::collections::BTreeMap;

use resourcesync::DateTime;

use crate::{
    Error,
    catalogue::{ChangeRecord, Resource, ResourceTotals},
    records::{PublishedChangeDump, PublishedResourceDump, PublishedSource},
};

/// Resources of a set, one after the other.
pub(crate) type SetResources<'a> = Box<dyn Iterator<Item = Result<Resource, Error>> + 'a>;

/// The resources of a set at one moment, and the changes that led there.
pub(crate) trait SetView {
    /// Returns the number of its resources and their bytes.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    fn totals(&self) -> Result<ResourceTotals, Error>;

    /// Returns its resources, in the order of the catalogue.
    fn resources(&self) -> SetResources<'_>;

    /// Passes its resources to a function, in the order of the catalogue. They may be read ahead while it works.
    ///
    /// # Errors
    /// If the function fails, or the catalogue cannot be read.
    fn with_resources(
        &self,
        function: &mut dyn FnMut(SetResources<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        function(self.resources())
    }

    /// Returns its changes after a sequence number, oldest first.
    fn changes(&self, after: u64) -> Box<dyn Iterator<Item = Result<ChangeRecord, Error>> + '_>;

    /// Returns the number of changes after a sequence number.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    fn count_changes(&self, after: u64) -> Result<u64, Error>;
}

/// The moment that a publication shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Now {
    /// The time at which the publication began, before the content was scanned (TIME-3).
    pub at: DateTime,
    /// The time at which the scan of the content ended (TIME-4).
    pub completed: DateTime,
    /// The sequence number of the last change in the catalogue.
    pub sequence: u64,
    /// The catalogue's revision.
    pub revision: u64,
}

impl Now {
    /// Creates the moment from values of the catalogue.
    pub(crate) fn new(at: DateTime, completed: DateTime, sequence: u64, revision: u64) -> Self {
        Self { at, completed, sequence, revision }
    }
}

/// The state that a publication starts from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub(crate) struct Before {
    /// The documents in place.
    pub published: PublishedSource,
    /// `true` if the last publication was interrupted: then no document is assumed to be complete.
    pub repair: bool,
    /// The robots.txt among the resources, to which our lines are added; `None` if the one in place has the operator's.
    pub operators_robots: Option<Vec<u8>>,
    /// The Resource Dumps from before a publication that was interrupted, by the name of the set.
    pub former_dumps: BTreeMap<String, PublishedResourceDump>,
    /// Dumps whose packages are staged, by the name of the set.
    pub staged: BTreeMap<String, StagedDumps>,
}

/// Dumps of one set whose packages are staged.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub(crate) struct StagedDumps {
    /// The Resource Dump; `None` if no new one was built.
    pub resources: Option<PublishedResourceDump>,
    /// The Change Dump; `None` if no changes were packed.
    pub changes: Option<PublishedChangeDump>,
}
