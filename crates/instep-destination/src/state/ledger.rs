//! The changes of the state that are recorded together with a group. `commit/` fills it, and an engine writes it.

use std::collections::BTreeMap;

use resourcesync::{DateTime, Link, Uri};

use super::{Checkpoint, DocumentRecord, Owed, Repacked, ResourceMetadata, SetId, SliceLedger};

/// A group that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntentId(pub(super) i64);

/// The changes of the state that are recorded together with a group, in the same transaction (invariant 5).
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The changes of pending retries, by set and URI; `None` removes one. The last change within a group counts (B24).
    /// Sets are independent: the success of one settles nothing for another (B16).
    pub(crate) debts: BTreeMap<(SetId, String), Option<Owed>>,
    pub(crate) refreshed: Vec<(Uri, ResourceMetadata)>,
    pub(crate) linked: Vec<(Uri, Vec<Link>)>,
    /// The held resources that become racy or are no longer so: `true` if later bytes may have the same last modification
    /// (O22).
    pub(crate) racy: BTreeMap<String, bool>,
    pub(crate) left: Vec<(Uri, SetId)>,
    /// Resources that were deleted at the Source, each with the set and the time.
    pub(crate) gone: Vec<(Uri, SetId, DateTime)>,
    /// Resources that exist again, so that a set forgets their deletions.
    pub(crate) returned: Vec<(Uri, SetId)>,
    pub(crate) lost: Vec<String>,
    pub(crate) checkpoints: BTreeMap<SetId, Checkpoint>,
    /// Settings by name, which hold as of the checkpoints.
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) documents: Vec<DocumentRecord>,
    /// Objects that were put, each with its number of bytes.
    pub(crate) packs: Vec<(Box<str>, u64)>,
    pub(crate) repacked: Vec<Repacked>,
    /// The slices that outcomes of the group belong to.
    pub(crate) slices: SliceLedger,
}

impl Ledger {
    /// Records a pending retry for a set.
    pub(crate) fn owe(&mut self, set: SetId, owed: Owed) {
        self.debts.insert((set, owed.desired.uri.as_str().to_owned()), Some(owed));
    }

    /// Records that a resource is not pending for a set any more.
    pub(crate) fn settle(&mut self, set: SetId, uri: &str) {
        // Recorded as a removal, because the group may have an earlier entry, and the state one of an earlier run.
        self.debts.insert((set, uri.to_owned()), None);
    }

    /// Removes a pending retry of a set within this group, because a later version of the resource is committed with
    /// it.
    pub(crate) fn settle_if_owed(&mut self, set: SetId, uri: &str) {
        if !self.debts.is_empty()
            && let Some(debt) = self.debts.get_mut(&(set, uri.to_owned()))
        {
            *debt = None;
        }
    }

    /// Records if bytes that later replace these may have the same last modification. A placed row begins with `false`,
    /// so only `true` is recorded.
    pub(crate) fn note_racy(&mut self, uri: &str, is_racy: bool) {
        if is_racy {
            self.racy.insert(uri.to_owned(), true);
        } else if !self.racy.is_empty() {
            self.racy.remove(uri);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.debts.is_empty()
            && self.refreshed.is_empty()
            && self.linked.is_empty()
            && self.racy.is_empty()
            && self.left.is_empty()
            && self.gone.is_empty()
            && self.returned.is_empty()
            && self.lost.is_empty()
            && self.checkpoints.is_empty()
            && self.settings.is_empty()
            && self.documents.is_empty()
            && self.packs.is_empty()
            && self.repacked.is_empty()
            && self.slices.progress.is_empty()
    }
}
