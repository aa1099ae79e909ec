//! The records of the state: sets, held resources, pending retries, checkpoints and documents.

use instep_store::NameKind;
use resourcesync::{Change, DateTime, Digests, Uri};

use crate::{
    map::CopyPath,
    plan::{Desired, ResourceMetadata, VersionKey},
};

/// The number of a set of resources that this copy follows. A copy follows at most [`SetId::MOST`] sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SetId(pub(crate) u8);

impl SetId {
    /// The largest number of sets that one copy can follow.
    pub(crate) const MOST: u8 = 63;

    /// Returns the bit of the set in the mask of a row.
    pub(crate) fn mask(self) -> i64 {
        1 << self.0
    }
}

/// A Source of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceId(pub(super) i64);

impl SourceId {
    /// Returns the name of the record of the way to it.
    pub(crate) fn way_record(self) -> String {
        format!("way {}", self.0)
    }

    /// Returns the Source with a number.
    #[cfg(feature = "postgres")]
    pub(super) fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Returns its number in the state.
    pub(crate) fn number(self) -> i64 {
        self.0
    }
}

/// The file of a held resource: the data that an audit needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldFile {
    /// The number of its row.
    pub(crate) id: i64,
    /// The resource's URI.
    pub(crate) uri: Box<str>,
    pub(crate) path: CopyPath,
    pub(crate) place: HeldAt,
    /// The number of bytes.
    pub(crate) length: Option<u64>,
    pub(crate) digests: Digests,
}

/// The place of the bytes of a held resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum HeldAt {
    /// They are stored under the path of the resource.
    #[default]
    Path,
    /// They are a part of an object in object storage.
    Object {
        /// The key of the object, below the prefix of the copy.
        key: Box<str>,
        /// The position of the first byte of the part.
        offset: u64,
        /// The number of bytes of the part.
        length: u64,
    },
}

/// A resource that the copy holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldResource {
    /// Its URI as written, without fragment.
    pub uri: Uri,
    /// Its path in the copy.
    pub path: CopyPath,
    /// The place of its bytes.
    pub(crate) place: HeldAt,
    /// Its metadata; length and digests are those of the bytes in the copy.
    pub metadata: ResourceMetadata,
    pub(crate) id: i64,
    pub(crate) sets: i64,
    /// `true` if the Source may have replaced the bytes without changing the last modification (O22).
    pub(crate) is_racy: bool,
}

impl HeldResource {
    /// The sets of a resource whose sets are unknown: it belongs to each set, and is removed with any of them. The bit that
    /// no set has tells it from a resource that all sets have.
    pub(crate) const SETS_UNKNOWN: i64 = -1;

    /// Returns `true` if a set holds it.
    pub(crate) fn is_in(&self, set: SetId) -> bool {
        self.sets & set.mask() != 0
    }

    /// Returns the kind of a name that its path shows: a file if it has the path itself, a folder if it lies below.
    pub(crate) fn kind_shown_at(&self, path: &CopyPath) -> Option<NameKind> {
        let rest = self.path.as_str().strip_prefix(path.as_str())?;
        match rest.as_bytes().first() {
            None => Some(NameKind::File),
            Some(b'/') => Some(NameKind::Folder),
            Some(_) => None,
        }
    }

    /// Returns `true` if it is a version that is kept beside its resource.
    pub fn is_version(&self) -> bool {
        VersionKey::parse(&self.uri).is_some()
    }

    /// Returns `true` if a deletion came after its last change.
    pub(crate) fn was_deleted_at(&self, deleted: Option<DateTime>) -> bool {
        deleted.is_some_and(|deleted| is_since(deleted, self.metadata.datetime))
    }

    /// Returns `true` if no other set holds it, so that it is deleted once this set drops it.
    pub(crate) fn is_only_in(&self, set: SetId) -> bool {
        self.sets == Self::SETS_UNKNOWN || self.sets & !set.mask() == 0
    }
}

