//! The story: baseline, incremental, follow.

mod change_lists;
mod copy;
mod draft;
mod dump;
mod follow;
mod inventory;
mod run;
mod set;
mod transfer;
mod troubles;
mod wanted;

use std::sync::Arc;

use resourcesync::{Capability, Relation, Uri};

use crate::{
    Error, Event, Item, Letter, Monitor, Outcome, Phase, ProblemKind, Strategy, SyncOptions, SyncReport, Via,
    audit::hash::{Hashing, Verdict},
    discover::CapabilitySet,
    error::story,
    http::Origin,
    listen::Listener,
    plan::{Choice, Deletions, Situation, baseline, check_deletions, choose, is_batch_cheaper},
    state::{ActionKind, Checkpoint, SetId},
};
use change_lists::{ChangeLists, is_gone};
pub(crate) use copy::Copy;
pub(crate) use draft::Draft;
use dump::Dump;
pub(crate) use inventory::Inventory;
pub(crate) use run::Run;
pub(crate) use set::SetRun;

/// Makes or refreshes a copy of a Source's resources (§5.2); with [`SyncOptions::follow`] until it is told to end.
///
/// # Errors
/// What ends the whole run; what concerns one resource goes to the monitor and is owed.
pub async fn sync(options: &SyncOptions, monitor: &dyn Monitor) -> Result<SyncReport, Error> {
    if options.follow { follow::follow(options, monitor).await } else { once(options, monitor, None).await }
}

/// Discover, then bring each set in step.
async fn once(
    options: &SyncOptions,
    monitor: &dyn Monitor,
    listener: Option<&mut Listener>,
) -> Result<SyncReport, Error> {
    let mut run = Run::begin(options, monitor)?;
    let result = run.bring_all_in_step(listener).await;
    run.end(result)
}

/// How a set's plan was made.
struct Planned {
    choice: Choice,
    carrier: Carrier,
    /// What holds once the plan is done; none where the checkpoint stays where it is.
    checkpoint: Option<Checkpoint>,
    /// How many resources the inventory has, where one was read.
    inventory: Option<u64>,
}

impl Planned {
    fn nothing(reason: String) -> Self {
        let choice = Choice { strategy: Strategy::Nothing, reason };
        Self { choice, carrier: Carrier::Requests, checkpoint: None, inventory: None }
    }
}

/// What brings the bytes.
#[derive(Debug)]
enum Carrier {
    /// A request for each resource.
    Requests,
    /// The packages of a dump, then requests for what they lack.
    Dump(Dump),
    /// Packages asked for at this URI, then requests for what they lack.
    Batch(Uri, Option<Origin>),
}

/// Where instep's own Source packs resources that are asked for together, and who says so.
fn batch_endpoint(found: &CapabilitySet) -> Option<(Uri, Option<Origin>)> {
    let batch = found.links.iter().find(|link| link.rel.as_str() == Relation::BATCH)?;
    let speaker = found.capability_list.as_ref().and_then(|list| Origin::parse(list.as_str()).ok());
    Some((batch.href.clone(), speaker))
}

