//! The catalogue of a Source: its current resources and the ordered log of their changes.

mod codec;
mod columns;
#[cfg(test)]
mod contract;
mod counters;
mod damage;
mod engine;
mod error;
mod figures;
mod keys;
mod ledger;
mod lookup;
mod moves;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
#[cfg(feature = "postgres")]
mod shared;
mod sharing;
mod snapshot;
mod sqlite;
mod stamp_page;
mod stamps;
#[cfg(feature = "postgres")]
mod subscribers;
#[cfg(any(feature = "notify", feature = "postgres"))]
mod subscription;
mod timeline;
mod upkeep;
mod versions;
mod writer;

use std::{
    path::Path,
    slice,
    sync::{Arc, PoisonError},
};

use resourcesync::DateTime;

use engine::{CatalogueEngine, WriteCatalogue};
use sqlite::CatalogueFile;
use timeline::Timeline;

pub use error::CatalogueError;
pub use figures::{ChangeCounts, ResourceOutline};
#[cfg(test)]
pub(crate) use instep_store::database::DatabaseError;
#[cfg(feature = "serve")]
pub(crate) use lookup::KeyChild;
pub(crate) use moves::CatalogueMove;
pub(crate) use place::{CatalogueLocation, is_there};
pub use record::{ChangeRecord, Head, History, Recorded, Resource, ResourceState, ResourceTotals};
pub(crate) use record::{FileStamp, Observation, Patch};
#[cfg(feature = "postgres")]
pub(crate) use shared::{ReadShared, SHARED_PART, SharedContent, SharedDocument, SharedPart, SharedRows};
#[cfg(all(test, feature = "postgres"))]
pub(crate) use shared::{SharedMessage, SharedPosition};
pub use snapshot::{ChangeRows, ResourceRows, Snapshot};
pub(crate) use stamp_page::KnownStamp;
pub(crate) use stamps::Stamps;
#[cfg(all(feature = "postgres", feature = "notify"))]
pub(crate) use subscribers::{HubRows, ReadSubscribers, SubscriberRow};
#[cfg(feature = "notify")]
pub(crate) use subscription::HubSubscription;
pub use timeline::{Clock, system_clock};
pub(crate) use versions::Keep;
pub(crate) use versions::ResourceVersion;

/// The file of the catalogue in the state folder.
pub(crate) const CATALOGUE: &str = "catalogue.db";

/// A value under a name; `None` removes the name.
pub(crate) type NamedValue = (String, Option<Vec<u8>>);

/// Observations on their way into the catalogue.
pub(crate) type Recording = writer::PendingCommit<Recorded>;

/// The resources of a Source and the log of their changes, in an SQLite file or a PostgreSQL database.
///
/// One thread writes, and commits the work of all waiting callers together. Any number of [`Snapshot`]s read at the
/// same time. Calls block, so async code uses `spawn_blocking`. Clones share the catalogue.
#[derive(Clone, Debug)]
pub(crate) struct Catalogue {
    // Dropped before the writer: the last connection to close empties the log, and one that reads cannot.
    engine: Arc<dyn CatalogueEngine>,
    writer: Arc<writer::Writer>,
    is_beside: bool,
}

impl Catalogue {
    /// Opens the file, and creates it if there is none. A file of an earlier version is first copied, then migrated
    /// to the present schema.
    ///
    /// # Errors
    /// If the file cannot be opened, is not a catalogue of instep, or was written by a later version.
    pub(crate) fn open(path: &Path) -> Result<Self, CatalogueError> {
        Self::with_clock(path, system_clock())
    }

    /// Opens the file as [`Catalogue::open`] does, with a clock of the caller's.
    ///
    /// # Errors
    /// As for [`Catalogue::open`].
    pub(crate) fn with_clock(path: &Path, clock: Clock) -> Result<Self, CatalogueError> {
        let (file, writer, last) = CatalogueFile::open(path)?;
        Self::over(Arc::new(file), Box::new(writer), Timeline::after(last, clock))
    }

    /// Opens the file for reading only, also while another process writes it. Every write fails.
    ///
    /// # Errors
    /// If there is no file, or its schema is not the present one.
    pub(crate) fn beside(path: &Path) -> Result<Self, CatalogueError> {
        let (file, writer, last) = CatalogueFile::open_beside(path)?;
        let timeline = Timeline::after(last, system_clock());
        Ok(Self { is_beside: true, ..Self::over(Arc::new(file), Box::new(writer), timeline)? })
    }

    fn over(
        engine: Arc<dyn CatalogueEngine>,
        writer: Box<dyn WriteCatalogue>,
        timeline: Timeline,
    ) -> Result<Self, CatalogueError> {
        let writer = Arc::new(writer::Writer::start(writer, Arc::new(timeline))?);
        Ok(Self { engine, writer, is_beside: false })
    }

    /// Returns `true` if it was opened only to be read.
    pub(crate) fn is_beside(&self) -> bool {
        self.is_beside
    }

