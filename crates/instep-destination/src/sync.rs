//! One run: discover, read, decide, transfer, commit, report.
//!
//! This file defines the order of the steps and adds up their results: `read/` reads documents, `plan/` (by
//! [`decide`](crate::plan::decide)) and `draft/` decide about them, `transfer/` fetches bytes, and `commit/` makes
//! them part of the copy. `follow.rs`, `audit.rs`, `status.rs` and `repair.rs` are beside it.

mod account;
mod beyond;
mod carriers;
mod clock_step;
mod covering;
mod elsewhere;
mod telling;
mod unnamed;
mod way;

use resourcesync::Uri;

use crate::{
    Error, Monitor, Phase, ProblemKind, SyncOptions, SyncReport,
    discover::CapabilitySet,
    error::{BesideUrl as _, error_chain},
    follow::follow,
    listen::Listener,
    plan::{Coverage, Deletions, check_deletions},
    run::{LocalCopy, OtherPlans, RunLimits, SetRun, SyncRun},
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
        if let Some(listener) = listener {
            // Channels are opened before anything is read, so that no change is missed in between.
            listener.listen_to(&source, &self.network.client);
        }
        self.other_plans = OtherPlans::default();
        let mut refused = None;
        for (number, found) in source.sets.iter().enumerate() {
            match self.bring_in_step(&source.sets, number).await {
                Err(error) if source.sets.len() > 1 => refused = refused.or(self.go_on_after(found, error)?),
                result => result?,
            }
        }
        self.settle_unnamed_sets(&source).await?;
        self.report_beyond_repair()?;
        refused.map_or(Ok(()), Err)
    }

    /// Reports the error that ended the work on one set, which does not prevent copying the others (invariant 10). Returns it
    /// if the run must end with it afterwards: a refusal.
    fn go_on_after(&mut self, found: &CapabilitySet, error: Error) -> Result<Option<Error>, Error> {
        match error {
            Error::InvalidDocument { .. } | Error::Unreachable { .. } | Error::Usage { .. } => {
                let name = found.capability_list.as_ref().map_or("", Uri::as_str);
                self.reporter.problem(ProblemKind::Document, name, &error.beside(name));
                // The present state of the set is unknown.
                self.reporter.report.coverage = Some(Coverage::Unknown);
                Ok(None)
            }
            Error::Refused { .. } => {
                self.reporter.note(&error_chain(&error));
                Ok(Some(error))
            }
            error => Err(error),
        }
    }

    /// Decides, reads, folds, guards, fetches, deletes, and only then moves the checkpoint (invariants 5 and 6). If
    /// the guard refuses deletions, everything else is still done; the run then ends with the refusal.
    async fn bring_in_step(&mut self, sets: &[CapabilitySet], number: usize) -> Result<(), Error> {
        let found = &sets[number];
        self.reporter.enter(Phase::Reading);
        let id = self.copy.set(found)?;
        let mut set = self.new_plan(id)?;
        let planned = self.plan_or_retry(found, &mut set).await?;
        self.choose_by_metadata(&set).await?;
        self.note_limitations(&set);
        if self.options.delete {
            set.delete_after(&self.other_plans.before)?;
        }
        self.leave_to_other_sets(&set, sets, number).await?;
        self.guard(&mut set, planned.inventory)?;
        self.report_choice(planned.choice);
        self.account_for_reading(found, &mut set, planned.inventory).await?;
        if self.options.dry_run {
            return self.end_dry_run(set).await;
        }
        self.report_totals(&set);
        let selected = set.with(|draft| draft.inventory.selected);
        self.carry_out(found, set, planned.checkpoint, planned.carrier).await?;
        self.policy.take_from_limit(selected);
        self.reporter.report.checkpoint = self.state().checkpoint(id)?.and_then(|held| held.datetime);
        Ok(())
    }

    /// Ends a dry run of a set: its plan is reported, and later sets are planned beside it.
    async fn end_dry_run(&mut self, mut set: SetRun) -> Result<(), Error> {
        if self.options.adopt {
            self.leave_out_adoptable(&set).await?;
        }
        self.report_totals(&set);
        self.itemize_plan(&set)?;
        self.policy.take_from_limit(set.with(|draft| draft.inventory.selected));
        let refused = set.refused.take();
        self.other_plans.before.push(set);
        refused.map_or(Ok(()), Err)
    }

    /// Makes the plan of a set. If no document of the set can be fetched, pending resources are still retried
    /// (invariant 5).
    async fn plan_or_retry(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
    ) -> Result<way::Planned, Error> {
        let behind_now = self.note_clock_step(found, set.id)?;
        // Boxed, because the futures of a run nest deeply.
        let planned = Box::pin(self.plan(found, set)).await;
        self.settle_clock_step(set, behind_now)?;
        match planned {
            Err(error) if error.loses_document() && !self.state().owed_after(set.id, None, 1)?.is_empty() => {
                *set = self.new_plan(set.id)?;
                let url = &self.options.url;
                self.reporter.problem(ProblemKind::Document, url, &error.beside(url));
                Ok(way::Planned::nothing("no document of the set can be read".to_owned()))
            }
            planned => planned,
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
}
