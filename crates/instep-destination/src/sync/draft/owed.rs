//! How a plan begins, and begins again.

use super::{Draft, Word};
use crate::{
    Error,
    state::{Action, ActionKind, Owed},
    sync::wanted::Extra,
};

impl Draft {
    /// Forgets what was read: an inventory is read again (D39). What is owed stays.
    pub(crate) fn start_over(&mut self) -> Result<(), Error> {
        self.actions.forget_after(0)?;
        if let Some(versions) = &mut self.versions {
            versions.forget_after(0)?;
        }
        self.marks = self.state.marks()?;
        (self.entries, self.listed, self.unchanged, self.inferred) = (0, 0, 0, 0);
        self.joining.clear();
        self.settled.clear();
        self.spoken = false;
        if self.begins_with_owed { self.plan_owed() } else { Ok(()) }
    }

    /// What is owed comes first (invariant 5).
    pub(crate) fn plan_owed(&mut self) -> Result<(), Error> {
        self.begins_with_owed = true;
        let mut after: Option<String> = None;
        loop {
            let page = self.state.owed_after(self.set, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.wanted.uri.as_str().to_owned());
            self.spoken = true;
            for owed in page {
                self.plan_one_owed(owed)?;
            }
        }
    }

    fn plan_one_owed(&mut self, owed: Owed) -> Result<(), Error> {
        let held = self.state.held(owed.wanted.uri.as_str())?;
        let word = if owed.change == resourcesync::Change::Deleted { Word::Delete } else { Word::Fetch };
        let kind = match (word, held) {
            (Word::Delete, Some(_)) if self.policy.delete => ActionKind::Delete,
            (Word::Delete, _) => {
                self.settled.push(owed.wanted.uri.into_string());
                return Ok(());
            }
            (_, Some(_)) => ActionKind::Update,
            (_, None) => ActionKind::Create,
        };
        let mut wanted = owed.wanted;
        wanted.extra = Extra { attempts: owed.attempts, ..Extra::of(&wanted) }.into_text();
        Ok(self.actions.push(&Action::new(kind, wanted))?)
    }
}
