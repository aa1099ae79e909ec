//! The door of the catalogue: what each engine that keeps one does. The contract suite (`catalogue/contract.rs`) runs
//! against all of them.
//!
//! Rows come in pages and go in batches, so that neither a call through the door nor a round trip to a server is paid for
//! each resource. The rules by which observations become rows stand above the door (`ledger.rs`) and are compiled for each
//! engine. Keys and URIs are in the order of their bytes. Each method fails only if the catalogue cannot be read or written.

use std::{fmt, ops::ControlFlow, path::Path};

use resourcesync::{Change, DateTime, Digests, Uri};

use super::{
    CatalogueError, ChangeRecord, Head, Keep, NamedValue, Observation, Patch, Recorded, Resource,
    ResourceOutline, ResourceState, ResourceTotals, ResourceVersion, codec::SharedTypes,
    stamp_page::StampPage, timeline::Timeline,
};
#[cfg(feature = "postgres")]
use super::{
    shared::{ReadShared, SharedRows},
    subscribers::ReadSubscribers,
};

/// Opens readers of a catalogue. Any number of them read beside the one writer.
pub(super) trait CatalogueEngine: fmt::Debug + Send + Sync {
    /// Returns a reader of what was committed last, for a page or two.
    fn reader(&self) -> Result<Box<dyn ReadCatalogue>, CatalogueError>;

    /// Returns a reader of the catalogue as it is now, whatever is committed later.
    fn moment(&self) -> Result<(Box<dyn ReadCatalogue>, Head), CatalogueError>;

    /// Returns its file, or the URL of its database without a password: for messages.
    fn place(&self) -> &Path;

    /// Returns `true` if several machines can write it, one after the other.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the rows that the servers of the Source share; `None` if only one machine can write it.
    #[cfg(feature = "postgres")]
    fn shared(&self) -> Option<&dyn ReadShared> {
        None
    }

    /// Returns the rows of the hub; `None` if only one machine can write the catalogue.
    #[cfg(feature = "postgres")]
    fn subscribers(&self) -> Option<&dyn ReadSubscribers> {
        None
    }

    /// Returns the name of the Source in its database; `None` if it has a file of its own.
    #[cfg(feature = "postgres")]
    fn name(&self) -> Result<Option<String>, CatalogueError> {
        Ok(None)
    }

    /// Returns the most bytes that the key of a resource may have; `None` if any can be kept.
    fn longest_key(&self) -> Option<usize> {
        None
    }
}

/// Keys from one on, to below another.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyRange<'a> {
    pub(super) from: &'a [u8],
    /// `true` if the first key itself is left out.
    pub(super) is_after: bool,
    pub(super) to: &'a [u8],
}

/// Reads the catalogue.
pub(super) trait ReadCatalogue: fmt::Debug + Send {
    /// Returns the position of the catalogue.
    fn head(&self) -> Result<Head, CatalogueError>;

    /// Returns the resources with these keys, each at its place.
    fn resources(&self, keys: &[&[u8]]) -> Result<Vec<Option<Resource>>, CatalogueError>;

    /// Returns a value that was kept under a name.
    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError>;

    /// Returns the next resources of the sets in a mask behind a key.
    fn resources_after(
        &self,
        sets: u64,
        key: &[u8],
        limit: usize,
        types: &mut SharedTypes,
    ) -> Result<Vec<Resource>, CatalogueError>;

    /// Returns the next changes in the sets of a mask behind a sequence number.
    fn changes_after(
        &self,
        sets: u64,
        sequence: u64,
        limit: usize,
        types: &mut SharedTypes,
    ) -> Result<Vec<ChangeRecord>, CatalogueError>;

