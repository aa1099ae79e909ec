//! The operator's limit among changes: the number of resources that they may still add.

use super::{Draft, merging::PartSource};
use crate::{
    Error,
    plan::{Desired, DesiredPresence, LinksNamed, is_later, plausible, supersedes},
    state::{Action, ActionKind, HeldResource},
};

impl Draft {
    /// Decides about a part of changes within the operator's limit, if there is one.
    pub(super) fn merge_within_limit(&mut self, part: Vec<Desired>, links: LinksNamed) -> Result<(), Error> {
        let Some(most) = self.policy.limit else { return self.merge(part, links, PartSource::Changes, None) };
        if self.inventory.usable > 0 {
            self.count_held_beside_inventory(&part)?;
        } else {
            let (held, returned) = self.count_held_after(&part)?;
            self.inventory.selected = held;
            self.take_back_room(held.saturating_sub(most).min(returned))?;
        }
        let is_cut = self.inventory.is_cut;
        let before = if is_cut { 0 } else { most.saturating_sub(self.inventory.selected) };
        let mut room = before;
        let merged = self.merge(part, links, PartSource::Changes, Some(&mut room));
        self.inventory.selected += before - room;
        merged
    }

    /// Counts the resources that the set will hold without those that a part adds. Without an inventory in the plan, the
    /// limit refers to them. What an earlier list deletes and this part names again makes no room: it stays. Returns also
    /// how many of these there are.
    fn count_held_after(&self, part: &[Desired]) -> Result<(u64, u64), Error> {
        let planned = |kind| self.actions.count_of(kind);
        let mut gone = planned(ActionKind::Delete);
        let (may_return, mut returned) = (gone > 0, 0);
        for desired in part {
            gone += u64::from(self.addition_taken_back(desired)?.is_some());
        }
        for desired in part.iter().filter(|_| self.policy.delete) {
            let is_absent = desired.presence == DesiredPresence::Absent;
            if !is_absent && !may_return {
                continue;
            }
            let uri = desired.uri.as_str();
            let earlier = self.actions.for_uri(uri)?.filter(|action| action.kind == ActionKind::Delete);
            match earlier {
                Some(earlier) => {
                    let returns = !is_absent && supersedes(desired.place(), earlier.desired.place());
                    gone -= u64::from(returns);
                    returned += u64::from(returns);
                }
                None => {
                    let held = if is_absent { self.state.held(uri)? } else { None };
                    gone += u64::from(held.is_some_and(|held| !self.outlasts(&held, desired)));
                }
            }
        }
        let held = self.state.held_in(&[self.set])? + planned(ActionKind::Create);
        Ok((held.saturating_sub(gone), returned))
    }

    /// Leaves out so many of the resources that were added last: they were in the room of others, which return (O288).
    fn take_back_room(&mut self, added: u64) -> Result<(), Error> {
        for Action { desired, .. } in self.actions.last_of_kind(ActionKind::Create, added)? {
            // A pending retry does not count towards the limit.
            if !self.state.is_owed(desired.uri.as_str())? {
                self.exclude(desired.uri.as_str())?;
                self.inventory.selected -= 1;
            }
        }
        Ok(())
    }

    /// Returns `true` if what is held came after a deletion: the resource was created again, and its deletion makes no room.
    fn outlasts(&self, held: &HeldResource, deletion: &Desired) -> bool {
        let changed = plausible(held.metadata.datetime, Some(self.latest_time()));
        deletion.says_when && is_later(changed, deletion.metadata.datetime)
    }

    /// Returns the planned addition that a change takes back: the resource does not come, so another one may.
    fn addition_taken_back(&self, desired: &Desired) -> Result<Option<Action>, Error> {
        if matches!(desired.presence, DesiredPresence::Present | DesiredPresence::Unclear) {
            return Ok(None);
        }
        let earlier = self.actions.for_uri(desired.uri.as_str())?;
        Ok(earlier.filter(|earlier| {
            earlier.kind == ActionKind::Create && supersedes(desired.place(), earlier.desired.place())
        }))
    }

    /// Counts the held resources among changes that no document of the plan named before: they count for the limit as
    /// much as those that the changes add, otherwise each comparison of the complete copy would add others (O61). Those
    /// that count already and go make room, and so do additions that are taken back.
    fn count_held_beside_inventory(&mut self, part: &[Desired]) -> Result<(), Error> {
        for desired in part {
            if let Some(addition) = self.addition_taken_back(desired)? {
                // A pending retry that the inventory does not list did not count towards the limit.
                let counts = addition.desired.is_listed || !self.state.is_owed(desired.uri.as_str())?;
                self.inventory.selected = self.inventory.selected.saturating_sub(u64::from(counts));
            }
            let held = self.state.held(desired.uri.as_str())?;
            let Some(held) = held.filter(|held| !self.named.contains(held.id)) else { continue };
            let counts = self.was_taken_from_limit(&held)?;
            let goes = self.policy.delete && !self.outlasts(&held, desired);
            let selected = &mut self.inventory.selected;
            match desired.presence {
                DesiredPresence::Present | DesiredPresence::Unclear => *selected += u64::from(!counts),
                DesiredPresence::Absent if goes => {
                    *selected = selected.saturating_sub(u64::from(counts));
                }
                DesiredPresence::Absent | DesiredPresence::Excluded => {}
            }
        }
        Ok(())
    }
}