/// A desired state that is pending: a checkpoint has passed its entry although it is not committed (invariant 5). It is
/// *owed* to the copy, and tried again first in each run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Owed {
    /// The state, with the number of attempts so far.
    pub desired: Desired,
    /// The reason why the last attempt failed.
    pub why: String,
}

impl Owed {
    /// Returns the pending retry after one more failed attempt.
    pub(crate) fn new(mut desired: Desired, why: String) -> Self {
        desired.attempts += 1;
        Self { desired, why }
    }
}

/// The point up to which a set has been followed (invariant 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Checkpoint {
    /// The time, by the Source's clock, up to which every change is applied or pending.
    pub datetime: Option<DateTime>,
    /// The last package of a Change Dump that was applied.
    pub last: Option<PassedEntry>,
    /// The Change List that was read last.
    pub document: Option<Uri>,
    /// The number of entries of that document that were applied.
    pub position: u64,
    /// The digest of these entries. The list that is read next continues them only if it begins with the same entries.
    pub leading: Option<[u8; 32]>,
    /// The newest `at`, `from` or `until` of any document that was applied, but not of messages, which may come long before
    /// the next document. An older document is not applied any more (D36).
    pub newest: Option<DateTime>,
}

impl Checkpoint {
    /// Returns the checkpoint before all changes.
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

/// The fields that identify a package of a Change Dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassedEntry {
    /// Its URI.
    pub uri: Uri,
    /// Its time.
    pub datetime: Option<DateTime>,
    /// The kind of change.
    pub change: Change,
}

/// The identity of a document of the Source when it was last read completely.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct DocumentRecord {
    /// Its URI.
    pub uri: Uri,
    /// The `ETag`, strong or weak, as it was sent.
    pub etag: Option<Box<str>>,
    /// The `Last-Modified`, as it was sent.
    pub last_modified: Option<Box<str>>,
    /// The digest of its decoded bytes, for an inventory joined with those of its parts.
    pub digest: Option<[u8; 32]>,
    /// Its `at`, or the `from` of a Change List.
    pub at: Option<DateTime>,
    /// A note of the reader for the next run, which the state does not interpret.
    pub extra: Option<Box<str>>,
}

impl DocumentRecord {
    /// Returns the record of a document of which only the URI is known.
    pub(crate) fn new(uri: Uri) -> Self {
        Self { uri, etag: None, last_modified: None, digest: None, at: None, extra: None }
    }
}

/// The point at which a commit of the state returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The commit returns when the disk has it.
    Disk,
    /// The commit returns at once. The disk gets it before anything that is written later.
    Order,
    /// The commit returns at once, and nothing is known about the order on the disk.
    Nothing,
}

/// A part of an object that was copied to another one, because most of the first one is unused.
#[derive(Clone, Debug)]
pub(crate) struct Repacked {
    pub(crate) uri: Uri,
    pub(crate) to: HeldAt,
}

/// The objects of a copy, and the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackTotals {
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    /// The number of bytes that no resource uses any more.
    pub(crate) dead: u64,
}

/// A value that the state keeps by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A held resource whose deletion is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptDeletion {
    pub(crate) uri: Uri,
    /// The time of its deletion.
    pub(crate) deleted: DateTime,
    /// The time of the last change of the held resource.
    pub(crate) changed: Option<DateTime>,
}

impl KeptDeletion {
    /// Returns `true` if no change came after the deletion, so that the resource is held although it was deleted.
    pub(crate) fn is_kept(&self) -> bool {
        is_since(self.deleted, self.changed)
    }
}

fn is_since(deleted: DateTime, changed: Option<DateTime>) -> bool {
    changed.is_none_or(|changed| changed.unix_micros() < deleted.unix_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o645_a_resource_of_all_sets_that_a_copy_can_have_is_not_one_of_unknown_sets() {
        let all = (0..SetId::MOST).fold(0, |all, set| all | SetId(set).mask());
        assert_ne!(all, HeldResource::SETS_UNKNOWN);
        let is_known = |set| SetId(set).mask() & HeldResource::SETS_UNKNOWN != 0;
        assert!((0..SetId::MOST).all(is_known), "it belongs to each of them");
    }
}
