//! The types of commits: requests and their results.

use std::{io, sync::Arc};

use resourcesync::{Change, DateTime, Uri};
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    map::CopyPath,
    plan::Retrieval,
    state::{
        Checkpoint, DocumentRecord, Owed, ResourceMetadata, SetId, Setting, ShareCounts, SliceFailure,
        SliceLedger, SliceProgress,
    },
    store::{Staged, StoreError},
};

/// A change of the copy or its state that is committed with a group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) enum Commit {
    /// A version of a resource that is verified and staged: it gets its name, and is held.
    File(NewFile),
    /// A file that is in the copy already, read and found to be the version wanted.
    Adopted {
        /// The resource.
        uri: Uri,
        /// Its path.
        path: CopyPath,
        /// Length and digests of the bytes read, and the metadata that the Source states.
        metadata: ResourceMetadata,
        /// The set that holds it.
        set: SetId,
    },
    /// A set drops a resource. Its file is removed if no other set holds it.
    Deletion {
        /// The resource.
        uri: Uri,
        /// The set.
        set: SetId,
        /// The time at which the Source deleted it; `None` if only an inventory implies the deletion.
        datetime: Option<DateTime>,
    },
    /// A resource of a set was deleted at the Source, and stays in the copy.
    Kept {
        /// The resource.
        uri: Uri,
        /// The set.
        set: SetId,
        /// The time at which the Source deleted it.
        datetime: Option<DateTime>,
    },
    /// The held bytes are current; their other metadata is new. Clears an owed entry for it.
    Current {
        /// The resource.
        uri: Uri,
        /// Lastmod, datetime, validator, media type; a value of `None` keeps the present one.
        metadata: ResourceMetadata,
        /// The set that requested it.
        set: SetId,
        /// `true` if the last modification may be that of later bytes too.
        is_racy: bool,
    },
    /// A held resource is current, and these are all its links: they replace the former ones.
    Noted {
        /// The resource.
        uri: Uri,
        /// Its metadata, as for [`Commit::Current`]; an empty list of links means that it has none.
        metadata: ResourceMetadata,
        /// The set that names the links.
        set: SetId,
    },
    /// The resource could not be fetched and is pending, so that the checkpoint may pass it.
    Owed(SetId, Owed),
    /// A resource of a set that is current, so that no later run tries it again.
    Settled(SetId, Uri),
    /// A held resource whose deletion was kept exists again.
    Returned(SetId, Uri),
    /// The new checkpoint of a set. Everything up to it was added before.
    Checkpoint {
        /// The set.
        set: SetId,
        /// The progress of the set.
        checkpoint: Checkpoint,
        /// Settings that hold as of the checkpoint.
        settings: Vec<Setting>,
    },
    /// A document was read to its end, and need not be read again while it is unchanged.
    Document(DocumentRecord),
    /// The outcome of an action of a slice, with the progress of the slice.
    OfSlice(Box<SliceOutcome>),
}

/// The outcome of an action of a slice, and the record of it for the transaction that commits it.
#[derive(Clone, Debug)]
pub(crate) struct SliceOutcome {
    pub(crate) commit: Commit,
    /// The progress of the slice with it.
    pub(crate) progress: SliceProgress,
    /// The counts of the outcome, except for files, which are counted when they are committed.
    pub(crate) counts: ShareCounts,
    /// The reason if the resource could not be fetched, for the run that has the copy.
    pub(crate) failure: Option<SliceFailure>,
}

impl SliceOutcome {
    /// Records the outcome, and returns the commit for it.
    pub(super) fn note_in(self, slices: &mut SliceLedger) -> Commit {
        let Self { commit, progress, counts, failure } = self;
        // The last progress covers all outcomes before it.
        slices.progress.insert(progress.slice, progress);
        slices.counts.add(counts);
        slices.failures.extend(failure);
        commit
    }
}

