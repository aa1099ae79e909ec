//! Which way brings a copy in step, and what brings the bytes.

use resourcesync::{Capability, DateTime, Relation, Uri};

use super::{
    change_lists::{ChangeLists, Kind, is_gone},
    changes::Changes,
    draft::Draft,
    dump::{Dump, DumpPackage},
    inventory::Inventory,
    run::{Run, now},
    set::SetRun,
};
use crate::{
    Error, Strategy, Via,
    discover::CapabilitySet,
    http::Origin,
    plan::{Choice, Situation, baseline, carrier_of_changes, check_age, choose, could_pay},
    state::{Checkpoint, SetId},
};

/// How a set's plan was made.
pub(super) struct Planned {
    pub(super) choice: Choice,
    pub(super) carrier: Carrier,
    /// What holds once the plan is done; none where the checkpoint stays where it is.
    pub(super) checkpoint: Option<Checkpoint>,
    /// How many resources the inventory has, where one was read.
    pub(super) inventory: Option<u64>,
}

impl Planned {
    fn nothing(reason: String) -> Self {
        let choice = Choice { strategy: Strategy::Nothing, reason };
        Self { choice, carrier: Carrier::Requests, checkpoint: None, inventory: None }
    }
}

/// What brings the bytes.
#[derive(Debug)]
pub(super) enum Carrier {
    /// A request for each resource.
    Requests,
    /// The packages of dumps in this order, then requests for what they lack.
    Packages(Vec<DumpPackage>),
    /// Packages asked for at this URI, then requests for what they lack.
    Batch(Uri, Option<Origin>),
}

/// Where instep's own Source packs resources that are asked for together, and who says so.
fn batch_endpoint(found: &CapabilitySet) -> Option<(Uri, Option<Origin>)> {
    let batch = found.links.iter().find(|link| link.rel.as_str() == Relation::BATCH)?;
    let speaker = found.capability_list.as_ref().and_then(|list| Origin::parse(list.as_str()).ok());
    Some((batch.href.clone(), speaker))
}

/// Of several states of a resource the newest is wanted most often.
fn newest_first(mut packages: Vec<DumpPackage>) -> Vec<DumpPackage> {
    packages.reverse();
    packages
}

