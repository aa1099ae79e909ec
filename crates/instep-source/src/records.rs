//! All data written for a later run beside the tables of the catalogue: one format for each record, each with its
//! version.
//!
//! A record is JSON, `{"version":1,"record":...}`, under a name in the catalogue. A later version of this program
//! reads every version that was ever written: `tests/golden/records` has one of each, and a test reads them all. An
//! unreadable record is an error that names the file and the remedy. It never counts as absent: a Source without its
//! record of published documents would begin again at Change List 1, and each copy would have to start over.

mod moment;
mod opened;
mod outbox;
mod published;
mod rules;
mod span;

use std::{collections::BTreeMap, marker::PhantomData, path::Path};

use instep_store::versioned;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::catalogue::{Catalogue, CatalogueError, NamedValue, Snapshot};

pub(crate) use moment::Moment;
pub(crate) use opened::OpenedWith;
pub(crate) use outbox::{DeliveryStep, Outbox, UndeliveredDocument};
pub(crate) use published::{
    ArchiveSummary, ArchivedChangeDump, ArchivedDocuments, ArchivedSnapshot, PublishedChangeDump,
    PublishedChangeLists, PublishedChangePackage, PublishedDocument, PublishedPackage, PublishedResourceDump,
    PublishedResourceList, PublishedSet, PublishedSource,
};
pub(crate) use rules::rules_id;
pub(crate) use span::Span;

/// The state of the last publication that is complete.
pub(crate) const PUBLISHED: RecordKind<PublishedSource> = RecordKind::new("published", 1);
/// The publication that is being put in place. It exists only while that happens, or after an interruption.
pub(crate) const PLACING: RecordKind<PublishedSource> = RecordKind::new("placing", 1);
/// The documents that are still to be delivered to object storage; absent until something is delivered there.
pub(crate) const OUTBOX: RecordKind<Outbox> = RecordKind::new("outbox", 1);
/// The documents in the archives of a set, whose name is the part.
pub(crate) const ARCHIVE: RecordKind<ArchivedDocuments> = RecordKind::new("archive:", 1);
/// The options that the Source was opened with last.
pub(crate) const OPENED_WITH: RecordKind<OpenedWith> = RecordKind::new("opened-with", 1);
/// The names of the sets, in the order of their numbers.
pub(crate) const SETS: RecordKind<Vec<String>> = RecordKind::new("sets", 1);
/// The numbers of the folders and manifests, by the prefix of their URIs or their names.
pub(crate) const CONTENT: RecordKind<BTreeMap<String, u8>> = RecordKind::new("content", 1);
/// The former base URLs of the Source, the last one at the end.
pub(crate) const FORMER_BASE_URLS: RecordKind<Vec<String>> = RecordKind::new("former-base-urls", 1);
/// The algorithms of the last complete scan.
pub(crate) const ALGORITHMS: RecordKind<Vec<String>> = RecordKind::new("algorithms", 1);
/// The sets whose present resources have versions, as a mask, and the last change that has one.
pub(crate) const VERSIONED: RecordKind<(u64, u64)> = RecordKind::new("versioned", 1);
/// The last change for which a patch was tried.
pub(crate) const PATCHED: RecordKind<u64> = RecordKind::new("patched", 1);
/// The sets, as a mask, whose present states have been kept once.
pub(crate) const STATES_KEPT: RecordKind<u64> = RecordKind::new("present states kept", 1);
/// The bytes of the largest state that was kept then, and of all that might be kept.
pub(crate) const STATES_ROOM: RecordKind<(u64, u64)> = RecordKind::new("states-room", 1);

/// A mark of the last publication that is complete and whose documents other servers have; absent where no others can be.
pub(crate) const SHARED: RecordKind<String> = RecordKind::new("shared", 1);

/// The name, the version and the type of a record.
pub(crate) struct RecordKind<T> {
    name: &'static str,
    version: u32,
    value: PhantomData<fn() -> T>,
}

/// A source of records: a snapshot of the catalogue, or a test.
pub(crate) trait Records {
    /// Returns the bytes under a name.
    fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError>;
    /// Returns the place of the catalogue, for messages.
    fn place(&self) -> &Path;
}

impl Records for Snapshot {
    fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError> {
        self.meta(name)
    }

    fn place(&self) -> &Path {
        self.place()
    }
}

impl Records for Catalogue {
    fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError> {
        self.meta(name)
    }

    fn place(&self) -> &Path {
        self.place()
    }
}

/// A record beside its version: some records are numbers or lists, which have no room for it.
#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    record: T,
}

impl<T: Serialize + DeserializeOwned> RecordKind<T> {
    const fn new(name: &'static str, version: u32) -> Self {
        Self { name, version, value: PhantomData }
    }

    /// Returns the name under which the catalogue keeps it.
    #[cfg(feature = "postgres")]
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the record; `None` if it was never written.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read(&self, from: &impl Records) -> Result<Option<T>, CatalogueError> {
        self.read_part(from, "")
    }

    /// Returns the record of a part, such as a set; `None` if it was never written.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read_part(&self, from: &impl Records, part: &str) -> Result<Option<T>, CatalogueError> {
        let name = format!("{}{part}", self.name);
        let Some(bytes) = from.bytes(&name)? else { return Ok(None) };
        self.decode(&bytes).map(Some).map_err(|what| CatalogueError::Record {
            path: from.place().to_owned(),
            name,
            what,
        })
    }

    /// Returns the record as the catalogue keeps it, under its name.
    pub(crate) fn write(&self, record: &T) -> NamedValue {
        self.write_part("", record)
    }

    /// Returns the record of a part as the catalogue keeps it, under its name.
    pub(crate) fn write_part(&self, part: &str, record: &T) -> NamedValue {
        // Numbers, text, lists, and maps with text as keys: nothing that JSON cannot hold.
        let text = versioned::to_text(self.version, &Envelope { record }).unwrap_or_default();
        (format!("{}{part}", self.name), Some(text.into_bytes()))
    }

    /// Returns the operation that removes the record, under its name.
    pub(crate) fn forget(&self) -> NamedValue {
        self.forget_part("")
    }

    /// Returns the operation that removes the record of a part, under its name.
    pub(crate) fn forget_part(&self, part: &str) -> NamedValue {
        (format!("{}{part}", self.name), None)
    }

    fn decode(&self, bytes: &[u8]) -> Result<T, String> {
        versioned::parse::<Envelope<T>>(bytes, self.version).map(|envelope| envelope.record)
    }
}

#[cfg(test)]
mod tests;
