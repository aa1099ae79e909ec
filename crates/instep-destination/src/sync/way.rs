//! Chooses the way that updates a copy, and reads the documents that it needs.
//!
//! If nothing is held: a dump, batches or the list, by their estimated costs. If something is held and the Change
//! Lists reach back to the checkpoint: these, with bytes from the packages of a Change Dump if that is cheaper;
//! otherwise the Change Dumps that reach back, then the entries that lists add to them. A gap is reported; archives
//! are used if they help, otherwise a baseline by difference. For a Source without any inventory all of its changes
//! are read.

use resourcesync::{Capability, DateTime};

use super::carriers::FoundPackages;
use crate::{
    Error, Guard, ProblemKind, Strategy, Via,
    clock::now,
    discover::CapabilitySet,
    error::BesideUrl as _,
    plan::{Choice, Coverage, Reach, Situation, check_age, choose},
    read::{Changes, Inventory, LostDocument, Unchanged, is_gone},
    run::{SetRun, SyncRun},
    state::Checkpoint,
    transfer::Carrier,
};

/// The way that was chosen for a set, and the end of its plan.
pub(super) struct Planned {
    pub(super) choice: Choice,
    pub(super) carrier: Carrier,
    /// The checkpoint after the plan is done; `None` if it does not move.
    pub(super) checkpoint: Option<Checkpoint>,
    /// The number of resources in the inventory, if one was read.
    pub(super) inventory: Option<u64>,
}

impl Planned {
    pub(super) fn nothing(reason: String) -> Self {
        let choice = Choice { strategy: Strategy::Nothing, reason };
        Self { choice, carrier: Carrier::Requests, checkpoint: None, inventory: None }
    }
}

/// The reason to read the inventory of a set, and what is known of its changes by then.
struct InventoryRequest {
    choice: Choice,
    /// The checkpoint before the run.
    held: Option<Checkpoint>,
    /// `true` if the inventory is read even if its documents are unchanged.
    anew: bool,
    /// The listed changes; `None` if they were planned and something is missing in them.
    changes: Option<Changes>,
    /// The documents of changes that could not be read.
    lost: Vec<LostDocument>,
}

/// Prevents a checkpoint from moving back behind applied changes: an inventory may be older than the changes that
/// came after it.
fn stay_at_least(checkpoint: &mut Checkpoint, held: Option<&Checkpoint>) {
    let Some(held) = held.and_then(|held| held.datetime) else { return };
    if checkpoint.datetime.is_some_and(|reached| reached.instant() < held.instant()) {
        checkpoint.datetime = Some(held);
    }
}

/// The time for which a deletion is remembered after no Change List has it any more, in microseconds: 30 days.
const REMEMBERED: i64 = 30 * 86_400 * 1_000_000;

/// Returns the time before which deletions can be forgotten if the Change Lists begin at a time and were read up to another
/// one. No change from before is listed, and the Change Lists of a Source reach back to its inventory, so that nothing
/// names these resources. An inventory that is older than its Change Lists is expected for a while only (O7).
fn forgettable(begins: DateTime, reached: DateTime) -> DateTime {
    let oldest = begins.unix_micros().min(reached.unix_micros());
    DateTime::from_unix_micros(oldest.saturating_sub(REMEMBERED))
}

