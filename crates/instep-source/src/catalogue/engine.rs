//! The interface that each engine of a catalogue implements. The contract suite (`catalogue/contract.rs`) runs
//! against all of them.
//!
//! Rows are read in pages and written in batches, so that no resource costs a call or a round trip of its own. The
//! rules that turn observations into rows are in `ledger.rs`, above this interface, and are compiled for each engine.
//! Keys and URIs are ordered by their bytes. A method fails only if the catalogue cannot be read or written.

use std::{fmt, ops::ControlFlow, path::Path};

use resourcesync::{Change, DateTime, Digests, Uri};

use super::{
    CatalogueError, ChangeRecord, Head, Keep, NamedValue, Observation, Patch, Recorded, Resource,
    ResourceOutline, ResourceState, ResourceTotals, ResourceVersion, codec::SharedTypes,
    counters::HourlyChanges, moves::CatalogueMove, stamp_page::StampPage, timeline::Timeline,
};
#[cfg(feature = "postgres")]
use super::{
    shared::{ReadShared, SharedRows},
    subscribers::ReadSubscribers,
};

/// An engine: opens readers of a catalogue. Any number of them can read while the one writer writes.
pub(super) trait CatalogueEngine: fmt::Debug + Send + Sync {
    /// Returns a reader of the last committed state, for a page or two.
    fn reader(&self) -> Result<Box<dyn ReadCatalogue>, CatalogueError>;

    /// Returns a reader that shows the catalogue as it is now, without later commits.
    fn moment(&self) -> Result<(Box<dyn ReadCatalogue>, Head), CatalogueError>;

    /// Returns the file, or the URL of the database without a password, for messages.
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

    /// Ends all waiting for a server, because the process is to end.
    #[cfg(all(feature = "serve", feature = "postgres"))]
    fn end_waits(&self) {}

    /// Returns the largest number of bytes in the key of a resource; `None` if there is no limit.
    fn longest_key(&self) -> Option<usize> {
        None
    }
}

