//! The manifests of a Resource Dump as the inventory: where there is no Resource List, or that is lost.

use resourcesync::{Capability, DateTime};

use super::Inventory;
use crate::{
    Error,
    discover::CapabilitySet,
    draft::Draft,
    read::{
        applied::{is_applied, same_instant},
        dump::Dump,
    },
    run::{SetRun, SyncRun},
    state::DocumentRecord,
};

impl Inventory {
    /// Plans the Resource Dump if the Resource List is lost (B11), unless the copy is of a later state.
    pub(super) async fn read_dump_instead(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        held: Option<DateTime>,
        lost: Error,
    ) -> Result<Option<Self>, Error> {
        let dump = match Dump::look(run, found).await {
            Err(error) if !error.loses_document() => return Err(error),
            Ok(Some(dump)) => dump,
            _ => return Err(lost),
        };
        let is_behind = held.is_some_and(|held| dump.at.is_none_or(|at| at.instant() < held.instant()));
        let is_known = run.state().checkpoint(set.id)?.is_some() && held.is_none();
        if is_behind || is_known {
            return Err(lost);
        }
        if let Some(offer) = found.get(&Capability::ResourceList) {
            run.reporter.lost_document(&offer.uri, &lost);
        }
        set.work(Draft::start_over).await?;
        Self::plan_dump(run, set, dump, true).await
    }

    /// Plans the Resource Dump. None where it is the one that was applied, unless `anew`.
    pub(super) async fn read_dump(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        anew: bool,
    ) -> Result<Option<Self>, Error> {
        let Some(dump) = Dump::look(run, found).await? else {
            let what = "The Source offers neither a Resource List nor a Resource Dump".to_owned();
            return Err(Error::Usage { what });
        };
        Self::plan_dump(run, set, dump, anew).await
    }

    async fn plan_dump(
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        mut dump: Dump,
        anew: bool,
    ) -> Result<Option<Self>, Error> {
        let mut record = DocumentRecord::new(dump.uri.clone());
        record.at = dump.at;
        let applied = run.state().document(&dump.uri)?;
        if !anew && same_instant(applied.as_ref().and_then(|record| record.at), dump.at) {
            return Ok(None);
        }
        let packages = run.network.packages();
        let complete = dump.find_contents(run, &packages).await?;
        record.digest = Some(dump.digest().await?);
        let was_applied = is_applied(record.digest, applied.as_ref());
        dump.read_inventory(run, set, was_applied).await?;
        set.records.push(record);
        Ok(Some(Self { at: dump.at, complete, uri: dump.uri.clone(), dump: Some(dump), was_applied }))
    }
}
