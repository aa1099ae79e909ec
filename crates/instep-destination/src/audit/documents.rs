//! The comparison of a copy with the documents of its Source.

use resourcesync::{DateTime, Uri};

use super::{Audit, rehash::rehash};
use crate::{
    Error, Phase, ProblemKind,
    discover::CapabilitySet,
    draft::Draft,
    error::BesideUrl as _,
    plan::Coverage,
    read::{Changes, Inventory, Unchanged},
    run::{SetRun, SyncRun},
    state::Checkpoint,
};

impl Audit<'_> {
    pub(super) async fn compare_with_documents(&mut self, run: &mut SyncRun<'_>) -> Result<(), Error> {
        let source = run.discover().await?;
        run.reporter.enter(Phase::Reading);
        let (mut complete, mut named, mut plans) = (true, None, Vec::new());
        for (number, found) in (1..).zip(&source.sets) {
            let mut set = match self.begin_set(run, found) {
                // The copy cannot follow more sets than it has, so it holds nothing of this one.
                Err(error @ Error::Usage { .. }) if source.sets.len() > 1 => {
                    run.reporter.problem(ProblemKind::Document, found.name(), &error.beside(found.name()));
                    run.reporter.report.coverage = Some(Coverage::Unknown);
                    complete = false;
                    continue;
                }
                begun => begun?,
            };
            // If the original has several sets, this copy does not record which set a resource came from: a resource
            // is surplus if none of the sets names it.
            let by_origin = self.originals.is_some();
            if let Some(rows) = named.take() {
                set.with(|draft| draft.go_on_from(rows));
            }
            let names_all = !by_origin || (complete && number == source.sets.len());
            complete &= match self.read_set(run, found, &mut set, names_all).await {
                // A set that cannot be read does not prevent the comparison of the others (invariant 10).
                Err(error) if error.loses_document() && source.sets.len() > 1 => {
                    let name = found.capability_list.as_ref().map_or("", Uri::as_str);
                    run.reporter.problem(ProblemKind::Document, name, &error.beside(name));
                    run.reporter.report.coverage = Some(Coverage::Unknown);
                    false
                }
                complete => complete?,
            };
            named = by_origin.then(|| set.with(Draft::take_named));
            run.policy.take_from_limit(set.with(|draft| draft.inventory.selected));
            plans.push(set);
        }
        compare_plans(&plans)?;
        for set in plans {
            rehash(run, &set).await?;
            self.report_plan(&set)?;
            // A plan is kept only if it has actions: the check of files leaves out the resources that it names.
            if set.with(|draft| draft.actions().last())? > 0 {
                self.plans.push(set);
            }
        }
        if self.originals.is_none() {
            self.report.unauditable += run.note_unnamed_sets(&source)?;
        }
        Ok(())
    }

    /// Returns an empty plan for a set.
    fn begin_set(&mut self, run: &mut SyncRun<'_>, found: &CapabilitySet) -> Result<SetRun, Error> {
        let Some((originals, _)) = &mut self.originals else {
            let set = run.copy.set(found)?;
            let set = run.new_plan_without_pending(set)?;
            set.with(Draft::plan_kept_deletions)?;
            return Ok(set);
        };
        run.new_plan_over(&mut **originals, found)
    }

    /// Plans the documents of a set. Returns `true` if they are its complete inventory.
    async fn read_set(
        &mut self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        names_all: bool,
    ) -> Result<bool, Error> {
        let (mut behind_now, mut held) = (None, None);
        // The checkpoint of an original Source is unknown here.
        if self.originals.is_none() {
            (behind_now, held) = (run.time_behind_itself(set.id)?, run.checkpoint(set.id)?);
        }
        let complete = self.read_documents(run, found, set, held.as_ref(), names_all).await?;
        self.cover(run, found, set, behind_now)?;
        Ok(complete)
    }

    async fn read_documents(
        &mut self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        held: Option<&Checkpoint>,
        names_all: bool,
    ) -> Result<bool, Error> {
        if found.has_inventory() {
            // The audit reads the same documents as the next run (O40).
            match read_inventory(run, found, set, held, names_all).await {
                // Like a run, an audit uses everything that can be read (B11).
                Err(error) if error.loses_document() && found.offers_changes() => {
                    let url = run.options.url.clone();
                    run.reporter.problem(ProblemKind::Document, &url, &error.beside(&url));
                    set.coverage = Some(Coverage::Unknown);
                }
                complete => return complete,
            }
        }
        self.read_changes(run, found, set, held).await.map(|()| false)
    }

    /// Takes note of the part of the Source that the documents of a set account for, as the next run reports it (O704).
    fn cover(
        &self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        behind_now: Option<DateTime>,
    ) -> Result<(), Error> {
        let by_origin = self.originals.is_some();
        if !by_origin {
            run.settle_clock_step(set, behind_now)?;
        }
        let coverage = match set.coverage {
            // Other capabilities of the set are unknown (O35).
            _ if found.lost_above.is_some() => Coverage::Unknown,
            Some(coverage) => coverage,
            None if by_origin => Coverage::Unknown,
            None => run.copy.coverage(set.id)?,
        };
        let report = &mut run.reporter.report;
        report.coverage = Some(report.coverage.map_or(coverage, |least| least.least(coverage)));
        Ok(())
    }

    /// Audits the resources that changes name, if the Source has no inventory: others cannot be audited.
    async fn read_changes(
        &mut self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        held: Option<&Checkpoint>,
    ) -> Result<(), Error> {
        let changes = Changes::look(run, found, &Checkpoint::new(), Unchanged::Read).await?.or_lost()?;
        let read = changes.read(run, found, set, Checkpoint::new()).await?;
        run.note_contradictions(set, held, None)?;
        run.reporter.lost_documents(&read.lost);
        let unnamed = set.with(|draft| draft.count_unnamed(None))?;
        run.reporter.note(&format!(
            "there is no inventory: {unnamed} held resources that its changes do not name are compared with the disk only"
        ));
        self.report.unauditable += unnamed;
        Ok(())
    }
}