impl SyncRun<'_> {
    /// Plans changes if they reach back to the checkpoint, otherwise the inventory with the changes since then.
    pub(super) async fn plan(&mut self, found: &CapabilitySet, set: &mut SetRun) -> Result<Planned, Error> {
        if !found.has_inventory() && !found.offers_changes() {
            return Err(Error::nothing_offered(&self.options.url, "offers neither an inventory nor changes"));
        }
        let held = self.checkpoint(set.id)?;
        let mut anew = self.must_look_anew(set.id)? || self.has_usable_activities_again(found)?;
        let mut changes = match &held {
            Some(checkpoint) if !anew => Changes::look(self, found, checkpoint, Unchanged::Skip).await?,
            _ => Changes::default(),
        };
        self.keep_gap(set, changes.reach())?;
        if !found.has_inventory() || self.options.via == Via::Changes {
            changes = changes.or_lost()?;
        }
        let mut choice = choose(&Situation { anew, ..self.situation(found, held.as_ref(), &changes) })?;
        if let Some(reason) = self.reason_to_look_beyond_changes(found, set.id, &choice)? {
            choice = Choice { strategy: Strategy::List, reason: reason.to_owned() };
        }
        let mut lost = Vec::new(); // A newer inventory may make up for them, so they are reported later (B11).
        let request = if matches!(choice.strategy, Strategy::Changes | Strategy::ChangeDump) {
            let planned = self.plan_changes(found, set, changes, held.clone(), choice, &mut lost).await?;
            self.note_contradictions(set, held.as_ref(), None)?;
            let Some(reason) = self.reason_for_inventory(found, set, &lost) else {
                self.reporter.lost_documents(&lost);
                return Ok(planned);
            };
            anew |= lost.is_empty() && set.with(|draft| draft.met.record);
            *set = self.new_plan(set.id)?;
            let choice = Choice { strategy: Strategy::List, reason };
            InventoryRequest { choice, held, anew, changes: None, lost }
        } else {
            InventoryRequest { choice, held, anew, changes: Some(changes), lost }
        };
        self.plan_inventory(found, set, request).await
    }

    /// Plans the inventory with the changes since then; without an inventory, the listed changes.
    async fn plan_inventory(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
        request: InventoryRequest,
    ) -> Result<Planned, Error> {
        let InventoryRequest { choice, held, anew, changes, mut lost } = request;
        // If a set has no checkpoint its inventory is read again, even if its documents are unchanged (O416).
        let unchanged = Unchanged::read_if(anew || held.is_none());
        let inventory = match Inventory::read_any(self, found, set, unchanged).await {
            Err(error) if self.options.via == Via::Cheapest && error.loses_document() => {
                return self.plan_without_inventory(found, set, held.unwrap_or_default(), error).await;
            }
            Err(error @ Error::Refused { guard: Guard::TimeWentBack, .. }) => {
                self.copy.note_older_inventory(set.id)?;
                return Err(error);
            }
            read => read?,
        };
        self.copy.settle_older_inventory(set.id)?;
        let Some(inventory) = inventory else {
            return self.plan_listed(found, set, changes, held.unwrap_or_default()).await;
        };
        // Sources need not keep Change Lists (DST-10), and the inventory is later than a list that was refused.
        lost.retain(|(_, error)| error.loses_document() && !is_gone(error));
        lost.extend(changes.into_iter().flat_map(|changes| changes.lost));
        self.reporter.lost_documents(&lost);
        let mut read = inventory.followed_by_changes(self, found, set, held.as_ref()).await?;
        self.note_contradictions(set, held.as_ref(), inventory.deciding_time())?;
        self.keep_gap(set, None)?;
        self.infer(set, &inventory).await?;
        let entries = set.with(|draft| draft.inventory.usable);
        if self.options.as_of.is_none() {
            stay_at_least(&mut read.checkpoint, held.as_ref());
            let newest = set.with(|draft| draft.inventory.newest);
            let is_former = set.with(|draft| draft.history.has_former_inventory);
            set.last_gap_end = inventory.last_gap_end(found, held.as_ref(), newest).filter(|_| !is_former);
        }
        set.inventory = inventory.deciding_time().filter(|_| inventory.complete);
        let is_settled = self.options.as_of.is_some() || self.settles(set, &inventory, &read, anew)?;
        let checkpoint = (inventory.complete && is_settled).then_some(read.checkpoint);
        let packages = FoundPackages { dump: inventory.dump, changes: read.packages };
        let way = self.carrier(found, held.as_ref(), set, choice, packages).await?;
        Ok(Planned { choice: way.choice, checkpoint, inventory: Some(entries), carrier: way.carrier })
    }

    /// Plans the conclusions from a complete inventory: resources that it does not name are no longer pending, and are
    /// deleted.
    async fn infer(&self, set: &SetRun, inventory: &Inventory) -> Result<(), Error> {
        if !inventory.complete {
            return Ok(());
        }
        // An entry that could not be used may be that of a resource that seems to be missing.
        let unusable = set.with(|draft| draft.inventory.unusable);
        if unusable > 0 {
            self.reporter.note(&format!(
                "entries of the inventory that could not be used: {unusable}; nothing is deleted for not being listed"
            ));
            return Ok(());
        }
        let at = inventory.deciding_time();
        set.work(move |draft| {
            draft.settle_unnamed(at)?;
            draft.infer_deletions(at)
        })
        .await
    }

    /// Plans the listed changes if the inventory is missing (B11). The checkpoint stays, so that the next run looks
    /// for the inventory again.
    async fn plan_without_inventory(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
        held: Checkpoint,
        lost: Error,
    ) -> Result<Planned, Error> {
        *set = self.new_plan(set.id)?;
        let changes = Changes::look(self, found, &held, Unchanged::Read).await?;
        if !changes.are_offered() {
            return Err(lost);
        }
        let url = &self.options.url;
        self.reporter.problem(ProblemKind::Document, url, &lost.beside(url));
        let read = changes.read(self, found, set, held.clone()).await?;
        self.reporter.lost_documents(&read.lost);
        set.coverage = Some(Coverage::Unknown);
        let reason = "the inventory is lost: the changes that are listed are applied".to_owned();
        let choice = Choice { strategy: Strategy::Changes, reason };
        let way = self.carrier_of_changes(found, set, choice, &held, read.packages).await?;
        Ok(Planned { choice: way.choice, checkpoint: None, inventory: None, carrier: way.carrier })
    }

    /// Plans the changes listed after an inventory that was already applied, even if they do not reach back to the
    /// checkpoint, or if another way was requested.
    async fn plan_listed(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
        changes: Option<Changes>,
        held: Checkpoint,
    ) -> Result<Planned, Error> {
        let applied = || "the inventory is the one that was applied".to_owned();
        let changes = match changes {
            Some(changes) => changes,
            None => Changes::look(self, found, &held, Unchanged::Skip).await?,
        };
        let Some(reach) = changes.reach() else {
            self.reporter.lost_documents(&changes.lost);
            return Ok(Planned::nothing(applied()));
        };
        let read = changes.read(self, found, set, held.clone()).await?;
        self.note_contradictions(set, Some(&held), None)?;
        self.reporter.lost_documents(&read.lost);
        self.refuse_frozen(found, &read.checkpoint).await?;
        let reach = self.cover(set, reach, &read)?;
        if let Reach::Gap { earliest } = reach {
            self.reporter.note(&format!("a gap: what changed before {earliest} is not listed any more"));
        }
        if !set.new_documents {
            return Ok(Planned::nothing(applied()));
        }
        let choice =
            Choice { strategy: Strategy::Changes, reason: format!("{}; changes are listed", applied()) };
        let way = self.carrier_of_changes(found, set, choice, &held, read.packages).await?;
        Ok(Planned {
            choice: way.choice,
            checkpoint: Some(read.checkpoint),
            inventory: None,
            carrier: way.carrier,
        })
    }

    /// Plans the changes since the checkpoint, or all listed changes if the Source has no inventory and they do not
    /// reach back.
    async fn plan_changes(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
        mut changes: Changes,
        held: Option<Checkpoint>,
        choice: Choice,
        lost: &mut Vec<LostDocument>,
    ) -> Result<Planned, Error> {
        let since = held.filter(|_| changes.are_complete()).unwrap_or_default();
        if !changes.are_complete() {
            changes = Changes::look(self, found, &since, Unchanged::Read).await?.or_lost()?;
        }
        let reach = changes.reach().unwrap_or(Reach::Unknown);
        let begins =
            changes.begin_anew(self)?.filter(|_| reach == Reach::Covered && self.options.as_of.is_none());
        let mut read = self.read_new(found, set, changes, since.clone()).await?;
        self.refuse_frozen(found, &read.checkpoint).await?;
        self.cover(set, reach, &read)?;
        lost.append(&mut read.lost);
        if !set.new_documents {
            return Ok(Planned::nothing(choice.reason));
        }
        let reached = self.believed(read.checkpoint.datetime);
        set.forgets_before = begins
            .zip(reached)
            .filter(|_| lost.is_empty() && !found.lacks_changes)
            .map(|(begins, reached)| forgettable(begins, reached));
        let way = self.carrier_of_changes(found, set, choice, &since, read.packages).await?;
        Ok(Planned {
            choice: way.choice,
            // It stays before changes that may be missing (O786).
            checkpoint: (!found.lacks_changes).then_some(read.checkpoint),
            inventory: None,
            carrier: way.carrier,
        })
    }

    /// Refuses a Source that has stopped changing, if the operator set a limit (D37). For a Source without new
    /// changes the time of its inventory counts.
    async fn refuse_frozen(&mut self, found: &CapabilitySet, reached: &Checkpoint) -> Result<(), Error> {
        let max_age = self.options.max_age;
        let times = [reached.datetime, reached.newest].into_iter().flatten();
        let newest = times.max_by_key(DateTime::instant);
        let Err(refused) = check_age(newest.as_ref(), now(), max_age) else { return Ok(()) };
        let Some(offer) = found.get(&Capability::ResourceList) else { return Err(refused) };
        let list = self.network.open(&offer.uri, found.capability_list.as_ref(), None).await?;
        match list.and_then(|list| list.header.metadata?.at) {
            Some(at) => check_age(Some(&at), now(), max_age),
            None => Err(refused),
        }
    }
}
