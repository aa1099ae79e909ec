//! The result of reading changes: the checkpoint that it leads to, and the documents that were lost.

use resourcesync::{DateTime, Uri};

use super::packages::PackageList;
use crate::{
    Error,
    plan::{Reach, Shape, plausible},
    run::{SetRun, SyncRun},
    state::Checkpoint,
};

/// A document that cannot be fetched or read, and the reason.
pub(crate) type LostDocument = (Uri, Error);

/// The result of reading changes.
#[derive(Debug)]
pub(crate) struct ReadChanges {
    /// The checkpoint that holds once the plan is done. It stays before the first list or package that was lost.
    pub(crate) checkpoint: Checkpoint,
    /// The packages with the states that were planned, oldest first.
    pub(crate) packages: PackageList,
    /// `true` if no package was lost, and not all documents that lead to changes.
    pub(crate) complete: bool,
    /// The lists that were lost, and the documents that lead to lists and were lost.
    pub(crate) lost: Vec<LostDocument>,
    /// `None` if no change can be missing between Change Dumps and the Change Lists that were read after them.
    pub(crate) seam: Option<ChangeSeam>,
    /// `true` if the Change Lists are those from before the list that was read last (O768).
    pub(super) lacks_last: bool,
}

/// The place between Change Dumps and Change Lists at which changes may be missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeSeam {
    /// The end of the Change Dumps.
    begins: Option<DateTime>,
    /// The reach of the Change Lists relative to that.
    reach: Reach,
}

impl ChangeSeam {
    /// Returns the seam between Change Dumps that end at a time and Change Lists; `None` if the lists reach back to it.
    pub(super) fn of(begins: Option<DateTime>, reach: Reach) -> Option<Self> {
        (reach != Reach::Covered).then_some(Self { begins, reach })
    }

    /// Returns `true` if a change from before a time may be missing.
    pub(super) fn begins_before(self, time: DateTime) -> bool {
        self.begins.is_none_or(|begins| begins.instant() < time.instant())
    }
}

impl ReadChanges {
    /// Returns the result of changes that have no packages.
    pub(crate) fn without_packages(run: &SyncRun<'_>, checkpoint: Checkpoint) -> Self {
        let packages = PackageList::new(run.network.documents.folder());
        Self { checkpoint, packages, complete: true, lost: Vec::new(), seam: None, lacks_last: false }
    }

    /// Takes note that a list is lost.
    pub(super) fn lose(&mut self, set: &SetRun, uri: Uri, error: Error) {
        set.with(|draft| draft.met.doubtful |= draft.met.undated);
        self.lost.push((uri, error));
    }

    /// Returns the reach of everything that was read, if `first` is that of the documents that were read first.
    pub(crate) fn reach(&self, first: Reach) -> Reach {
        match (first, self.seam) {
            (Reach::Unknown, _) | (_, None) => first,
            (_, Some(seam)) => seam.reach,
        }
    }

    /// Returns `true` if nothing of the changes was lost.
    pub(crate) fn is_whole(&self) -> bool {
        self.complete && self.lost.is_empty()
    }
}

/// A list or a manifest that was read to its end.
pub(super) struct Passed {
    pub(super) uri: Uri,
    pub(super) from: Option<DateTime>,
    pub(super) until: Option<DateTime>,
    pub(super) shape: Shape,
    /// The latest time that the document can state. Later times are ignored (D38).
    pub(super) latest: DateTime,
}

impl Passed {
    /// Moves a checkpoint to the end of the part that was read.
    pub(super) fn advance(self, checkpoint: &mut Checkpoint) {
        let Self { uri, from, until, shape, latest } = self;
        for time in
            [from, until, shape.times.newest].into_iter().filter_map(|time| plausible(time, Some(latest)))
        {
            if checkpoint.datetime.is_none_or(|held| held.instant() < time.instant()) {
                checkpoint.datetime = Some(time);
            }
        }
        checkpoint.newest = checkpoint.newest.max(checkpoint.datetime);
        checkpoint.document = Some(uri);
        checkpoint.position = shape.entries;
        checkpoint.leading = Some(shape.leading);
        checkpoint.last = None;
    }
}
