//! The carrier of a plan: the cheapest way to fetch its bytes, chosen when their number is known.

use instep_net::Origin;
use resourcesync::{Capability, Relation};

use crate::{
    Error, ProblemKind, Strategy, Via,
    discover::CapabilitySet,
    error::BesideUrl as _,
    plan::{Choice, Situation, baseline, carrier_of_changes, could_pay},
    read::{ChangeDocuments, ChangeKind, Changes, Dump, PackageList, Unchanged, is_gone},
    run::{SetRun, SyncRun},
    state::Checkpoint,
    transfer::{BatchEndpoint, Carrier},
};

/// The chosen strategy, and the carrier of the bytes.
#[derive(Debug)]
pub(crate) struct ChosenCarrier {
    pub(crate) choice: Choice,
    pub(crate) carrier: Carrier,
}

/// The packages that were found while the documents were read, and that may have the bytes.
pub(super) struct FoundPackages {
    /// The Resource Dump whose manifests served as the inventory.
    pub(super) dump: Option<Dump>,
    /// The packages of the Change Dumps whose manifests served as changes.
    pub(super) changes: PackageList,
}

/// Returns the URL at which instep's own Source packs requested resources, and the origin of the document that names
/// it.
fn batch_endpoint(found: &CapabilitySet) -> Option<BatchEndpoint> {
    let batch = found.links.iter().find(|link| link.rel.as_str() == Relation::BATCH)?;
    let speaker = found.capability_list.as_ref().and_then(|list| Origin::parse(list.as_str()).ok());
    Some(BatchEndpoint { uri: batch.href.clone(), speaker })
}

