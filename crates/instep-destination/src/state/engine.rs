//! The interface of the state that each engine implements. The contract suite (`state/contract.rs`) runs against all
//! of them.
//!
//! An engine blocks, and its methods can be called from any thread. Rows are read and written in pages or parts, never
//! one at a time, because a call or a round trip to a server for each resource would cost too much. URIs and paths are
//! ordered by their bytes. Each method fails only if the state cannot be read or written, unless stated otherwise.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
};

use instep_store::NameKind;
use resourcesync::{DateTime, Uri};

use super::{
    Checkpoint, DocumentRecord, ExportState, HeldFile, HeldResource, IntentId, KeptDeletion, LoggedProblem,
    LoggedRun, Operation, Owed, PackTotals, ReachedPoint, RowSet, SetId, SourceId, StateError,
};
use crate::{
    changes::CopyChange,
    map::CopyPath,
    plan::Desired,
    report::{PastRun, PendingRetry},
};

/// A function that receives each desired state of a part with its held resource, and `true` if that was named before.
pub(crate) type Meet<'a> = dyn FnMut(&Desired, Option<&HeldResource>, bool) + 'a;

/// Read access to the held resources, which have one row each.
pub(crate) trait ReadHeld {
    /// Returns the held resource with a URI; `None` if it is not held.
    fn held(&self, uri: &str) -> Result<Option<HeldResource>, StateError>;

    /// Returns the next resources in order of their URIs, after one of them or from the start.
    fn held_after(&self, after: Option<&str>, limit: usize) -> Result<Vec<HeldResource>, StateError>;

    /// Returns the files of the next resources in order of their URIs.
    fn files_after(&self, after: &str, limit: usize) -> Result<VecDeque<HeldFile>, StateError>;

    /// Returns the resources whose paths a file system may not distinguish from this one (D7), in order of their
    /// URIs.
    fn held_like(&self, path: &CopyPath) -> Result<Vec<HeldResource>, StateError>;

    /// Returns the resource at a path, if it is the one that its URI maps to.
    fn held_at(&self, path: &CopyPath) -> Result<Option<HeldResource>, StateError> {
        Ok(self.held_like(path)?.into_iter().find(|held| held.path == *path))
    }

    /// Returns the resource at a path, with any URI. Reads every row: for a resource that was moved because of
    /// another one.
    fn held_aside_at(&self, path: &CopyPath) -> Result<Option<HeldResource>, StateError>;

    /// Visits the held resources in the byte order of their paths, until `each` returns `false`. The engine sorts them
    /// outside of memory.
    fn held_by_path(&self, each: &mut dyn FnMut(HeldResource) -> bool) -> Result<(), StateError>;

    /// Returns the number of all resources that are held.
    fn held_count(&self) -> Result<u64, StateError>;

    /// Returns the number of resources that at least one of these sets holds.
    fn held_in(&self, sets: &[SetId]) -> Result<u64, StateError>;

    /// Returns the number of bytes of all held resources. Reads every row.
    fn held_bytes(&self) -> Result<u64, StateError>;

    /// Returns the resources that an inventory names, before it is read: none of those that are held. Resources that the
    /// run commits from now on count as named.
    fn named(&self) -> Result<RowSet, StateError>;

    /// Compares one part of a list with the held resources: passes each desired state once, in order of URIs, with
    /// its held resource and `true` if it was named before.
    ///
    /// The part is sorted here, and the held rows are read in parallel, by range. Pass at most about 50,000 at a
    /// time. Returns the resources that are held but do not belong to the set yet: [`WriteGroups::join`] adds them.
    fn meet(
        &self,
        set: SetId,
        named: &mut RowSet,
        part: &mut [Desired],
        each: &mut Meet<'_>,
    ) -> Result<Vec<Uri>, StateError>;

    /// Returns the next held resources of a set that no part of its list has named.
    fn surplus_after(
        &self,
        set: SetId,
        named: &RowSet,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HeldResource>, StateError>;
}

/// Read access to pending retries, and to deletions that changes named.
pub(crate) trait ReadPending {
    /// Returns the next pending retries of a set, in order of URIs.
    fn owed_after(&self, set: SetId, after: Option<&str>, limit: usize) -> Result<Vec<Owed>, StateError>;

    /// Returns a set's pending retry of a resource; `None` if there is none.
    fn owed(&self, set: SetId, uri: &str) -> Result<Option<Owed>, StateError>;

    /// Returns `true` if a resource is pending in any set.
    fn is_owed(&self, uri: &str) -> Result<bool, StateError>;

    /// Returns the number of pending retries of a Source's sets, including those that belong to no Source.
    fn owed_of(&self, source: SourceId) -> Result<u64, StateError>;

    /// Returns the number of pending retries of all sets.
    fn owed_count(&self) -> Result<u64, StateError>;

    /// Returns the pending retries of all sets after a URI, in order.
    fn pending_retries(&self, after: &str, most: usize) -> Result<Vec<PendingRetry>, StateError>;

    /// Returns the time at which a set's resource was deleted. `None` if no deletion is known, or if it is older than
    /// the inventory that was applied.
    fn gone(&self, set: SetId, uri: &str) -> Result<Option<DateTime>, StateError>;

    /// Returns the next held resources of a set whose deletion is known, in order of URIs.
    fn held_though_gone_after(
        &self,
        set: SetId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeptDeletion>, StateError>;

    /// Returns `true` if a deletion of a resource of a set is recorded.
    fn keeps_deletions(&self, set: SetId) -> Result<bool, StateError>;
}

/// Read access to the Sources that a copy follows, their sets with checkpoints and documents, and the settings of the
/// copy.
pub(crate) trait ReadFollowed {
    /// Returns every set that the copy follows, with its name.
    fn sets(&self) -> Result<Vec<(SetId, String)>, StateError>;

