//! The changes since a checkpoint, from Change Lists (§12) or from Change Dumps (§13) completed by the lists.

use resourcesync::DateTime;

use super::{
    change_lists::{ChangeDocuments, ChangeKind},
    dump::DumpPackage,
};
use crate::{
    Error,
    discover::CapabilitySet,
    plan::Reach,
    run::{SetRun, SyncRun},
    state::Checkpoint,
};

/// The result of reading changes.
#[derive(Debug)]
pub(crate) struct ReadChanges {
    /// The checkpoint that holds once the plan is done. It stays before the first package that was lost.
    pub(crate) checkpoint: Checkpoint,
    /// The packages with the states that were planned, oldest first.
    pub(crate) packages: Vec<DumpPackage>,
    /// `true` if nothing was lost on the way.
    pub(crate) complete: bool,
}

impl ReadChanges {
    /// Returns what came of changes that brought no packages.
    pub(crate) fn without_packages(checkpoint: Checkpoint) -> Self {
        Self { checkpoint, packages: Vec::new(), complete: true }
    }
}

/// The Source's changes, as far as it tells of them.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    lists: Option<ChangeDocuments>,
    /// Looked at only where the lists do not reach back.
    dumps: Option<ChangeDocuments>,
}

impl Changes {
    /// Looks at the Change Lists, and where they do not reach back to the checkpoint at the Change Dumps.
    pub(crate) async fn look(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        checkpoint: &Checkpoint,
        anew: bool,
    ) -> Result<Self, Error> {
        let lists = ChangeDocuments::look(run, found, ChangeKind::Lists, checkpoint, anew).await?;
        let mut changes = Self { lists, dumps: None };
        if changes.lists_reach() != Some(Reach::Covered) {
            changes.dumps = ChangeDocuments::look(run, found, ChangeKind::Dumps, checkpoint, anew).await?;
        }
        Ok(changes)
    }

    pub(crate) fn lists_reach(&self) -> Option<Reach> {
        self.lists.as_ref().map(|lists| lists.reach)
    }

    pub(crate) fn dumps_reach(&self) -> Option<Reach> {
        self.dumps.as_ref().map(|dumps| dumps.reach)
    }

    /// Returns `true` if the Source offers changes.
    pub(crate) fn are_offered(&self) -> bool {
        self.lists.is_some() || self.dumps.is_some()
    }

    /// Returns how far back what is listed reaches. `None` if the Source lists no changes.
    pub(crate) fn reach(&self) -> Option<Reach> {
        let (lists, dumps) = (self.lists_reach(), self.dumps_reach());
        let earlier =
            |one: DateTime, other: DateTime| if other.instant() < one.instant() { other } else { one };
        match (lists, dumps) {
            (Some(Reach::Covered), _) | (_, Some(Reach::Covered)) => Some(Reach::Covered),
            (Some(Reach::Gap { earliest: one }), Some(Reach::Gap { earliest: other })) => {
                Some(Reach::Gap { earliest: earlier(one, other) })
            }
            (gap @ Some(Reach::Gap { .. }), _) | (_, gap @ Some(Reach::Gap { .. })) => gap,
            (one, other) => one.or(other),
        }
    }

    /// Returns `true` if no change since the checkpoint is missing.
    pub(crate) fn are_complete(&self) -> bool {
        [self.lists_reach(), self.dumps_reach()].contains(&Some(Reach::Covered))
    }

    /// Folds what is new over the plan. Gives the checkpoint that holds once the plan is done, and the packages that
    /// were read for it.
    pub(crate) async fn read(
        self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        from: Checkpoint,
    ) -> Result<ReadChanges, Error> {
        let by_dumps = self.dumps_are_better();
        let (lists, dumps) = (self.lists, self.dumps);
        let Some(dumps) = dumps.filter(|_| by_dumps) else {
            let Some(lists) = lists else { return Ok(ReadChanges::without_packages(from)) };
            return Ok(ReadChanges::without_packages(lists.read(run, set, from).await?));
        };
        let ReadChanges { mut checkpoint, packages, complete } = dumps.read_packages(run, set, from).await?;
        // A checkpoint that stays before a lost package is not to pass it by way of a list.
        if complete
            && lists.is_some()
            && let Some(later) =
                ChangeDocuments::look(run, found, ChangeKind::Lists, &checkpoint, true).await?
            && later.reach == Reach::Covered
        {
            checkpoint = later.read(run, set, checkpoint).await?;
        }
        Ok(ReadChanges { checkpoint, packages, complete })
    }

    fn dumps_are_better(&self) -> bool {
        match (&self.lists, &self.dumps) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(lists), Some(dumps)) => {
                dumps.reach == Reach::Covered
                    || lists.reach != Reach::Covered && starts_before(dumps.start(), lists.start())
            }
        }
    }
}

fn starts_before(one: Option<DateTime>, other: Option<DateTime>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one.instant() < other.instant())
}