impl SyncRun<'_> {
    /// Chooses the carrier of a baseline.
    pub(super) async fn carrier(
        &mut self,
        found: &CapabilitySet,
        held: Option<&Checkpoint>,
        set: &SetRun,
        choice: Choice,
        found_packages: FoundPackages,
    ) -> Result<ChosenCarrier, Error> {
        let mut situation = self.situation(found, held, &Changes::default());
        self.count_fetches(&mut situation, set)?;
        // With a Resource List there are several ways, and their costs are known only after it was read.
        let choice = match (self.options.via, choice.strategy) {
            (Via::Cheapest, Strategy::List) => baseline(&situation, &choice.reason)?,
            _ => choice,
        };
        let FoundPackages { dump, changes } = found_packages;
        let changes = if self.options.all_versions && changes.is_empty() {
            self.change_packages(found, &Checkpoint::new()).await?
        } else {
            changes
        };
        let mut packages = vec![changes.newest_first()];
        if choice.strategy == Strategy::Dump {
            let packed = match dump {
                Some(dump) => Some(dump.packages.with_listed(true)),
                None => self.dump_if_readable(found).await?.map(|dump| {
                    // A dump older than the list may have resources that the list no longer names (O38).
                    let times = dump.earliest().zip(set.inventory);
                    let is_as_new = times.is_some_and(|(at, list)| list.instant() <= at.instant());
                    dump.packages.with_listed(is_as_new)
                }),
            };
            packages.extend(packed);
        }
        packages.retain(|list| !list.is_empty());
        let carrier = match (choice.strategy, batch_endpoint(found)) {
            (Strategy::Batch, Some(endpoint)) => Carrier::Batch(endpoint),
            _ if packages.is_empty() => Carrier::Requests,
            _ => Carrier::Packages(packages),
        };
        Ok(ChosenCarrier { choice, carrier })
    }

    /// Chooses the carrier of changes. The bytes for entries of Change Lists may come from a Change Dump.
    pub(crate) async fn carrier_of_changes(
        &mut self,
        found: &CapabilitySet,
        set: &SetRun,
        choice: Choice,
        since: &Checkpoint,
        read: PackageList,
    ) -> Result<ChosenCarrier, Error> {
        let by_dump = |reason| Choice { strategy: Strategy::ChangeDump, reason };
        if !read.is_empty() {
            let carrier = Carrier::Packages(vec![read.newest_first()]);
            return Ok(ChosenCarrier { choice: by_dump(choice.reason), carrier });
        }
        let mut situation = self.situation(found, None, &Changes::default());
        self.count_fetches(&mut situation, set)?;
        let all = self.options.all_versions;
        let packages =
            if all || could_pay(&situation) { self.change_packages(found, since).await? } else { read };
        if all && !packages.is_empty() {
            let reason = format!("{}; the Change Dump has each version", choice.reason);
            return Ok(ChosenCarrier {
                choice: by_dump(reason),
                carrier: Carrier::Packages(vec![packages.newest_first()]),
            });
        }
        let sizes = (!packages.is_empty()).then(|| (packages.len(), packages.stated_bytes()));
        let (choice, carrier) = match (carrier_of_changes(&situation, sizes), batch_endpoint(found)) {
            (Strategy::ChangeDump, _) => {
                let reason = format!("{}; the Change Dump saves requests", choice.reason);
                (by_dump(reason), Carrier::Packages(vec![packages.newest_first()]))
            }
            (Strategy::Batch, Some(endpoint)) => (choice, Carrier::Batch(endpoint)),
            _ => (choice, Carrier::Requests),
        };
        Ok(ChosenCarrier { choice, carrier })
    }

    /// Reads the Resource Dump. If it cannot be read, the resources are requested one by one (B11).
    async fn dump_if_readable(&mut self, found: &CapabilitySet) -> Result<Option<Dump>, Error> {
        match Dump::look(self, found).await {
            Err(error) => self.warn_if_lost(error).map(|()| None),
            dump => dump,
        }
    }

    /// Warns that a dump is lost: without it the resources are requested one by one (B11). Returns any other error.
    fn warn_if_lost(&mut self, error: Error) -> Result<(), Error> {
        if !error.loses_document() {
            return Err(error);
        }
        let url = &self.options.url;
        self.reporter.warn(ProblemKind::Document, url, &error.beside(url));
        Ok(())
    }

    /// Returns the packages of the Change Dumps since a checkpoint; empty if there are no Change Dumps.
    async fn change_packages(
        &mut self,
        found: &CapabilitySet,
        since: &Checkpoint,
    ) -> Result<PackageList, Error> {
        let folder = self.network.documents.folder().to_owned();
        let looked = match ChangeDocuments::look(self, found, ChangeKind::Dumps, since, Unchanged::Read).await
        {
            Ok(Some(dumps)) => dumps.packages(self, since).await,
            Ok(None) => Ok((PackageList::new(&folder), None)),
            Err(error) => Err(error),
        };
        let (packages, lost) = looked.or_else(|error| match error.loses_document() {
            true => Ok((PackageList::new(&folder), Some(error))),
            false => Err(error),
        })?;
        match lost {
            // Nothing else has the former states that are kept (O582, O999).
            Some(error) if self.options.all_versions => {
                let url = &self.options.url;
                self.reporter.problem(ProblemKind::Document, url, &error.beside(url));
                self.lacks_versions |= !is_gone(&error);
            }
            Some(error) => self.warn_if_lost(error)?,
            None => {}
        }
        Ok(packages)
    }

    fn count_fetches(&self, situation: &mut Situation, set: &SetRun) -> Result<(), Error> {
        let totals = set.with(|draft| draft.totals());
        (situation.resources, situation.bytes) = (Some(totals.fetches), Some(totals.bytes));
        Ok(())
    }

    /// Returns the situation on which the choice of the way depends.
    pub(super) fn situation(
        &self,
        found: &CapabilitySet,
        held: Option<&Checkpoint>,
        changes: &Changes,
    ) -> Situation {
        let offers = |capability| found.get(&capability).is_some();
        Situation {
            via: self.options.via,
            holds: held.is_some(),
            checkpoint: held.and_then(|held| held.datetime),
            changes: changes.lists_reach(),
            change_dumps: changes.dumps_reach(),
            offers_changes: found.offers_changes(),
            list: offers(Capability::ResourceList),
            dump: offers(Capability::ResourceDump),
            batch: batch_endpoint(found).is_some(),
            latency: self.network.latency,
            transfers: self.options.access.transfers,
            ..Situation::default()
        }
    }
}
