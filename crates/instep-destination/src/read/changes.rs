//! The changes since a checkpoint, from Change Lists (§12) or from Change Dumps (§13) completed by the lists.

use resourcesync::DateTime;

use super::{
    change_lists::ChangeDocuments,
    kind::ChangeKind,
    passed::{ChangeSeam, LostDocument, ReadChanges},
    unchanged::Unchanged,
};
use crate::{
    Error,
    discover::CapabilitySet,
    plan::{Reach, is_later},
    run::{SetRun, SyncRun},
    state::Checkpoint,
};

/// The listed changes of the Source.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    lists: Option<ChangeDocuments>,
    /// They are read only if the lists do not reach back to the checkpoint.
    dumps: Option<ChangeDocuments>,
    /// The documents that lead to lists or dumps and could not be read.
    pub(crate) lost: Vec<LostDocument>,
}

impl Changes {
    /// Reads the Change Lists, and if they do not reach back to the checkpoint also the Change Dumps.
    ///
    /// # Errors
    /// If nothing further can be read. A document that is missing is no error.
    pub(crate) async fn look(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        checkpoint: &Checkpoint,
        unchanged: Unchanged,
    ) -> Result<Self, Error> {
        let mut changes = Self::default();
        changes.lists = changes.look_at(run, found, ChangeKind::Lists, checkpoint, unchanged).await?;
        if changes.lists_reach() != Some(Reach::Covered) {
            changes.dumps = changes.look_at(run, found, ChangeKind::Dumps, checkpoint, unchanged).await?;
        }
        Ok(changes)
    }

    async fn look_at(
        &mut self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        kind: ChangeKind,
        checkpoint: &Checkpoint,
        unchanged: Unchanged,
    ) -> Result<Option<ChangeDocuments>, Error> {
        match ChangeDocuments::look(run, found, kind, checkpoint, unchanged).await {
            Err(error) if error.loses_document() => {
                self.lost.extend(found.get(&kind.capability()).map(|offer| (offer.uri.clone(), error)));
                Ok(None)
            }
            looked => looked,
        }
    }

    /// Returns the error of the first lost document, if nothing is left to read.
    pub(crate) fn or_lost(mut self) -> Result<Self, Error> {
        if self.are_offered() || self.lost.is_empty() { Ok(self) } else { Err(self.lost.swap_remove(0).1) }
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

    /// Returns the reach of the listed changes; `None` if the Source lists no changes.
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

    /// Returns the time at which the Change Lists begin, if they began at another time when they were read last.
    pub(crate) fn begin_anew(&self, run: &SyncRun<'_>) -> Result<Option<DateTime>, Error> {
        let (begins, before) = self.beginnings(run)?;
        Ok(begins.filter(|begins| Some(*begins) != before))
    }

    /// Returns `true` if the Change Lists begin earlier than when they were read last: they were written anew.
    fn begin_earlier(&self, run: &SyncRun<'_>) -> Result<bool, Error> {
        let (begins, before) = self.beginnings(run)?;
        let is_earlier = |(begins, before): (DateTime, DateTime)| begins.end() <= before.instant();
        Ok(begins.zip(run.believed(before)).is_some_and(is_earlier))
    }

    /// Returns the time at which the Change Lists begin, and that at which they began when they were read last.
    fn beginnings(&self, run: &SyncRun<'_>) -> Result<(Option<DateTime>, Option<DateTime>), Error> {
        let Some(changes) = &self.lists else { return Ok((None, None)) };
        let alone = changes.lists.first().filter(|list| list.member.uri == changes.speaker);
        let begins = match &changes.top {
            Some(index) => index.at,
            None => alone.and_then(|list| list.member.from),
        };
        let before = run.state().document(&changes.speaker)?.and_then(|record| record.at);
        Ok((begins, before))
    }

    /// Folds new changes over the plan. Returns the checkpoint that is valid once the plan is done, and the packages
    /// that were read for it.
    pub(crate) async fn read(
        self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        from: Checkpoint,
    ) -> Result<ReadChanges, Error> {
        let by_dumps = self.dumps_are_better();
        let begin_earlier = self.begin_earlier(run)?;
        let Self { lists, dumps, lost } = self;
        let mut read = match (lists, dumps) {
            (lists, Some(dumps)) if by_dumps => {
                let mut read = dumps.read_packages(run, set, from.clone()).await?;
                match lists {
                    Some(_) if read.complete => read.complete_by_lists(run, found, set).await?,
                    Some(lists) => read.supplement_by_lists(run, set, lists, from).await?,
                    None => {}
                }
                read
            }
            (Some(lists), _) => {
                let mut read = lists.read(run, set, from.clone()).await?;
                if !read.lost.is_empty() {
                    read.supplement_by_dumps(run, found, set, from).await?;
                }
                read
            }
            (None, _) => ReadChanges::without_packages(run, from),
        };
        read.lost.extend(lost);
        let held = run.state().checkpoint(set.id)?.filter(|_| read.lacks_last);
        let is_restored = held.as_ref().is_some_and(|held| is_later(read.checkpoint.datetime, held.datetime));
        if let Some(Checkpoint { document, position, leading, .. }) = held.filter(|_| !is_restored) {
            // Without a later change, a cache may have the former index. The next run must still find that it lacks the list.
            read.checkpoint = Checkpoint { document, position, leading, ..read.checkpoint };
        }
        set.with(|draft| draft.met.rewritten |= begin_earlier || is_restored);
        Ok(read)
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

impl ReadChanges {
    /// Reads the Change Lists from the end of the Change Dumps on, also if they begin later (O451): what they list is
    /// applied, and the gap between the two is noted.
    async fn complete_by_lists(
        &mut self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
    ) -> Result<(), Error> {
        let mut later = Changes::default();
        let lists = later.look_at(run, found, ChangeKind::Lists, &self.checkpoint, Unchanged::Read).await?;
        self.lost.append(&mut later.lost);
        if let Some(lists) = lists {
            self.seam = ChangeSeam::of(self.checkpoint.datetime, lists.reach);
            let mut read = lists.read(run, set, self.checkpoint.clone()).await?;
            self.checkpoint = read.checkpoint;
            self.lacks_last = read.lacks_last;
            self.lost.append(&mut read.lost);
        }
        Ok(())
    }

    /// Reads the Change Lists beside Change Dumps of which a package is lost: they may have its changes, and have later ones.
    /// The checkpoint stays before the lost package, so that the next run reads the lists again.
    async fn supplement_by_lists(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        lists: ChangeDocuments,
        from: Checkpoint,
    ) -> Result<(), Error> {
        let records = set.records.len();
        let mut read = lists.read(run, set, from).await?;
        set.records.truncate(records);
        self.lacks_last = read.lacks_last;
        self.lost.append(&mut read.lost);
        Ok(())
    }

    /// Reads the Change Dumps over the period of the Change Lists, one of which is lost: they may have its content. The
    /// checkpoint stays before the lost list.
    async fn supplement_by_dumps(
        &mut self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        from: Checkpoint,
    ) -> Result<(), Error> {
        let mut beside = Changes::default();
        let dumps = beside.look_at(run, found, ChangeKind::Dumps, &from, Unchanged::Read).await?;
        self.lost.append(&mut beside.lost);
        if let Some(dumps) = dumps {
            let mut read = dumps.read_packages(run, set, from).await?;
            self.lost.append(&mut read.lost);
            self.packages = read.packages;
        }
        Ok(())
    }
}

fn starts_before(one: Option<DateTime>, other: Option<DateTime>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one.instant() < other.instant())
}
