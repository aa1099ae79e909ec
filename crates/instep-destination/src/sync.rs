//! The story: baseline, incremental, follow.

mod change_dumps;
mod change_lists;
mod changes;
mod copy;
mod draft;
mod dump;
mod follow;
mod heard;
mod inventory;
mod metadata;
mod run;
mod set;
mod transfer;
mod troubles;
mod versions;
mod wall;
mod wanted;
mod way;

use std::sync::Arc;

use resourcesync::Uri;

use crate::{
    Error, Event, Item, Letter, Monitor, Outcome, Phase, ProblemKind, Strategy, SyncOptions, SyncReport,
    audit::hash::{Hashing, Verdict},
    discover::CapabilitySet,
    error::story,
    listen::Listener,
    plan::{Choice, Deletions, check_deletions},
    state::{ActionKind, SetId, State},
};
pub(crate) use changes::Changes;
pub(crate) use copy::Copy;
pub(crate) use draft::Draft;
pub(crate) use inventory::Inventory;
pub(crate) use run::Run;
pub use run::now;
pub(crate) use set::SetRun;
pub(crate) use versions::resources_held;
use way::Carrier;

/// Makes or refreshes a copy of a Source's resources (§5.2); with [`SyncOptions::follow`] until it is told to end.
///
/// # Errors
/// What ends the whole run; what concerns one resource goes to the monitor and is owed.
pub async fn sync(options: &SyncOptions, monitor: &dyn Monitor) -> Result<SyncReport, Error> {
    if options.follow {
        return follow::follow(options, monitor).await;
    }
    let mut run = Run::begin(options, monitor)?;
    let result = run.bring_all_in_step(None).await;
    run.end(result)
}

impl Run<'_> {
    /// Discover, then bring each set in step.
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
        self.note_versions(&set)?;
        let planned = self.plan(found, &mut set).await?;
        self.choose_by_metadata(&set).await?;
        self.guard(&mut set, planned.inventory)?;
        let Choice { strategy, reason } = planned.choice;
        if strategy != Strategy::Nothing {
            self.note(&format!("by {strategy}: {reason}"));
        }
        (self.report.strategy, self.report.reason) = (strategy, reason);
        let totals = set.with(|draft| draft.totals());
        self.monitor.event(Event::Planned(totals));
        if self.options.dry_run {
            self.report.unchanged += totals.unchanged;
            self.tell_plan(&set)?;
            return set.refused.map_or(Ok(()), Err);
        }
        self.report.unchanged += totals.unchanged;
        self.carry_out(found, set, planned.checkpoint, planned.carrier).await?;
        self.report.checkpoint = self.state().checkpoint(id)?.and_then(|held| held.datetime);
        Ok(())
    }

    /// An empty plan over another state than that of the copy.
    pub(crate) fn new_plan_over(
        &mut self,
        state: &mut State,
        found: &CapabilitySet,
    ) -> Result<SetRun, Error> {
        let id = state.set(found.capability_list.as_ref().map_or("", Uri::as_str))?;
        let draft = Draft::new(state.reader()?, id, self.policy.clone(), self.copy.new_actions()?)?;
        Ok(SetRun::new(id, draft))
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
        let hashed = hashing.begin(self.state().reader()?);
        let broken = &mut self.broken;
        hashed
            .each(&mut |looked| {
                if matches!(looked.verdict, Verdict::Missing | Verdict::Differs(_)) {
                    broken.insert(looked.uri.into());
                }
                Ok(())
            })
            .await?;
        Ok(())
    }

    /// Refuses deletions before anything of a plan is done (D35).
    fn guard(&self, set: &mut SetRun, inventory: Option<u64>) -> Result<(), Error> {
        if !self.options.delete {
            return Ok(());
        }
        let (inferred, totals) = set.with(|draft| (draft.inferred, draft.totals()));
        let planned = totals.deletions + self.report.deleted;
        let held = resources_held(self.state())? + self.report.deleted;
        let deletions = match inventory {
            Some(entries) if inferred > 0 => Deletions::inferred(planned, held, entries),
            _ => Deletions::named(planned, held),
        };
        set.refused = check_deletions(deletions, self.options.max_delete, self.options.allow_empty)
            .err()
            .or(set.refused.take());
        Ok(())
    }

    /// Reports and counts each action of the plan, for a dry run (D5).
    fn tell_plan(&mut self, set: &SetRun) -> Result<(), Error> {
        let (report, monitor) = (&mut self.report, self.monitor);
        set.each_action(&mut |action| {
            let (letter, number) = match action.kind {
                ActionKind::Create => (Letter::New, &mut report.created),
                ActionKind::Delete => (Letter::Gone, &mut report.deleted),
                ActionKind::Update | ActionKind::Check => (Letter::Changed, &mut report.updated),
                ActionKind::Note => return,
            };
            *number += 1;
            let item = Item::new(letter, action.wanted.uri.as_str(), action.wanted.facts.length);
            monitor.event(Event::Itemized(item));
        })?;
        self.report.outcome = Outcome::Planned;
        Ok(())
    }
}
