//! Absence: what a complete inventory implies by what it does not name (invariant 6).

use resourcesync::DateTime;

use super::Draft;
use crate::{
    Error,
    plan::{Desired, is_later, removal},
    state::{Action, ActionKind, Owed},
};

impl Draft {
    /// Plans to delete what is held and no part of the inventory names; the inventory must be complete (invariant 6). What changed
    /// after the time of the inventory is not missing in it.
    pub(crate) fn infer_deletions(&mut self, inventory: Option<DateTime>) -> Result<(), Error> {
        let mut after: Option<String> = None;
        loop {
            let page = self.state.surplus_after(self.set, &self.marks, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.uri.as_str().to_owned());
            for held in page.into_iter().filter(|held| !is_later(held, inventory)) {
                if self.may_hold_earlier {
                    let removed = self.actions.remove(held.uri.as_str())?;
                    self.account.supersede(removed);
                }
                self.inventory.inferred += 1;
                let kind = removal(&held, self.set);
                self.actions.push(&Action::new(kind, Desired::new(held.uri)))?;
            }
        }
    }

    /// Drops what is owed and not named by a complete inventory (B6): the Source has it no more, unless it changed after the time
    /// of the inventory. What is held of it is surplus like any other.
    pub(crate) fn settle_unnamed(&mut self, inventory: Option<DateTime>) -> Result<(), Error> {
        let mut after: Option<String> = None;
        while self.begins_with_owed {
            let page = self.state.owed_after(self.set, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { break };
            after = Some(last.desired.uri.as_str().to_owned());
            for Owed { desired, .. } in page {
                let uri = desired.uri.as_str();
                let is_newer = desired
                    .facts
                    .datetime
                    .zip(inventory)
                    .is_some_and(|(time, at)| at.end() <= time.instant());
                // A document that names it takes its place in the plan, untried.
                let is_untouched =
                    |action: &Action| action.desired.attempts > 0 && action.kind != ActionKind::Delete;
                if !is_newer && self.actions.for_uri(uri)?.as_ref().is_some_and(is_untouched) {
                    self.account.supersede(self.actions.remove(uri)?);
                    self.beside.settled.push(uri.to_owned());
                }
            }
        }
        Ok(())
    }

    /// Counts the held resources that nothing that was read has named, and that did not change after the time of the inventory.
    pub(crate) fn count_unnamed(&self, inventory: Option<DateTime>) -> Result<u64, Error> {
        let (mut count, mut after) = (0, None::<String>);
        loop {
            let page = self.state.surplus_after(self.set, &self.marks, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(count) };
            after = Some(last.uri.as_str().to_owned());
            count += page.iter().filter(|held| !is_later(held, inventory)).count() as u64;
        }
    }
}