/// Reads the Source's Resource List, or the manifests of its Resource Dump, and the changes since then. Returns
/// `true` if this is the complete inventory; held resources that neither it nor other documents name are then
/// surplus. `held` is the former progress of the copy.
async fn read_inventory(
    run: &mut SyncRun<'_>,
    found: &CapabilitySet,
    set: &mut SetRun,
    held: Option<&Checkpoint>,
    names_all: bool,
) -> Result<bool, Error> {
    let Some(inventory) = Inventory::read_any(run, found, set, Unchanged::Read).await? else {
        return Ok(false);
    };
    inventory.followed_by_changes(run, found, set, held).await?;
    run.note_contradictions(set, held, inventory.deciding_time())?;
    run.note_doubtful(set, &inventory)?;
    set.inventory = inventory.deciding_time().filter(|_| inventory.complete);
    if inventory.was_applied && held.is_some() {
        // The inventory that a run has applied leaves a doubt as it is.
        let known = run.copy.coverage(set.id)?;
        set.coverage = Some(set.coverage.map_or(known, |coverage| coverage.least(known)));
    }
    if inventory.complete && names_all && set.with(|draft| draft.inventory.unusable) == 0 {
        let at = inventory.deciding_time();
        set.work(move |draft| draft.infer_deletions(at)).await?;
    }
    Ok(inventory.complete)
}

/// Counts resources as a run does: one that a set no longer lists stays while another set lists it (O790), and one that all
/// sets have dropped is deleted (O795).
fn compare_plans(plans: &[SetRun]) -> Result<(), Error> {
    for (number, plan) in plans.iter().enumerate() {
        plan.delete_after(&plans[..number])?;
    }
    for plan in plans.iter().filter(|plan| plan.with(|draft| draft.totals().deletions) > 0) {
        for other in plans.iter().filter(|other| other.id != plan.id) {
            plan.leave_to(other)?;
        }
    }
    Ok(())
}
