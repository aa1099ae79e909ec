//! The result of a publication.

use std::time::Duration;

use resourcesync::{DateTime, Uri};

use crate::{
    LeftOutCounts,
    content::SpoolUsage,
    render::{HostSetup, Now, SourcePlace},
    scan::ScanReport,
};

/// The outcome of a publication.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PublishReport {
    /// Resources that are new since the last publication; all of them in the first one.
    pub created: u64,
    /// Resources with a new state.
    pub updated: u64,
    /// Resources that are gone.
    pub deleted: u64,
    /// Resources that have not changed.
    pub unchanged: u64,
    /// Files that cannot be published; each was reported to the monitor.
    pub skipped: u64,
    /// Those of them that could not be read this time.
    pub unreadable: u64,
    /// Files and folders that are not published because of their mode, kind or name.
    pub left_out: LeftOutCounts,
    /// Names, below `out`, of the documents and packages written, in the order they were put in place.
    pub documents: Vec<String>,
    /// Documents that were delivered to object storage, or removed there.
    pub delivered: u64,
    /// Resources of the Source.
    pub resources: u64,
    /// Bytes of these resources.
    pub bytes: u64,
    /// The time at which it began.
    pub at: DateTime,
    /// The time at which the last file was inspected.
    pub completed: DateTime,
    /// Sequence of the last change that the documents have.
    pub sequence: u64,
    /// The past states that are kept, and their size on disk; `None` if they are not kept.
    pub kept_states: Option<SpoolUsage>,
    /// The time it took.
    pub elapsed: Duration,
    /// The Source Description's URI.
    pub source_description: Uri,
    /// The files for the root of the host, and the configuration of its server.
    pub host: HostSetup,
}

impl PublishReport {
    pub(crate) fn new(now: Now, place: &SourcePlace) -> Self {
        Self {
            created: 0,
            updated: 0,
            deleted: 0,
            unchanged: 0,
            skipped: 0,
            unreadable: 0,
            left_out: LeftOutCounts::default(),
            documents: Vec::new(),
            delivered: 0,
            resources: 0,
            bytes: 0,
            at: now.at,
            completed: now.completed,
            sequence: now.sequence,
            kept_states: None,
            elapsed: Duration::ZERO,
            source_description: place.source_description(),
            host: HostSetup::default(),
        }
    }

    pub(crate) fn count(&mut self, scanned: Option<&ScanReport>) {
        let Some(scanned) = scanned else { return };
        self.created = scanned.recorded.created;
        self.updated = scanned.recorded.updated;
        self.deleted = scanned.recorded.deleted;
        self.skipped = scanned.skipped;
        self.unreadable = scanned.unreadable;
        self.left_out = scanned.left_out;
        self.unchanged = self.resources.saturating_sub(self.created + self.updated);
    }

    /// Returns `true` if nothing was recorded, written or delivered.
    pub fn is_nothing_new(&self) -> bool {
        self.created + self.updated + self.deleted + self.delivered == 0 && self.documents.is_empty()
    }
}