impl Run<'_> {
    async fn bring_all_in_step(&mut self, listener: Option<&mut Listener>) -> Result<(), Error> {
        let source = self.discover().await?;
        let mut refused = None;
        if let Some(listener) = listener {
            // Before anything is read, so that nothing falls between.
            listener.listen_to(&source, &self.client);
        }
        for found in &source.sets {
            match self.bring_in_step(found).await {
                // One bad set never costs the others (invariant 10).
                Err(error @ (Error::InvalidDocument { .. } | Error::Unreachable { .. }))
                    if source.sets.len() > 1 =>
                {
                    let name = found.capability_list.as_ref().map_or("", Uri::as_str);
                    self.problem(ProblemKind::Document, name, &story(&error));
                }
                Err(error @ Error::Refused { .. }) if source.sets.len() > 1 => {
                    self.note(&story(&error));
                    refused.get_or_insert(error);
                }
                result => result?,
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Decide, read, fold, guard, fetch, delete, and only then move the checkpoint (invariants 5 and 6). What the guard refuses keeps
    /// nothing else from being done; the run ends with it.
    async fn bring_in_step(&mut self, found: &CapabilitySet) -> Result<(), Error> {
        self.enter(Phase::Reading);
        let id = self.copy.set(found)?;
        if self.options.repair {
            self.find_broken().await?;
        }
        let mut set = self.new_plan(id, true)?;
        let planned = self.plan(found, &mut set).await?;
        self.guard(&mut set, planned.inventory)?;
        let Choice { strategy, reason } = planned.choice;
        if strategy != Strategy::Nothing {
            self.note(&format!("by {strategy}: {reason}"));
        }
        (self.report.strategy, self.report.reason) = (strategy, reason);
        let totals = set.with(|draft| draft.totals())?;
        self.monitor.event(Event::Planned(totals));
        if self.options.dry_run {
            self.tell_plan(&set)?;
            return set.refused.map_or(Ok(()), Err);
        }
        self.report.unchanged += totals.unchanged;
        self.carry_out(found, set, planned.checkpoint, planned.carrier).await?;
        self.report.checkpoint = self.state().checkpoint(id)?.and_then(|held| held.datetime);
        Ok(())
    }

    pub(crate) fn new_plan(&mut self, id: SetId, with_owed: bool) -> Result<SetRun, Error> {
        let mut draft =
            Draft::new(self.state().reader()?, id, self.policy.clone(), self.copy.new_actions()?)?;
        draft.mend(&self.broken);
        if with_owed {
            draft.plan_owed()?;
        }
        Ok(SetRun::new(id, draft))
    }

    /// Held files that are not what the state says: they are fetched again, however current they seem (D44).
    async fn find_broken(&mut self) -> Result<(), Error> {
        self.enter(Phase::Hashing);
        let hashing = Hashing {
            store: Arc::clone(&self.copy.store),
            verify: self.options.verify,
            sample: 1.0,
            shutdown: self.options.shutdown.clone(),
        };
        let mut reader = self.state().reader()?;
        let broken = &mut self.broken;
        hashing
            .run(&mut reader, &mut |held, verdict, _| {
                if matches!(verdict, Verdict::Missing | Verdict::Differs(_)) {
                    broken.insert(held.uri.as_str().to_owned());
                }
                Ok(())
            })
            .await?;
        Ok(())
    }

    /// Changes where they reach back to the checkpoint, else the inventory with the changes since then.
    async fn plan(&mut self, found: &CapabilitySet, set: &mut SetRun) -> Result<Planned, Error> {
        let held = self.state().checkpoint(set.id)?;
        let anew = self.must_look_anew(set.id)?;
        let changes = match &held {
            Some(checkpoint) if !anew => ChangeLists::look(self, found, checkpoint, false).await?,
            _ => None,
        };
        let mut choice = choose(&self.situation(found, held.as_ref(), changes.as_ref(), anew))?;
        if let (Strategy::Changes, Some(changes), Some(checkpoint)) = (choice.strategy, changes, held.clone())
        {
            match changes.read(self, set, checkpoint).await {
                Ok(_) if !set.new_documents => return Ok(Planned::nothing(choice.reason)),
                Ok(checkpoint) => {
                    let carrier = self.carrier_of_changes(found, set)?;
                    return Ok(Planned { choice, checkpoint: Some(checkpoint), inventory: None, carrier });
                }
                // Sources need not keep Change Lists (DST-10).
                Err(error) if is_gone(&error) && self.options.via != Via::Changes => {
                    *set = self.new_plan(set.id, true)?;
                    let reason = format!("a gap: a Change List since then is gone ({error})");
                    choice = Choice { strategy: Strategy::List, reason };
                }
                Err(error) => return Err(error),
            }
        }
        let Some((inventory, dump)) = Inventory::read_any(self, found, set, anew).await? else {
            return Ok(Planned::nothing("the inventory is the one that was applied".to_owned()));
        };
        let checkpoint = inventory.followed_by_changes(self, found, set).await?;
        if self.options.delete && inventory.complete {
            set.work(Draft::infer_deletions).await?;
        }
        let entries = set.with(|draft| draft.entries);
        let checkpoint = inventory.complete.then_some(checkpoint);
        let (choice, carrier) = self.carrier(found, held.as_ref(), set, choice, dump).await?;
        Ok(Planned { choice, checkpoint, inventory: Some(entries), carrier })
    }

    /// The cheapest way for the bytes of a baseline, now that their number is known.
    async fn carrier(
        &mut self,
        found: &CapabilitySet,
        held: Option<&Checkpoint>,
        set: &SetRun,
        choice: Choice,
        dump: Option<Dump>,
    ) -> Result<(Choice, Carrier), Error> {
        let mut situation = self.situation(found, held, None, false);
        situation.resources = Some(set.with(|draft| draft.totals())?.fetches);
        let choice =
            if self.options.via == Via::Cheapest { baseline(&situation, &choice.reason)? } else { choice };
        let carrier = match (choice.strategy, batch_endpoint(found)) {
            (Strategy::Dump, _) => match dump {
                Some(dump) => Carrier::Dump(dump),
                None => Dump::look(self, found).await?.map_or(Carrier::Requests, Carrier::Dump),
            },
            (Strategy::Batch, Some((endpoint, speaker))) => Carrier::Batch(endpoint, speaker),
            _ => Carrier::Requests,
        };
        Ok((choice, carrier))
    }

    fn carrier_of_changes(&self, found: &CapabilitySet, set: &SetRun) -> Result<Carrier, Error> {
        let mut situation = self.situation(found, None, None, false);
        situation.resources = Some(set.with(|draft| draft.totals())?.fetches);
        Ok(match batch_endpoint(found) {
            Some((endpoint, speaker)) if is_batch_cheaper(&situation) => Carrier::Batch(endpoint, speaker),
            _ => Carrier::Requests,
        })
    }

    /// Whether what was applied says nothing about what is wanted now: another selection, deletions that were kept.
    fn must_look_anew(&self, set: SetId) -> Result<bool, Error> {
        Ok(self.options.repair
            || self.options.as_of.is_some()
            || !self.copy.policy_stands(set, self.options)?)
    }

    fn situation(
        &self,
        found: &CapabilitySet,
        held: Option<&Checkpoint>,
        changes: Option<&ChangeLists>,
        anew: bool,
    ) -> Situation {
        Situation {
            via: self.options.via,
            holds: held.is_some(),
            checkpoint: held.and_then(|held| held.datetime),
            changes: changes.map(|changes| changes.reach),
            list: found.get(&Capability::ResourceList).is_some(),
            dump: found.get(&Capability::ResourceDump).is_some(),
            anew: held.is_some() && changes.is_none() && anew,
            batch: batch_endpoint(found).is_some(),
            latency: self.latency,
            transfers: self.options.access.transfers,
            ..Situation::default()
        }
    }

    /// Refuses deletions before anything of a plan is done (D35).
    fn guard(&self, set: &mut SetRun, inventory: Option<u64>) -> Result<(), Error> {
        if !self.options.delete {
            return Ok(());
        }
        let (inferred, totals) = set.with(|draft| (draft.inferred, draft.totals()));
        let planned = totals?.deletions + self.report.deleted;
        let held = self.state().held_count(None)? + self.report.deleted;
        let deletions = match inventory {
            Some(entries) if inferred > 0 || entries == 0 => Deletions::inferred(planned, held, entries),
            _ => Deletions::named(planned, held),
        };
        set.refused = check_deletions(deletions, self.options.max_delete, self.options.allow_empty)
            .err()
            .or(set.refused.take());
        Ok(())
    }

    /// Tells each action of the plan (`-n`).
    fn tell_plan(&mut self, set: &SetRun) -> Result<(), Error> {
        set.each_action(&mut |action| {
            let letter = match action.kind {
                ActionKind::Create => Letter::New,
                ActionKind::Delete => Letter::Gone,
                ActionKind::Update | ActionKind::Check => Letter::Changed,
            };
            let item = Item::new(letter, action.wanted.uri.as_str(), action.wanted.facts.length);
            self.monitor.event(Event::Itemized(item));
        })?;
        self.report.outcome = Outcome::Planned;
        Ok(())
    }
}