impl Run<'_> {
    /// Changes where they reach back to the checkpoint, else the inventory with the changes since then.
    pub(super) async fn plan(&mut self, found: &CapabilitySet, set: &mut SetRun) -> Result<Planned, Error> {
        let held = self.state().checkpoint(set.id)?;
        let mut anew = self.must_look_anew(set.id)?;
        let changes = match &held {
            Some(checkpoint) if !anew => Changes::look(self, found, checkpoint, false).await?,
            _ => Changes::default(),
        };
        let mut choice = choose(&self.situation(found, held.as_ref(), &changes, anew))?;
        if matches!(choice.strategy, Strategy::Changes | Strategy::ChangeDump) {
            match self.plan_changes(found, set, (changes, held.clone()), choice).await {
                // Sources need not keep Change Lists (DST-10).
                Err(error) if is_gone(&error) && self.options.via != Via::Changes => {
                    *set = self.new_plan(set.id, true)?;
                    let reason = format!("a gap: a Change List since then is gone ({error})");
                    choice = Choice { strategy: Strategy::List, reason };
                }
                Ok(_) if set.with(|draft| draft.met_a_record) && found.has_inventory() => {
                    *set = self.new_plan(set.id, true)?;
                    let reason = "metadata records changed: what they describe is chosen again".to_owned();
                    choice = Choice { strategy: Strategy::List, reason };
                    anew = true;
                }
                planned => return planned,
            }
        }
        let Some((inventory, dump)) = Inventory::read_any(self, found, set, anew).await? else {
            return Ok(Planned::nothing("the inventory is the one that was applied".to_owned()));
        };
        let (checkpoint, changed) = inventory.followed_by_changes(self, found, set).await?;
        if self.options.delete && inventory.complete {
            set.work(Draft::infer_deletions).await?;
        }
        let entries = set.with(|draft| draft.entries);
        let checkpoint = inventory.complete.then_some(checkpoint);
        let (choice, carrier) = self.carrier(found, held.as_ref(), set, choice, (dump, changed)).await?;
        Ok(Planned { choice, checkpoint, inventory: Some(entries), carrier })
    }

    /// The changes since the checkpoint; all that the Source tells of where it has no inventory and they do not reach back.
    async fn plan_changes(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
        (mut changes, held): (Changes, Option<Checkpoint>),
        choice: Choice,
    ) -> Result<Planned, Error> {
        let since = held.filter(|_| changes.are_complete()).unwrap_or_default();
        if !changes.are_complete() {
            changes = Changes::look(self, found, &since, true).await?;
        }
        let (checkpoint, packages) = changes.read(self, found, set, since.clone()).await?;
        self.refuse_frozen(found, &checkpoint).await?;
        if !set.new_documents {
            return Ok(Planned::nothing(choice.reason));
        }
        let (choice, carrier) = self.carrier_of_changes(found, set, choice, (&since, packages)).await?;
        Ok(Planned { choice, checkpoint: Some(checkpoint), inventory: None, carrier })
    }

    /// Refuses a Source that is frozen, where the operator says when it is (D37). One that tells of no changes may be quiet: then
    /// the time of its inventory counts.
    async fn refuse_frozen(&mut self, found: &CapabilitySet, reached: &Checkpoint) -> Result<(), Error> {
        let max_age = self.options.max_age;
        let times = [reached.datetime, reached.newest].into_iter().flatten();
        let newest = times.max_by_key(DateTime::instant);
        let Err(refused) = check_age(newest.as_ref(), now(), max_age) else { return Ok(()) };
        let Some(offer) = found.get(&Capability::ResourceList) else { return Err(refused) };
        let list = self.open(&offer.uri, found.capability_list.as_ref(), None).await?;
        match list.and_then(|list| list.header.metadata?.at) {
            Some(at) => check_age(Some(&at), now(), max_age),
            None => Err(refused),
        }
    }

    /// The cheapest way for the bytes of a baseline, now that their number is known.
    async fn carrier(
        &mut self,
        found: &CapabilitySet,
        held: Option<&Checkpoint>,
        set: &SetRun,
        choice: Choice,
        (dump, changed): (Option<Dump>, Vec<DumpPackage>),
    ) -> Result<(Choice, Carrier), Error> {
        let mut situation = self.situation(found, held, &Changes::default(), false);
        self.count_fetches(&mut situation, set)?;
        let choice =
            if self.options.via == Via::Cheapest { baseline(&situation, &choice.reason)? } else { choice };
        let changed = match self.options.all_versions && changed.is_empty() {
            true => self.change_packages(found, &Checkpoint::new()).await?,
            false => changed,
        };
        let mut packages = newest_first(changed);
        if choice.strategy == Strategy::Dump {
            let dump = match dump {
                Some(dump) => Some(dump),
                None => Dump::look(self, found).await?,
            };
            packages.extend(dump.into_iter().flat_map(|dump| dump.packages));
        }
        let carrier = match (choice.strategy, batch_endpoint(found)) {
            (Strategy::Batch, Some((endpoint, speaker))) => Carrier::Batch(endpoint, speaker),
            _ if packages.is_empty() => Carrier::Requests,
            _ => Carrier::Packages(packages),
        };
        Ok((choice, carrier))
    }

    /// The cheapest way for the bytes of changes: those that Change Lists tell of may come in a Change Dump.
    pub(super) async fn carrier_of_changes(
        &mut self,
        found: &CapabilitySet,
        set: &SetRun,
        choice: Choice,
        (since, read): (&Checkpoint, Vec<DumpPackage>),
    ) -> Result<(Choice, Carrier), Error> {
        let by_dump = |reason| Choice { strategy: Strategy::ChangeDump, reason };
        if !read.is_empty() {
            return Ok((by_dump(choice.reason), Carrier::Packages(newest_first(read))));
        }
        let mut situation = self.situation(found, None, &Changes::default(), false);
        self.count_fetches(&mut situation, set)?;
        let all = self.options.all_versions;
        let packages = match all || could_pay(&situation) {
            true => self.change_packages(found, since).await?,
            false => Vec::new(),
        };
        if all && !packages.is_empty() {
            let reason = format!("{}; the Change Dump has each version", choice.reason);
            return Ok((by_dump(reason), Carrier::Packages(newest_first(packages))));
        }
        let lengths = packages.iter().filter_map(|package| package.entry.metadata.length);
        let sizes = (!packages.is_empty()).then(|| (packages.len() as u64, lengths.sum()));
        Ok(match (carrier_of_changes(&situation, sizes), batch_endpoint(found)) {
            (Strategy::ChangeDump, _) => {
                let reason = format!("{}; the Change Dump saves requests", choice.reason);
                (by_dump(reason), Carrier::Packages(newest_first(packages)))
            }
            (Strategy::Batch, Some((endpoint, speaker))) => (choice, Carrier::Batch(endpoint, speaker)),
            _ => (choice, Carrier::Requests),
        })
    }

    /// The packages of the Change Dumps since then, where there are any.
    async fn change_packages(
        &mut self,
        found: &CapabilitySet,
        since: &Checkpoint,
    ) -> Result<Vec<DumpPackage>, Error> {
        match ChangeLists::look(self, found, (Kind::Dumps, since), true).await? {
            Some(dumps) => dumps.packages(self, since).await,
            None => Ok(Vec::new()),
        }
    }

    fn count_fetches(&self, situation: &mut Situation, set: &SetRun) -> Result<(), Error> {
        let totals = set.with(|draft| draft.totals());
        (situation.resources, situation.bytes) = (Some(totals.fetches), Some(totals.bytes));
        Ok(())
    }

    /// Whether what was applied says nothing about what is wanted now: another selection, deletions that were kept.
    pub(super) fn must_look_anew(&self, set: SetId) -> Result<bool, Error> {
        Ok(self.options.repair
            || self.options.as_of.is_some()
            || !self.copy.policy_stands(set, self.options)?)
    }

    fn situation(
        &self,
        found: &CapabilitySet,
        held: Option<&Checkpoint>,
        changes: &Changes,
        anew: bool,
    ) -> Situation {
        let offers = |capability| found.get(&capability).is_some();
        Situation {
            via: self.options.via,
            holds: held.is_some(),
            checkpoint: held.and_then(|held| held.datetime),
            changes: changes.lists_reach(),
            change_dumps: changes.dumps_reach(),
            tells_changes: offers(Capability::ChangeList) || offers(Capability::ChangeDump),
            list: offers(Capability::ResourceList),
            dump: offers(Capability::ResourceDump),
            anew: held.is_some() && !changes.are_offered() && anew,
            batch: batch_endpoint(found).is_some(),
            latency: self.latency,
            transfers: self.options.access.transfers,
            ..Situation::default()
        }
    }
}
