//! Pending: how a plan begins with what is owed, and begins again.

use super::{Draft, InventoryCount};
use crate::{
    Error,
    plan::{Accounting, DesiredPresence, removal},
    state::{Action, ActionKind, Aside, Owed},
};

impl Draft {
    /// Forgets what was read: an inventory is read again (D39). What is owed stays.
    pub(crate) fn start_over(&mut self) -> Result<(), Error> {
        self.actions.forget_after(0)?;
        if let Some(versions) = &mut self.versions {
            versions.forget_after(0)?;
        }
        // New marks forget which committed resources were named: the next reading has to name them itself.
        self.marks = self.state.marks()?;
        (self.inventory, self.account) = (InventoryCount::default(), Accounting::default());
        self.actions.forget_aside_after(0)?;
        self.may_hold_earlier = false;
        if self.begins_with_owed { self.plan_owed() } else { Ok(()) }
    }

    /// Begins with what is owed (invariant 5).
    pub(crate) fn plan_owed(&mut self) -> Result<(), Error> {
        self.begins_with_owed = true;
        let mut after: Option<String> = None;
        loop {
            let page = self.state.owed_after(self.set, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.desired.uri.as_str().to_owned());
            self.may_hold_earlier = true;
            for owed in page {
                self.plan_one_owed(owed)?;
            }
        }
    }

    fn plan_one_owed(&mut self, Owed { desired, .. }: Owed) -> Result<(), Error> {
        self.account.read += 1;
        let held = self.state.held(desired.uri.as_str())?;
        let kind = match (desired.presence, held) {
            (DesiredPresence::Absent, Some(held)) if self.policy.delete => removal(&held, self.set),
            // The file is gone already, or the operator keeps it: either way nothing is pending.
            (DesiredPresence::Absent, held) => {
                if held.is_some() {
                    self.account.excluded += 1;
                } else {
                    self.account.equal += 1;
                }
                self.actions.set_aside(Aside::Settled, desired.uri.as_str())?;
                return Ok(());
            }
            (_, Some(_)) => ActionKind::Update,
            (_, None) => ActionKind::Create,
        };
        self.account.planned += 1;
        Ok(self.actions.push(&Action::new(kind, desired))?)
    }
}
