//! Resources that move from one set to another: the Source still lists them, so that their move is no deletion.

use crate::{
    Error,
    discover::CapabilitySet,
    run::{SetRun, SyncRun},
};

impl SyncRun<'_> {
    /// Leaves the resources that a plan deletes to other sets of the run that list them now, whether they are selected or
    /// not (O790): a resource that is not selected would be lost, because no later set fetches it. `sets` are those of the
    /// run, and `number` is the place of the planned one among them.
    pub(super) async fn leave_to_other_sets(
        &mut self,
        set: &SetRun,
        sets: &[CapabilitySet],
        number: usize,
    ) -> Result<(), Error> {
        if sets.len() < 2 || set.with(|draft| draft.totals().deletions) == 0 {
            return Ok(());
        }
        let plans = match self.other_plans.ahead.take() {
            Some(plans) => plans,
            // The state knows which resources earlier sets list, but not in a dry run, which writes nothing.
            None if self.options.dry_run => self.plan_unheard(sets, None).await?,
            None => {
                let planned = self.plan_unheard(&sets[number + 1..], Some(set)).await;
                if matches!(planned, Err(Error::Interrupted)) {
                    self.note_unread_sets(&sets[number]);
                }
                planned?
            }
        };
        for other in plans.iter().filter(|other| other.id != set.id) {
            set.leave_to(other)?;
        }
        self.other_plans.ahead = Some(plans);
        Ok(())
    }

    /// Reports that a run ends before it does anything for a set, because it does not know what later sets list (O949). A run
    /// with as little time ends there again.
    fn note_unread_sets(&self, found: &CapabilitySet) {
        let name = found.name();
        self.reporter.note(&format!(
            "the run ended while the sets after {name} were read, which may list what that one deletes: nothing of it was \
             carried out, and the next run needs the time to read them"
        ));
    }

    /// Returns plans of sets. Nothing is reported about them, because each set is planned again when its turn comes. If a
    /// plan `leaves` its resources to them, none is kept: the state knows afterwards which resources they list.
    async fn plan_unheard(
        &mut self,
        sets: &[CapabilitySet],
        leaves: Option<&SetRun>,
    ) -> Result<Vec<SetRun>, Error> {
        let unheard = self.reporter.unheard();
        let reporter = std::mem::replace(&mut self.reporter, unheard);
        let lacks_versions = self.lacks_versions;
        let planned = self.plan_each(sets, leaves).await;
        (self.reporter, self.lacks_versions) = (reporter, lacks_versions);
        planned
    }

    async fn plan_each(
        &mut self,
        sets: &[CapabilitySet],
        leaves: Option<&SetRun>,
    ) -> Result<Vec<SetRun>, Error> {
        let mut plans = Vec::new();
        for found in sets {
            match (self.plan_ahead(found).await, leaves) {
                // A plan has a file, a reader of the state and their memory, and there may be 63 sets.
                (Ok(plan), Some(set)) => set.leave_to(&plan)?,
                (Ok(plan), None) => plans.push(plan),
                (Err(Error::Interrupted), _) => return Err(Error::Interrupted),
                // The set itself fails in its turn, and is reported then.
                (Err(_), _) => {}
            }
        }
        Ok(plans)
    }

    /// Returns the plan of a set, and records which held resources the set lists.
    async fn plan_ahead(&mut self, found: &CapabilitySet) -> Result<SetRun, Error> {
        let id = self.copy.set(found)?;
        let mut set = self.new_plan(id)?;
        // Boxed, because the futures of a run nest deeply.
        Box::pin(self.plan(found, &mut set)).await?;
        if !self.options.dry_run {
            self.join(&set)?;
        }
        Ok(set)
    }
}
