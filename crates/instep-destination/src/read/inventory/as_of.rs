//! The state of the Source at a time: from the newest inventory before it and the changes up to it, or from a later
//! inventory whose changes are reverted.

use resourcesync::{Capability, DateTime};

use super::Inventory;
use crate::{
    Error,
    discover::CapabilitySet,
    draft::Draft,
    plan::IndexMember,
    read::{Changes, ReadChanges, Unchanged, archives::archived_lists},
    run::{SetRun, SyncRun},
    state::Checkpoint,
};

impl Inventory {
    /// Plans the newest Resource List that is not later than a time: the current one, or one of the archive. If there
    /// is none, plans the first later one, provided that the changes reach back.
    pub(super) async fn read_as_of(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        as_of: DateTime,
    ) -> Result<Self, Error> {
        let mut lists: Vec<IndexMember> = Vec::new();
        if let Some(archive) = found.get(&Capability::ResourceListArchive) {
            let (archived, lost) = archived_lists(run, found, &archive.uri).await?;
            if let Some(lost) = lost {
                run.reporter.lost_document(&archive.uri, &lost);
            }
            lists = archived;
        }
        if let Some(current) = found.get(&Capability::ResourceList) {
            let document = run.network.open(&current.uri, found.capability_list.as_ref(), None).await?;
            let at = document.and_then(|document| document.header.metadata?.at);
            lists.push(IndexMember { at, ..IndexMember::new(current.uri.clone()) });
        }
        let time = |list: &&IndexMember| list.at.map(|at| at.instant());
        let (begun, later): (Vec<_>, Vec<_>) =
            lists.iter().filter(|list| list.at.is_some()).partition(|list| time(list) < Some(as_of.end()));
        let list = match (begun.into_iter().max_by_key(time), later.into_iter().min_by_key(time)) {
            (Some(list), _) => list,
            (None, Some(list)) if reaches_back(run, found, as_of).await? => {
                run.reporter.note(&format!(
                    "no Resource List of {as_of} or earlier is offered: a later one is used, and the changes since then are reverted"
                ));
                list
            }
            _ => {
                let what = format!(
                    "The Source offers no Resource List of {as_of} or before, and its changes do not reach back to then"
                );
                return Err(Error::Usage { what });
            }
        };
        let document = run.network.open(&list.uri, found.capability_list.as_ref(), None).await?;
        let gone = || Error::NotResourceSync {
            url: list.uri.as_str().to_owned(),
            reasons: vec!["it is gone".to_owned()],
            lacks: None,
        };
        let (inventory, ..) =
            Self::plan(run, list.uri.clone(), document.ok_or_else(gone)?, set, None).await?;
        Ok(inventory)
    }

    /// Reverts the changes between the requested time and a later inventory. Earlier changes describe states that
    /// were replaced since.
    pub(super) async fn taken_back(
        &self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        at: DateTime,
        as_of: DateTime,
    ) -> Result<ReadChanges, Error> {
        let first = run.copy.new_actions()?;
        // A list takes time to write, and may have what changed meanwhile.
        let end = self.completed.filter(|end| end.instant() > at.instant()).unwrap_or(at);
        set.with(|draft| draft.take_back_from(end, first));
        let mut checkpoint = Checkpoint::new();
        checkpoint.datetime = Some(as_of);
        let changes = Changes::look(run, found, &checkpoint, Unchanged::Read).await?.or_lost()?;
        let mut read = changes.read(run, found, set, Checkpoint::new()).await?;
        if !read.lost.is_empty() {
            // A past state that lacks changes would be wrong, so a lost document is an error.
            return Err(read.lost.swap_remove(0).1);
        }
        // So would one that lacks those between the Change Dumps and the Change Lists.
        if read.seam.is_some_and(|seam| seam.begins_before(at)) {
            let what = format!(
                "The Source offers no Resource List of {as_of} or before, and its Change Lists begin after its Change Dumps end"
            );
            return Err(Error::Usage { what });
        }
        set.work(Draft::take_back).await?;
        run.reporter.problems_of(set);
        set.records.clear();
        Ok(ReadChanges { checkpoint, ..read })
    }
}

/// Returns `true` if the changes are complete since a time.
async fn reaches_back(run: &mut SyncRun<'_>, found: &CapabilitySet, time: DateTime) -> Result<bool, Error> {
    let mut checkpoint = Checkpoint::new();
    checkpoint.datetime = Some(time);
    Ok(Changes::look(run, found, &checkpoint, Unchanged::Read).await?.are_complete())
}