impl Commit {
    /// Returns the memory that it takes, in commits of usual size.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::File(file) => file.metadata.weight(),
            Self::Adopted { metadata, .. }
            | Self::Current { metadata, .. }
            | Self::Noted { metadata, .. } => metadata.weight(),
            Self::Owed(_, owed) => owed.desired.weight(),
            Self::OfSlice(outcome) => outcome.commit.weight(),
            Self::Deletion { .. }
            | Self::Kept { .. }
            | Self::Settled(..)
            | Self::Returned(..)
            | Self::Checkpoint { .. }
            | Self::Document(_) => 1,
        }
    }
}

/// Commits that are sent together, and the room that they take while they wait.
#[derive(Debug)]
pub(crate) struct CommitBatch {
    /// The commits, in their order.
    pub commits: Vec<Commit>,
    /// The room that they take; it is given back once they are in a group.
    pub _room: OwnedSemaphorePermit,
}

/// A version of a resource that is ready to be committed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct NewFile {
    /// Its URI, without fragment.
    pub uri: Uri,
    /// The path that the mapper gives it.
    pub path: CopyPath,
    /// The bytes.
    pub staged: Staged,
    /// The metadata that the Source states; length and digests are those of the staged bytes.
    pub metadata: ResourceMetadata,
    /// The set that holds it.
    pub set: SetId,
    /// `true` if the plan found that the resource is not held, so that the state need not be read again.
    pub is_new: bool,
    /// `true` if the last modification may be that of later bytes too.
    pub is_racy: bool,
    /// Other ways to get its bytes again than its URI, if something in the copy blocks its place.
    pub retrieval: Option<Box<Retrieval>>,
}

impl NewFile {
    /// Returns a version to commit, of a resource that may be held already.
    pub(crate) fn new(
        uri: Uri,
        path: CopyPath,
        staged: Staged,
        metadata: ResourceMetadata,
        set: SetId,
    ) -> Self {
        Self { uri, path, staged, metadata, set, is_new: false, is_racy: false, retrieval: None }
    }
}

/// The change of one resource in a committed group.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) struct Committed {
    /// The resource.
    pub uri: Uri,
    /// Its present or former path.
    pub path: CopyPath,
    /// The kind of change: created, updated or deleted.
    pub change: Change,
    /// The number of bytes of the file.
    pub length: u64,
}

/// A group that is committed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub(crate) struct Flushed {
    /// The changes that were made, in the order of the requests.
    pub committed: Vec<Committed>,
    /// The resources whose places something in the copy blocks. They are pending now.
    pub refused: Vec<(Uri, StoreError)>,
    /// `true` if bytes that arrived are among what was refused, and not only deletions.
    pub has_unplaced: bool,
    /// The reason why the sink did not receive the changes, which are delivered later. `None` if it received them, or
    /// was not called.
    pub undelivered: Option<io::Error>,
}

/// The remains of a run that was cut off, as the next start found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Recovered {
    /// The number of steps that had been done. The state has them now.
    pub finished: usize,
    /// The number of steps that had not been done. The copy and the state are as before.
    pub undone: usize,
    /// The number of resources whose file is neither the old nor the new version. They will be fetched again.
    pub lost: usize,
}

/// A function that is called before each step of a group. An error stops the group there, so that tests can simulate
/// crashes.
pub(crate) type StepHook = Arc<dyn Fn(Step) -> Result<(), StoreError> + Send + Sync>;

/// The steps of a group, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub(crate) enum Step {
    /// Staged bytes are about to be synced.
    SyncStaged,
    /// The intent is about to be written.
    WriteIntent,
    /// The operation of this place is about to be done.
    Operation(usize),
    /// Names are about to be synced.
    SyncNames,
    /// The state is about to take the group over.
    CommitGroup,
    /// Removed files are about to be discarded.
    Discard,
}

/// A blocked operation.
pub(super) struct Refused {
    pub(super) index: usize,
    pub(super) error: StoreError,
}
