//! Resources that several parts of an inventory name: parts of a long list, lists of an index, or packages of a dump.

use super::Draft;
use crate::{Error, ProblemKind, plan::Desired};

impl Draft {
    /// Leaves one action for each resource that several parts of the inventory name, as within one part: an entry takes
    /// precedence over the target of a link, and of unlike entries the last is tried, which is reported (O1013).
    pub(crate) fn settle_repeated(&mut self) -> Result<(), Error> {
        // Otherwise a later part has replaced the actions of earlier ones.
        if self.inventory.parts < 2 || self.may_hold_earlier {
            return Ok(());
        }
        let mut after = String::new();
        loop {
            let page = self.actions.repeated_after(&after, Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(last);
            for uri in page {
                self.go_on()?;
                self.settle_repeated_one(&uri)?;
            }
        }
    }

    fn settle_repeated_one(&mut self, uri: &str) -> Result<(), Error> {
        let mut actions = self.actions.all_for_uri(uri)?;
        if actions.iter().any(|action| action.desired.is_listed) {
            actions.retain(|action| action.desired.is_listed);
        }
        let Some(last) = actions.pop() else { return Ok(()) };
        if last.desired.is_listed && actions.iter().any(|action| are_unlike(&action.desired, &last.desired)) {
            self.problems.problem(ProblemKind::Entry, uri, Self::LISTED_UNLIKE);
        }
        let removed = self.actions.remove(uri)?;
        self.account.supersede(removed.saturating_sub(1));
        Ok(self.actions.push(&last)?)
    }
}

/// Returns `true` if two entries may mean different bytes: equal digests are those of one state, whatever else they state.
fn are_unlike(one: &Desired, other: &Desired) -> bool {
    let (one, other) = (&one.metadata, &other.metadata);
    one != other && one.digests.agrees_with(&other.digests) != Some(true)
}