/// A range of keys: from the first one, up to but without the last one.
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

    /// Returns the value stored under a name.
    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError>;

    /// Returns the next resources after a key that belong to a set in the mask.
    fn resources_after(
        &self,
        sets: u64,
        key: &[u8],
        limit: usize,
        types: &mut SharedTypes,
    ) -> Result<Vec<Resource>, CatalogueError>;

    /// Returns the next changes after a sequence number in the sets of the mask.
    fn changes_after(
        &self,
        sets: u64,
        sequence: u64,
        limit: usize,
        types: &mut SharedTypes,
    ) -> Result<Vec<ChangeRecord>, CatalogueError>;

    /// Fills a page with the stamps of files in a range of keys.
    fn stamps(&self, range: KeyRange<'_>, page: &mut StampPage) -> Result<(), CatalogueError>;

    /// Returns the number of changes after a sequence number in the sets of the mask.
    fn count_changes(&self, sets: u64, after: u64) -> Result<u64, CatalogueError>;

    /// Returns the last sequence number between two whose change is older than a datetime; the first one if none is.
    fn sequence_before(&self, datetime: DateTime, between: (u64, u64)) -> Result<u64, CatalogueError>;

    /// Returns the size of a set.
    fn totals(&self, set: u8) -> Result<ResourceTotals, CatalogueError>;

    /// Returns the counts of changes since an hour.
    fn activity(&self, from_hour: i64) -> Result<Vec<HourlyChanges>, CatalogueError>;

    /// Visits the resources of the sets in the mask, with only the columns that statistics need.
    fn outlines(&self, sets: u64, visit: &mut dyn FnMut(ResourceOutline<'_>)) -> Result<(), CatalogueError>;

    /// Visits resources from a key on, until `visit` stops.
    fn resources_from(
        &self,
        key: &[u8],
        visit: &mut dyn FnMut(Resource) -> Result<ControlFlow<()>, CatalogueError>,
    ) -> Result<(), CatalogueError>;

    /// Returns the totals of at most `most` resources in a range of keys.
    fn totals_between(&self, from: &[u8], to: &[u8], most: u64) -> Result<ResourceTotals, CatalogueError>;

    /// Returns the first resources in a range of keys whose URI matches all of the patterns. In a pattern, `%`
    /// matches any text, `_` one character, and `\` escapes both. ASCII letters match in both cases.
    fn matching(
        &self,
        patterns: &[String],
        range: (&[u8], &[u8]),
        most: usize,
    ) -> Result<Vec<Resource>, CatalogueError>;

    /// Returns the newest changes of a resource after a sequence number, the newest first.
    fn changes_of(&self, uri: &Uri, after: u64, most: usize) -> Result<Vec<ChangeRecord>, CatalogueError>;

    /// Returns the versions of a resource, oldest first.
    fn versions(&self, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError>;

    /// Returns the time since which each of the resources has had its present state, if versions are kept.
    fn versions_since(&self, uris: &[&Uri]) -> Result<Vec<Option<DateTime>>, CatalogueError>;

    /// Returns the faults of the file itself.
    fn file_damage(&self) -> Result<Vec<String>, CatalogueError>;
}

/// Writes the catalogue. Only its [`Writer`](super::writer::Writer) has one.
pub(super) trait WriteCatalogue: Send {
    /// Runs work in one transaction and commits it durably. An engine may have to run the work again; the first
    /// attempt is undone then.
    fn transaction(
        &mut self,
        timeline: &Timeline,
        run: &mut dyn FnMut(&mut dyn CatalogueTransaction),
    ) -> Result<(), CatalogueError>;

    /// Gives the space of removed rows back to the file system. Returns the bytes before and after. Fails if the
    /// engine does this itself.
    fn compact(&mut self) -> Result<(u64, u64), CatalogueError>;

    /// Writes what the log of the database holds into its file, which otherwise waits until the file is closed. The log
    /// is as durable as the file, so that a failure loses nothing.
    fn empty_log(&mut self) {}

    /// Checks that this process still has the right to write.
    fn confirm(&mut self) -> Result<(), CatalogueError> {
        Ok(())
    }
}

/// The catalogue while a transaction is open.
pub(super) trait CatalogueTransaction {
    /// Runs one piece of work. If it fails, only its own changes are undone.
    fn attempt(
        &mut self,
        work: &mut dyn FnMut(&mut dyn CatalogueTransaction) -> Result<(), CatalogueError>,
    ) -> Result<(), CatalogueError>;

    /// Records observations.
    fn record(&mut self, observations: &[Observation]) -> Result<Recorded, CatalogueError>;

    /// Marks the first scan of the sets in the mask as complete: from now on their changes are logged.
    fn complete_baseline(&mut self, sets: u64);

    /// Stores values under names; `None` removes the name.
    fn set_meta(&mut self, values: &[NamedValue]) -> Result<(), CatalogueError>;

    /// Removes changes up to a sequence number, a limited number of them at a time. Returns `true` if there may be
    /// more.
    fn forget(&mut self, through: u64) -> Result<bool, CatalogueError>;

    /// Changes all that the catalogue has. This logs no changes: the resources stay the same ones, and their changes
    /// keep their datetimes.
    fn move_all(&mut self, moved: &CatalogueMove) -> Result<(), CatalogueError>;

    /// Stores the patches of changes, by sequence number.
    fn set_patches(&mut self, patches: &[(u64, Patch)]) -> Result<(), CatalogueError>;

    /// Stores versions, and removes those that are now too many or too old. Returns the digests of removed versions
    /// that no other version has.
    fn keep_versions(
        &mut self,
        versions: &[(Uri, ResourceVersion)],
        keep: Keep,
    ) -> Result<Vec<Digests>, CatalogueError>;

    /// Returns the digests that no version has.
    fn unreferenced(&mut self, digests: &[Digests]) -> Result<Vec<Digests>, CatalogueError>;

    /// Writes rows for the other servers of the Source.
    #[cfg(feature = "postgres")]
    fn share(&mut self, rows: &SharedRows) -> Result<(), CatalogueError>;
}

/// An entry that is added to the change log.
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

/// The rows of an open transaction, as the rules in `ledger.rs` read and write them.
pub(super) trait LedgerRows {
    /// Prepares for the next observations, for example by reading their rows together.
    fn expect(&mut self, observations: &[Observation]) -> Result<(), CatalogueError>;

    /// Begins a piece of work that can be undone.
    fn save(&mut self) -> Result<(), CatalogueError>;

    /// Keeps the changes of the last piece of work.
    fn release(&mut self) -> Result<(), CatalogueError>;

    /// Undoes the changes of the last piece of work.
    fn undo(&mut self) -> Result<(), CatalogueError>;

    /// Returns the row of a resource.
    fn held(&mut self, key: &[u8]) -> Result<Option<Resource>, CatalogueError>;

    /// Adds the row of a resource that is known since a time in microseconds. Returns `false` if there is a row
    /// already, which stays as it is.
    fn insert(&mut self, resource: &Resource, since: i64) -> Result<bool, CatalogueError>;

    /// Replaces the state in the row of a resource. The row keeps the time since which the resource is known, and
    /// adds `changes` to its count.
    fn replace(&mut self, next: &Resource, changes: u8) -> Result<(), CatalogueError>;

    /// Removes the row of a resource.
    fn remove(&mut self, key: &[u8]) -> Result<(), CatalogueError>;

    /// Adds an entry to the change log.
    fn append(&mut self, change: &NewChange<'_>) -> Result<(), CatalogueError>;

    /// Removes the entries of the change log up to a sequence number.
    fn drop_changes(&mut self, through: u64) -> Result<(), CatalogueError>;

    /// As [`CatalogueTransaction::set_meta`].
    fn set_meta(&mut self, values: &[NamedValue]) -> Result<(), CatalogueError>;

    /// As [`CatalogueTransaction::move_all`].
    fn move_all(&mut self, moved: &CatalogueMove) -> Result<(), CatalogueError>;

    /// As [`CatalogueTransaction::set_patches`].
    fn set_patches(&mut self, patches: &[(u64, Patch)]) -> Result<(), CatalogueError>;

    /// Adds versions in order; one that exists already stays as it is. Then removes versions of the same resources
    /// that are too many or too old, and returns their digests.
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
