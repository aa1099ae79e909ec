//! The manifests of a Resource Dump as the inventory, if there is no Resource List or it cannot be read.

use resourcesync::{Capability, DateTime, Uri};

use super::Inventory;
use crate::{
    Error,
    discover::CapabilitySet,
    draft::Draft,
    read::{
        applied::{is_applied, same_instant},
        dump::Dump,
        unchanged::Unchanged,
    },
    records::DocumentNote,
    run::{SetRun, SyncRun},
    state::DocumentRecord,
};

impl Inventory {
    /// Plans the Resource Dump if the Resource List is lost (O17), unless the inventory that was applied may be a later one.
    pub(super) async fn read_dump_instead(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        lost: Error,
    ) -> Result<Option<Self>, Error> {
        let dump = match Dump::look(run, found).await {
            Err(error) if !error.loses_document() => return Err(error),
            Ok(Some(dump)) => dump,
            _ => return Err(lost),
        };
        let list = found.get(&Capability::ResourceList);
        let time_of = |uri: &Uri| -> Result<Option<DateTime>, Error> {
            Ok(run.believed(run.state().document(uri)?.and_then(|record| record.at)))
        };
        let by_list = list.map(|offer| time_of(&offer.uri)).transpose()?.flatten();
        let by_dump = time_of(&dump.uri)?;
        let is_over = |applied: Option<DateTime>, at: DateTime| {
            applied.is_some_and(|applied| at.instant() < applied.instant())
        };
        // A dump may keep an old part from one version to the next, so that only a list is compared with its parts.
        let is_known_to_be_later = match dump.at.zip(dump.earliest()) {
            Some((at, earliest)) if by_list.or(by_dump).is_some() => {
                !is_over(by_list, earliest) && !is_over(by_dump, at)
            }
            _ => run.state().checkpoint(set.id)?.is_none(),
        };
        if !is_known_to_be_later {
            return Err(lost);
        }
        if let Some(offer) = list {
            run.reporter.lost_document(&offer.uri, &lost);
        }
        set.work(Draft::start_over).await?;
        Self::plan_dump(run, set, dump, Unchanged::Read).await
    }

    /// Plans the Resource Dump. `None` if unchanged documents are skipped and it is the one that was applied last: it has the
    /// same time and lists the same packages (O1011).
    pub(super) async fn read_dump(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        unchanged: Unchanged,
    ) -> Result<Option<Self>, Error> {
        let Some(dump) = Dump::look(run, found).await? else {
            let what = "The Source offers neither a Resource List nor a Resource Dump".to_owned();
            return Err(Error::Usage { what });
        };
        Self::plan_dump(run, set, dump, unchanged).await
    }

    async fn plan_dump(
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        mut dump: Dump,
        unchanged: Unchanged,
    ) -> Result<Option<Self>, Error> {
        let mut record = DocumentRecord::new(dump.uri.clone());
        record.at = dump.at;
        let applied = run.read_before(set.id, &dump.uri)?;
        if let Some(applied) = applied.as_ref().filter(|_| unchanged == Unchanged::Skip)
            && same_instant(applied.at, dump.at)
            && dump.lists_the_same(DocumentNote::read(run.state(), applied)?.listing)
        {
            return Ok(None);
        }
        DocumentNote { listing: Some(dump.listing), ..DocumentNote::default() }
            .write(run.state(), &mut record)?;
        let packages = run.network.packages();
        let (mut complete, manifests) = dump.find_contents(run, &packages).await?;
        if !dump.packages.is_empty() && manifests == 0 {
            let what = "none of its packages can be read".to_owned();
            return Err(Error::InvalidDocument { url: dump.uri.as_str().to_owned(), what });
        }
        record.digest = Some(dump.digest);
        let was_applied = is_applied(record.digest, applied.as_ref());
        complete &= dump.read_inventory(run, set, was_applied).await?;
        set.records.push(record);
        let (at, uri) = (dump.at, dump.uri.clone());
        Ok(Some(Self { at, completed: None, complete, uri, dump: Some(dump), was_applied }))
    }
}
