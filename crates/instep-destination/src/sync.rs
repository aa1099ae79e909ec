//! One run: discover, read, decide, transfer, commit, report.
//!
//! This file defines the order of the steps and adds up their results: `read/` reads documents, `plan/` (by
//! [`decide`](crate::plan::decide)) and `draft/` decide about them, `transfer/` fetches bytes, and `commit/` makes
//! them part of the copy. `follow.rs`, `audit.rs`, `status.rs` and `repair.rs` are beside it.

mod account;
mod beyond;
mod carriers;
mod covering;
mod elsewhere;
mod unnamed;
mod way;

use resourcesync::{DateTime, Uri};

use crate::{
    Error, Event, Item, Letter, Monitor, Outcome, Phase, ProblemKind, SyncOptions, SyncReport,
    discover::CapabilitySet,
    error::{BesideUrl as _, error_chain},
    follow::follow,
    listen::Listener,
    plan::{Choice, Coverage, Deletions, check_deletions},
    run::{LocalCopy, OtherPlans, RunLimits, SetRun, SyncRun},
    state::ActionKind,
    versions::resources_held,
};

/// Makes or updates a copy of a Source's resources (§5.2). With [`SyncOptions::follow`] it runs until
/// [`SyncOptions::shutdown`] is given.
///
/// The future is not `Send`: give it a thread of its own. Dropping it ends the run as a kill would, and the next run
/// resumes; it may find the copy locked for a moment.
///
/// # Errors
/// If the run cannot continue. A problem with one resource is reported to the monitor, and the resource is pending.
pub async fn sync(options: &SyncOptions, monitor: &dyn Monitor) -> Result<SyncReport, Error> {
    if options.follow {
        return follow(options, monitor).await;
    }
    let mut run = SyncRun::begin(options, monitor, RunLimits::of(options), LocalCopy::take)?;
    run.note_other_maps()?;
    let wait_reporter = run.wait_reporter();
    let result = wait_reporter.during(Box::pin(run.bring_all_in_step(None))).await;
    run.end(result)
}