    /// Fills a page with the stamps of files in a range of keys.
    fn stamps(&self, range: KeyRange<'_>, page: &mut StampPage) -> Result<(), CatalogueError>;

    /// Returns the number of changes in the sets of a mask behind a sequence number.
    fn count_changes(&self, sets: u64, after: u64) -> Result<u64, CatalogueError>;

    /// Returns the last sequence number between two whose change is older than a datetime; the first one if none is.
    fn sequence_before(&self, datetime: DateTime, between: (u64, u64)) -> Result<u64, CatalogueError>;

    /// Returns the size of a set.
    fn totals(&self, set: u8) -> Result<ResourceTotals, CatalogueError>;

    /// Returns hours from one on, each with a kind of change and the number of those.
    fn activity(&self, from_hour: i64) -> Result<Vec<(i64, i64, u64)>, CatalogueError>;

    /// Visits the resources of the sets in a mask, with the columns that figures need.
    fn outlines(&self, sets: u64, visit: &mut dyn FnMut(ResourceOutline<'_>)) -> Result<(), CatalogueError>;

    /// Visits resources from a key on, until `visit` breaks off.
    fn resources_from(
        &self,
        key: &[u8],
        visit: &mut dyn FnMut(Resource) -> Result<ControlFlow<()>, CatalogueError>,
    ) -> Result<(), CatalogueError>;

    /// Returns the size of the first resources in a range of keys.
    fn totals_between(&self, from: &[u8], to: &[u8], most: u64) -> Result<ResourceTotals, CatalogueError>;

    /// Returns the first resources in a range of keys whose URI matches each of some patterns, in which `%` stands for any
    /// text, `_` for a character, and `\` takes that meaning away; letters of ASCII match in both cases.
    fn matching(
        &self,
        patterns: &[String],
        range: (&[u8], &[u8]),
        most: usize,
    ) -> Result<Vec<Resource>, CatalogueError>;

    /// Returns the newest changes of a resource behind a sequence number, the newest first.
    fn changes_of(&self, uri: &Uri, after: u64, most: usize) -> Result<Vec<ChangeRecord>, CatalogueError>;

    /// Returns the versions of a resource, oldest first.
    fn versions(&self, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError>;

    /// Returns since when each of some resources is as it is, as far as versions are kept.
    fn versions_since(&self, uris: &[&Uri]) -> Result<Vec<Option<DateTime>>, CatalogueError>;

    /// Returns the faults of the file itself.
    #[cfg(test)]
    fn file_damage(&self) -> Result<Vec<String>, CatalogueError>;
}

/// Writes the catalogue: what only its [`Writer`](super::writer::Writer) has.
pub(super) trait WriteCatalogue: Send {
    /// Runs work in one transaction, and commits it durably. An engine may have to run it again: what it did before is
    /// undone then.
    fn transaction(
        &mut self,
        timeline: &Timeline,
        run: &mut dyn FnMut(&mut dyn CatalogueTransaction),
    ) -> Result<(), CatalogueError>;

    /// Gives the space of what was dropped back: bytes before and after. Fails if the engine does that by itself.
    fn compact(&mut self) -> Result<(u64, u64), CatalogueError>;

    /// Makes sure that this process still is the one that writes.
    fn confirm(&mut self) -> Result<(), CatalogueError> {
        Ok(())
    }
}

/// The catalogue while a transaction is open.
pub(super) trait CatalogueTransaction {
    /// Runs one piece of work; what it did is undone when it fails, and only that.
    fn attempt(
        &mut self,
        work: &mut dyn FnMut(&mut dyn CatalogueTransaction) -> Result<(), CatalogueError>,
    ) -> Result<(), CatalogueError>;

    /// Records what was observed.
    fn record(&mut self, observations: &[Observation]) -> Result<Recorded, CatalogueError>;

    /// From now on the changes of the sets in a mask are logged.
    fn complete_baseline(&mut self, sets: u64);

    /// Keeps values under names; `None` removes the name.
    fn set_meta(&mut self, values: &[NamedValue]) -> Result<(), CatalogueError>;

    /// Drops a bounded number of changes up to a sequence number; returns `true` if there may be more.
    fn forget(&mut self, through: u64) -> Result<bool, CatalogueError>;

    /// Replaces the beginning of each URI that starts with `from` by `to`, in resources, changes and versions. Nothing is
    /// logged: the resources are the ones they were, and their changes keep their datetimes.
    fn rebase(&mut self, from: &str, to: &str) -> Result<(), CatalogueError>;

    /// Keeps the patches that were made for changes, by their sequence numbers.
    fn set_patches(&mut self, patches: &[(u64, Patch)]) -> Result<(), CatalogueError>;

    /// Keeps versions, and drops those that are too many or too old by them. Returns the digests of dropped ones that no
    /// version has any more.
    fn keep_versions(
        &mut self,
        versions: &[(Uri, ResourceVersion)],
        keep: Keep,
    ) -> Result<Vec<Digests>, CatalogueError>;

    /// Returns those of the digests that no version has.
    fn unreferenced(&mut self, digests: &[Digests]) -> Result<Vec<Digests>, CatalogueError>;

    /// Writes rows for the other servers of the Source.
    #[cfg(feature = "postgres")]
    fn share(&mut self, rows: &SharedRows) -> Result<(), CatalogueError>;
}

/// A line that is added to the change log.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewChange<'a> {
    pub(super) sequence: u64,
    pub(super) datetime: DateTime,
    pub(super) change: &'a Change,
    pub(super) sets: u64,
    pub(super) uri: &'a Uri,
    pub(super) before: Option<&'a ResourceState>,
    pub(super) state: &'a ResourceState,
}

/// The rows of a transaction, as the rules of recording read and write them.
pub(super) trait LedgerRows {
    /// Learns which rows the next observations are about.
    fn expect(&mut self, observations: &[Observation]) -> Result<(), CatalogueError>;

    /// Begins a piece of work that may be undone.
    fn save(&mut self) -> Result<(), CatalogueError>;

    /// Keeps what the last piece of work did.
    fn release(&mut self) -> Result<(), CatalogueError>;

    /// Undoes the last piece of work.
    fn undo(&mut self) -> Result<(), CatalogueError>;

    /// Returns the row of a resource.
    fn held(&mut self, key: &[u8]) -> Result<Option<Resource>, CatalogueError>;

    /// Adds the row of a resource that is known since a time in microseconds; returns `false` if there is one already,
    /// which stays as it is.
    fn insert(&mut self, resource: &Resource, since: i64) -> Result<bool, CatalogueError>;

    /// Writes another state over the row of a resource, which keeps the time since when it is known, and counts changes.
    fn replace(&mut self, next: &Resource, changes: u8) -> Result<(), CatalogueError>;

    /// Removes the row of a resource.
    fn remove(&mut self, key: &[u8]) -> Result<(), CatalogueError>;

    /// Adds a line to the change log.
    fn append(&mut self, change: &NewChange<'_>) -> Result<(), CatalogueError>;

    /// Drops the lines of the change log up to a sequence number.
    fn drop_changes(&mut self, through: u64) -> Result<(), CatalogueError>;

    /// As [`CatalogueTransaction::set_meta`].
    fn set_meta(&mut self, values: &[NamedValue]) -> Result<(), CatalogueError>;

    /// As [`CatalogueTransaction::rebase`].
    fn rebase(&mut self, from: &str, to: &str) -> Result<(), CatalogueError>;

    /// As [`CatalogueTransaction::set_patches`].
    fn set_patches(&mut self, patches: &[(u64, Patch)]) -> Result<(), CatalogueError>;

    /// Adds versions, in their order; one that is there already stays. Then drops those of the same resources that are too
    /// many or too old. Returns the digests of dropped ones.
    fn keep_versions(
        &mut self,
        versions: &[(Uri, ResourceVersion)],
        keep: Keep,
    ) -> Result<Vec<Digests>, CatalogueError>;

    /// As [`CatalogueTransaction::unreferenced`].
    fn unreferenced(&mut self, digests: &[Digests]) -> Result<Vec<Digests>, CatalogueError>;

    /// As [`CatalogueTransaction::share`]. An engine that only one machine writes has nothing to share.
    #[cfg(feature = "postgres")]
    fn share(&mut self, _rows: &SharedRows) -> Result<(), CatalogueError> {
        Ok(())
    }
}