    /// Returns the set of that name; `None` if the copy does not follow it.
    fn known_set(&self, uri: &str) -> Result<Option<SetId>, StateError>;

    /// Returns the number that a new set would get, after `others` that are not recorded either.
    ///
    /// Errors: also if the copy follows as many sets as it can.
    fn free_set(&self, others: usize, uri: &str) -> Result<SetId, StateError> {
        let next = self.sets()?.last().map_or(0, |(last, _)| usize::from(last.0) + 1);
        match u8::try_from(next + others) {
            Ok(free) if free < SetId::MOST => Ok(SetId(free)),
            _ => Err(StateError::TooManySets { uri: uri.to_owned(), most: SetId::MOST }),
        }
    }

    /// Returns the checkpoint of a set; `None` before its first baseline synchronization is complete.
    fn checkpoint(&self, set: SetId) -> Result<Option<Checkpoint>, StateError>;

    /// Returns the time that a copy has reached with some sets: the earliest of their checkpoints. `None` before a
    /// first synchronization.
    fn reached(&self, sets: &[SetId]) -> Result<Option<DateTime>, StateError> {
        let mut least: Option<DateTime> = None;
        for set in sets {
            let reached = self.checkpoint(*set)?.and_then(|checkpoint| checkpoint.datetime);
            least = match (least, reached) {
                (Some(a), Some(b)) if b.instant() < a.instant() => Some(b),
                (a, b) => a.or(b),
            };
        }
        Ok(least)
    }

    /// Returns the identity of a document when it was last read completely.
    fn document(&self, uri: &Uri) -> Result<Option<DocumentRecord>, StateError>;

    /// Returns a setting of the copy itself: the operator's URL, the base, a record.
    fn setting(&self, name: &str) -> Result<Option<String>, StateError>;

    /// Returns the Sources of the copy with their URLs, in the order in which they were added.
    fn sources(&self) -> Result<Vec<(SourceId, String)>, StateError>;

    /// Returns the Source with a URL; `None` if no run has found one there.
    fn source(&self, url: &str) -> Result<Option<SourceId>, StateError>;

    /// Returns the sets of a Source.
    fn sets_of(&self, source: SourceId) -> Result<Vec<SetId>, StateError>;
}

/// Read access to the log: runs and their problems, and the progress after them.
pub(crate) trait ReadLog {
    /// Returns the newest runs, the newest first.
    fn past_runs(&self, most: usize) -> Result<Vec<PastRun>, StateError>;

    /// Returns the last finished run, over one Source or over any, and its problems.
    fn last_ended_run(
        &self,
        of: Option<SourceId>,
    ) -> Result<Option<(LoggedRun, Vec<LoggedProblem>)>, StateError>;

    /// Returns the points since a time, the oldest first, and the last one before it.
    fn reached_since(&self, since: DateTime) -> Result<Vec<ReachedPoint>, StateError>;
}

/// Read access to the rows of objects in object storage that have the bytes of resources.
pub(crate) trait ReadPacks {
    /// Returns the keys of objects that are begun, and that no group has taken over.
    fn begun_packs(&self) -> Result<Vec<Box<str>>, StateError>;

    /// Returns the keys of objects that no resource uses any more.
    fn dead_packs(&self) -> Result<Vec<Box<str>>, StateError>;

    /// Returns the keys of objects of which more than half is unused, but not all.
    fn sparse_packs(&self) -> Result<Vec<Box<str>>, StateError>;

    /// Returns those of the given keys that no row has, not even as begun.
    fn unknown_packs(&self, keys: &[String]) -> Result<Vec<Box<str>>, StateError>;

    /// Returns the number of objects, and their bytes.
    fn pack_totals(&self) -> Result<PackTotals, StateError>;

    /// Returns the kind of a name among the paths of held resources, as in a folder with their files.
    fn kind_at(&self, path: &CopyPath) -> Result<Option<NameKind>, StateError>;

    /// Returns `true` if names should be looked up together, because each query takes a round trip.
    fn foresees_names(&self) -> bool {
        false
    }

    /// Returns free names among the given ones, by the rules of [`Self::kind_at`]. It may not find all of them.
    fn free_names(&self, _: &[&CopyPath]) -> Result<BTreeSet<String>, StateError> {
        Ok(BTreeSet::new())
    }
}

/// Read access to the state of a copy, as the last committed group left it.
pub(crate) trait ReadState:
    ReadHeld + ReadPending + ReadFollowed + ReadLog + ReadPacks + ExportState + fmt::Debug + Send
{
    /// Returns the name of the state for messages: its file, or its URL without a password.
    fn place(&self) -> String;

    /// Returns the most bytes that the URI of a resource may have; `None` if any can be kept.
    fn longest_uri(&self) -> Option<usize> {
        None
    }

    /// Returns another reader of the same state, for another thread.
    fn reader(&self) -> Result<Box<dyn ReadState>, StateError>;

    /// Returns the groups that were under way when the last run ended.
    fn intents(&self) -> Result<Vec<(IntentId, Vec<Operation>)>, StateError>;

    /// Returns the first changes that are not delivered yet, in their order.
    fn changes(&self, limit: usize) -> Result<Vec<CopyChange>, StateError>;
}

/// The setting with the URL whose path is the top of the copy.
pub(crate) const BASE: &str = "base";