impl SyncRun<'_> {
    /// Discovers the sets, and updates each of them.
    pub(crate) async fn bring_all_in_step(&mut self, listener: Option<&mut Listener>) -> Result<(), Error> {
        let source = self.discover().await?;
        self.copy.expect_known(&source.sets, self.options)?;
        self.copy.found(&source, &self.options.url)?;
        if source.sets.is_empty() && self.copy.unnamed_sets(&source)?.is_empty() {
            return Err(Error::nothing_offered(&self.options.url, "names no set of resources"));
        }
        if self.options.repair {
            self.find_damaged().await?;
        }
        let mut refused = None;
        if let Some(listener) = listener {
            // Channels are opened before anything is read, so that no change is missed in between.
            listener.listen_to(&source, &self.network.client);
        }
        self.other_plans = OtherPlans::default();
        for (number, found) in source.sets.iter().enumerate() {
            match self.bring_in_step(&source.sets, number).await {
                // A set that cannot be read does not prevent copying the others (invariant 10).
                Err(
                    error @ (Error::InvalidDocument { .. } | Error::Unreachable { .. } | Error::Usage { .. }),
                ) if source.sets.len() > 1 => {
                    let name = found.capability_list.as_ref().map_or("", Uri::as_str);
                    self.reporter.problem(ProblemKind::Document, name, &error.beside(name));
                    // The present state of the set is unknown.
                    self.reporter.report.coverage = Some(Coverage::Unknown);
                }
                Err(error @ Error::Refused { .. }) if source.sets.len() > 1 => {
                    self.reporter.note(&error_chain(&error));
                    refused.get_or_insert(error);
                }
                result => result?,
            }
        }
        self.retry_unnamed_sets(&source).await?;
        self.release_shared(&source)?;
        self.forget_ended_sets(&source)?;
        self.note_unnamed_sets(&source)?;
        self.report_beyond_repair()?;
        refused.map_or(Ok(()), Err)
    }

    /// Decides, reads, folds, guards, fetches, deletes, and only then moves the checkpoint (invariants 5 and 6). If
    /// the guard refuses deletions, everything else is still done; the run then ends with the refusal.
    async fn bring_in_step(&mut self, sets: &[CapabilitySet], number: usize) -> Result<(), Error> {
        let found = &sets[number];
        self.reporter.enter(Phase::Reading);
        let id = self.copy.set(found)?;
        let mut set = self.new_plan(id, true)?;
        let planned = self.plan_or_retry(found, &mut set).await?;
        self.choose_by_metadata(&set).await?;
        self.note_limitations(&set);
        set.delete_after(&self.other_plans.before)?;
        self.leave_to_other_sets(&set, sets, number).await?;
        self.guard(&mut set, planned.inventory)?;
        self.report_choice(planned.choice);
        self.account_for(&mut set, planned.inventory.is_some())?;
        let is_renewed = planned.inventory.is_some() || !found.has_inventory() && set.new_documents;
        self.account_for_unusable(&mut set, is_renewed)?;
        if found.lost_above.is_some() {
            // The Capability List could not be read, so other capabilities of the set are unknown (O35).
            self.reporter.report.coverage = Some(Coverage::Unknown);
        }
        if planned.inventory.is_none() {
            self.look_at_older_inventory(found, set.id).await?;
        }
        if self.options.dry_run && self.options.adopt {
            self.leave_out_adoptable(&set).await?;
        }
        let totals = set.with(|draft| draft.totals());
        self.reporter.monitor.event(Event::Planned(totals));
        self.reporter.report.unchanged += totals.unchanged;
        let planned_bytes = &mut self.reporter.report.planned_bytes;
        *planned_bytes = planned_bytes.saturating_add(totals.bytes);
        let selected = set.with(|draft| draft.inventory.selected);
        if self.options.dry_run {
            self.itemize_plan(&set)?;
            self.policy.take_from_limit(selected);
            let refused = set.refused.take();
            self.other_plans.before.push(set);
            return refused.map_or(Ok(()), Err);
        }
        self.carry_out(found, set, planned.checkpoint, planned.carrier).await?;
        self.policy.take_from_limit(selected);
        self.reporter.report.checkpoint = self.state().checkpoint(id)?.and_then(|held| held.datetime);
        Ok(())
    }

    /// Reports the way that was chosen. The note is written once, even if several sets use the same documents for the same
    /// reason.
    fn report_choice(&mut self, Choice { strategy, reason }: Choice) {
        let before = &self.reporter.report;
        let was_noted = (before.strategy, &before.reason) == (strategy, &reason);
        if let Some(documents) = strategy.documents().filter(|_| !was_noted) {
            self.reporter.note(&format!("Using {documents}: {reason}"));
        }
        (self.reporter.report.strategy, self.reporter.report.reason) = (strategy, reason);
    }

    /// Reports the limitations of a site that has only a Sitemap, and versions and targets of links that are left out.
    fn note_limitations(&self, set: &SetRun) {
        let count = set.with(|draft| draft.inventory);
        if count.versions_elsewhere > 0 {
            self.reporter.note(&format!(
                "{} links to versions lead to other hosts: those versions are not kept",
                count.versions_elsewhere
            ));
        }
        if count.links_not_fetched > 0 {
            self.reporter.note(&format!(
                "{} wanted links do not lead to http or https: their targets are not copied",
                count.links_not_fetched
            ));
        }
        let (plain, elsewhere) = (count.plain, count.media_elsewhere);
        if plain > 0 {
            self.reporter.note(
                "a plain Sitemap: it states no digests and no deletions, so bytes count as right when they arrive \
                 whole, and a page that is not listed may still be there",
            );
        }
        if elsewhere > 0 {
            self.reporter.note(&format!(
                "{elsewhere} images and videos of pages lie on other hosts, and are left out"
            ));
        }
    }

    /// Makes the plan of a set. If no document of the set can be fetched, pending resources are still retried
    /// (invariant 5).
    async fn plan_or_retry(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
    ) -> Result<way::Planned, Error> {
        let behind_now = self.time_behind_itself(set.id)?;
        if found.has_inventory() && self.is_ahead(set.id)? {
            // The coverage stays unknown until an inventory is applied, even after the clocks have reached that time
            // (O33).
            self.copy.keep_coverage(set.id, Coverage::Unknown)?;
        }
        if let Some(time) = behind_now {
            // The coverage stays unknown until an inventory of a later time, even if the clock is right again.
            self.copy.keep_coverage(set.id, Coverage::Unknown)?;
            self.copy.keep_clock_step(set.id, time, false)?;
        }
        // Boxed, because the futures of a run nest deeply.
        let planned = Box::pin(self.plan(found, set)).await;
        self.settle_clock_step(set, behind_now)?;
        match planned {
            Err(error) if error.loses_document() && !self.state().owed_after(set.id, None, 1)?.is_empty() => {
                *set = self.new_plan(set.id, true)?;
                let url = &self.options.url;
                self.reporter.problem(ProblemKind::Document, url, &error.beside(url));
                Ok(way::Planned::nothing("no document of the set can be read".to_owned()))
            }
            planned => planned,
        }
    }

    /// Leaves the coverage unknown after the clock of the Source went back, unless an inventory of a later time was read:
    /// a held resource with an earlier time may be older or newer than it (O54). An inventory whose time the clock has
    /// not reached again was made before the clock went back. If a held resource seems to be later than the inventory, the
    /// copy had reached a later time than it knows, by changes without times (O772).
    pub(crate) fn settle_clock_step(
        &mut self,
        set: &mut SetRun,
        behind_now: Option<DateTime>,
    ) -> Result<(), Error> {
        // The lists may show a step back that the clock does not show.
        let Some(behind) = self.copy.clock_step(set.id)?.or(behind_now) else { return Ok(()) };
        let is_now = behind_now.is_some();
        let is_later = |at: &DateTime| behind.end() <= at.instant();
        let later =
            set.inventory.filter(is_later).filter(|_| !set.with(|draft| draft.inventory.has_later_changes));
        if is_now || later.is_none() {
            set.coverage = Some(Coverage::Unknown);
        }
        match later {
            Some(at) => self.copy.keep_clock_step(set.id, at, !is_now),
            None => Ok(()),
        }
    }

    /// Checks the deletions of a plan before any of it is carried out. Refused ones are recorded in `set` (D35).
    pub(crate) fn guard(&self, set: &mut SetRun, inventory: Option<u64>) -> Result<(), Error> {
        if !self.options.delete {
            return Ok(());
        }
        let (inferred, totals) = set.with(|draft| (draft.inventory.inferred, draft.totals()));
        // Deletions of the last day count: many small runs must delete no more than a large one (B18).
        let gone = self.reporter.report.deleted + self.copy.recent_deletions(self.options.max_delete)?;
        let planned = totals.deletions + gone;
        let held = resources_held(self.state())? + gone;
        let deletions = match inventory {
            Some(0) if self.state().held_in(&[set.id])? > 0 => Deletions::inferred(planned, held, 0),
            Some(entries) if inferred > 0 => Deletions::inferred(planned, held, entries),
            _ => Deletions::named(planned, held),
        };
        set.refused = check_deletions(deletions, self.options.max_delete, self.options.allow_empty)
            .err()
            .or(set.refused.take());
        Ok(())
    }

    /// Reports and counts each action of the plan, for a dry run (P5).
    fn itemize_plan(&mut self, set: &SetRun) -> Result<(), Error> {
        let (report, monitor) = (&mut self.reporter.report, self.reporter.monitor);
        set.each_action(&mut |action| {
            let (letter, number) = match action.kind {
                ActionKind::Create => (Letter::New, &mut report.created),
                ActionKind::Delete => (Letter::Gone, &mut report.deleted),
                ActionKind::Update | ActionKind::Check => (Letter::Changed, &mut report.updated),
                ActionKind::Note | ActionKind::Keep | ActionKind::Leave | ActionKind::Owe => return,
            };
            *number += 1;
            let item = Item::new(letter, action.desired.uri.as_str(), action.desired.metadata.length);
            monitor.event(Event::Itemized(item));
        })?;
        self.reporter.report.outcome = Outcome::Planned;
        Ok(())
    }
}