    /// Returns the file of the catalogue, or the URL of its database.
    pub(crate) fn place(&self) -> &Path {
        self.engine.place()
    }

    /// Returns `true` if it may have been written from another folder, such as that of another machine.
    pub(crate) fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    /// Returns the next datetime of the Source: later than each one before it, also than those of recorded changes, and
    /// earlier than those of each change recorded from now on (S6).
    pub(crate) fn now(&self) -> DateTime {
        self.writer.timeline.next()
    }

    /// Returns the last datetime if it is so far ahead of the clock that the clock must have been wrong; else `None`.
    pub(crate) fn is_ahead_of_clock(&self) -> Option<DateTime> {
        self.writer.timeline.ahead()
    }

    /// Records observations in one transaction, which is durable when this returns. Each change in a set whose
    /// baseline is complete is added to the change log with its own datetime.
    ///
    /// # Errors
    /// If the file cannot be written; nothing of the batch is recorded then.
    pub(crate) fn record(&self, batch: Vec<Observation>) -> Result<Recorded, CatalogueError> {
        self.refuse_long_keys(&batch)?;
        self.writer.run(move |ledger| ledger.record(&batch))
    }

    /// Begins to record what was observed, in the order of the calls; [`Recording::wait`] waits for the disk.
    ///
    /// # Errors
    /// If the catalogue is closed.
    pub(crate) fn begin_to_record(&self, batch: Vec<Observation>) -> Result<Recording, CatalogueError> {
        self.refuse_long_keys(&batch)?;
        self.writer.begin(move |ledger| ledger.record(&batch))
    }

    /// Waits for what others have begun to record.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn settle(&self) -> Result<(), CatalogueError> {
        self.writer.settle()
    }

    /// Records that the sets in the mask have been scanned completely once: from now on their changes are logged.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn complete_baseline(&self, sets: u64) -> Result<(), CatalogueError> {
        self.writer.run(move |ledger| {
            ledger.complete_baseline(sets);
            Ok(())
        })
    }

    /// Keeps values under names, all in one transaction; `None` removes the name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn set_meta(&self, values: Vec<NamedValue>) -> Result<(), CatalogueError> {
        self.writer.run(move |ledger| ledger.set_meta(&values))
    }

    /// Keeps values as [`Catalogue::set_meta`] does, and drops a bounded number of changes up to a sequence number with them. Returns `true` if
    /// there may be more of them.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn set_meta_and_forget(
        &self,
        values: Vec<NamedValue>,
        through: u64,
    ) -> Result<bool, CatalogueError> {
        self.writer.run(move |ledger| {
            ledger.set_meta(&values)?;
            ledger.forget(through)
        })
    }

    /// Replaces the beginning of URIs by another one, in resources, changes and versions, and sets values with it.
    ///
    /// # Errors
    /// If the file cannot be written; then nothing has moved.
    pub(crate) fn rebase(&self, from: &str, to: &str, values: Vec<NamedValue>) -> Result<(), CatalogueError> {
        self.move_all(CatalogueMove::BaseUrl { from: from.to_owned(), to: to.to_owned() }, values)
    }

    /// Changes all that the catalogue has, and sets values with it.
    ///
    /// # Errors
    /// If the file cannot be written; then nothing has changed.
    pub(crate) fn move_all(
        &self,
        moved: CatalogueMove,
        values: Vec<NamedValue>,
    ) -> Result<(), CatalogueError> {
        self.writer.run(move |ledger| {
            ledger.move_all(&moved)?;
            ledger.set_meta(&values)
        })
    }

    /// Stores the patches of changes, by sequence number, and a named value in the same transaction.
    ///
    /// # Errors
    /// If the file cannot be written; then none of them is kept.
    pub(crate) fn set_patches(
        &self,
        patches: Vec<(u64, Patch)>,
        beside: NamedValue,
    ) -> Result<(), CatalogueError> {
        self.writer.run(move |ledger| {
            ledger.set_patches(&patches)?;
            ledger.set_meta(slice::from_ref(&beside))
        })
    }

    /// Returns the catalogue as it is now.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, CatalogueError> {
        let _nothing_is_being_recorded = self.writer.gate.lock().unwrap_or_else(PoisonError::into_inner);
        Snapshot::begin(&self.engine, self.now())
    }

    /// Returns one resource as it was last committed, without waiting for what is being recorded.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn resource(&self, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
        Ok(self.engine.reader()?.resources(&[key])?.pop().flatten())
    }

    /// Returns a value that was kept with [`Catalogue::set_meta`], as it was last committed.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError> {
        self.engine.reader()?.meta(name)
    }

    /// Returns the position of the catalogue at the last commit.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn head(&self) -> Result<Head, CatalogueError> {
        self.engine.reader()?.head()
    }

    /// Returns the stamps that files had when they were hashed, for keys from one to below another, in order.
    pub(crate) fn stamps(&self, from: Vec<u8>, to: Vec<u8>) -> Result<Stamps, CatalogueError> {
        Stamps::new(self.engine.reader()?, from, to)
    }
}
