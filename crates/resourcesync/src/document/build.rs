//! One constructor for each kind of document. Its arguments are the required metadata of the root.

use super::{
    CapabilityList, CapabilityListIndex, ChangeDump, ChangeDumpArchive, ChangeDumpArchiveIndex,
    ChangeDumpIndex, ChangeDumpManifest, ChangeList, ChangeListArchive, ChangeListArchiveIndex,
    ChangeListIndex, ChangeNotification, Collected, Entry, FrameworkNotification, Link, Metadata,
    ResourceDump, ResourceDumpArchive, ResourceDumpArchiveIndex, ResourceDumpIndex, ResourceDumpManifest,
    ResourceList, ResourceListArchive, ResourceListArchiveIndex, ResourceListIndex, SourceDescription,
    SourceDescriptionIndex,
    kind::{DocumentKind, IntervalKind, SnapshotKind},
};
use crate::value::{DateTime, Relation, Uri};

macro_rules! snapshots {
    ($($document:ident)*) => {$(
        impl $document {
            /// Begins an empty document: the state as of `at` (TIME-3), with a link `up` to its Capability List
            /// (NAV-1).
            pub fn new(at: DateTime, up: Uri) -> Self {
                Self::below(up).with_metadata(|md| md.at = Some(at))
            }
        }
    )*};
}

macro_rules! intervals {
    ($($document:ident)*) => {$(
        impl $document {
            /// Begins an empty, open document: the changes since `from` (TIME-5), with a link `up` to its Capability
            /// List (NAV-1). [`Self::with_until`] closes it.
            pub fn new(from: DateTime, up: Uri) -> Self {
                Self::below(up).with_metadata(|md| md.from = Some(from))
            }
        }
    )*};
}

macro_rules! untimed {
    ($($document:ident)*) => {$(
        impl $document {
            /// Begins an empty document with a link `up` to the document that leads to it (NAV-1).
            pub fn new(up: Uri) -> Self {
                Self::below(up)
            }
        }
    )*};
}

macro_rules! tops {
    ($($document:ident)*) => {$(
        impl $document {
            /// Begins an empty document. It is the top of its Source and has no link `up` (SD-12).
            pub fn new() -> Self {
                Self::empty()
            }
        }

        impl Default for $document {
            fn default() -> Self {
                Self::new()
            }
        }
    )*};
}

tops! { SourceDescription SourceDescriptionIndex }
snapshots! { ResourceList ResourceListIndex ResourceDump ResourceDumpIndex ResourceDumpManifest }
intervals! { ChangeList ChangeListIndex ChangeDump ChangeDumpIndex ChangeDumpManifest }
untimed! {
    CapabilityList CapabilityListIndex
    ResourceListArchive ResourceListArchiveIndex ResourceDumpArchive ResourceDumpArchiveIndex
    ChangeListArchive ChangeListArchiveIndex ChangeDumpArchive ChangeDumpArchiveIndex
    ChangeNotification FrameworkNotification
}

impl<K: DocumentKind> Collected<K> {
    /// Adds an entry at the end.
    #[must_use]
    pub fn push(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }

    /// Adds entries at the end.
    #[must_use]
    pub fn extend(mut self, entries: impl IntoIterator<Item = Entry>) -> Self {
        self.entries.extend(entries);
        self
    }

    /// Adds a link under the root, such as `describedby`, or `index` to the index that the document is a member of (RL-4,
    /// CL-4).
    #[must_use]
    pub fn with_link(mut self, rel: Relation, target: Uri) -> Self {
        self.header.links.push(Link::new(rel, target));
        self
    }

    fn empty() -> Self {
        Self::from_parts(K::header(), Vec::new())
    }

    fn below(up: Uri) -> Self {
        Self::empty().with_link(Relation::Up, up)
    }

    fn with_metadata(mut self, set: impl FnOnce(&mut Metadata)) -> Self {
        set(self.header.metadata.get_or_insert_default());
        self
    }
}

impl<K: SnapshotKind> Collected<K> {
    /// Sets the end of the snapshot (TIME-4).
    #[must_use]
    pub fn with_completed(self, completed: DateTime) -> Self {
        self.with_metadata(|md| md.completed = Some(completed))
    }
}

impl<K: IntervalKind> Collected<K> {
    /// Closes the document: it covers the changes up to `until` and never changes again (TIME-6).
    #[must_use]
    pub fn with_until(self, until: DateTime) -> Self {
        self.with_metadata(|md| md.until = Some(until))
    }
}
