//! Drafting: merges desired states with the held resources, a part at a time, into the actions of a plan
//! ([`decide`]).
//!
//! A draft runs on threads that may block. It holds one part of a document in memory, for documents of any size. The
//! plan is rows of a file that is removed with the run; after a kill the next run drafts a new plan.

mod absence;
mod awaited;
mod beside;
mod changes;
mod ending;
mod findings;
mod history;
mod inventory_count;
mod keeping;
mod kept;
mod later;
mod limit;
mod links;
mod list;
mod merging;
mod other_sets;
mod pending;
mod problems;
mod repeated;
mod scope;
mod undo;

use std::sync::Arc;

use instep_net::{Origin, Scope};
use resourcesync::{DateTime, Relation};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, LastmodTrust, PlanTotals,
    clock::Clocks,
    plan::{Accounting, Condition, Desired, Selection},
    state::{Action, ActionKind, Actions, Owed, ReadState, RowSet, SetId},
};
pub(crate) use awaited::Awaited;
use beside::BesidePlan;
use findings::ChangeFindings;
use history::SetHistory;
use inventory_count::InventoryCount;
pub(crate) use problems::Problems;

/// The operator's decisions about the plan.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) selection: Selection,
    pub(crate) scope: Scope,
    pub(crate) limit: Option<u64>,
    /// Changes after this time are passed over.
    pub(crate) as_of: Option<DateTime>,
    /// Relations whose targets are wanted too.
    pub(crate) with_links: Vec<Relation>,
    pub(crate) delete: bool,
    pub(crate) lastmod: LastmodTrust,
    /// The condition that the metadata records of wanted resources must meet.
    pub(crate) condition: Option<Condition>,
    /// Media types of alternate representations, the preferred first.
    pub(crate) prefer_types: Vec<String>,
}

impl Policy {
    /// Counts the selected resources of a set that is read: the limit is about the copy, not about each of its sets
    /// (A10).
    pub(crate) fn take_from_limit(&mut self, selected: u64) {
        self.limit = self.limit.map(|most| most.saturating_sub(selected));
    }
}

/// The plan of one run over one set of resources, while it is made.
#[derive(Debug)]
pub(crate) struct Draft {
    state: Box<dyn ReadState>,
    set: SetId,
    policy: Policy,
    /// Times of held or pending resources that are later than all of these clocks are ignored (O33).
    clocks: Clocks,
    /// The past of the set.
    pub(crate) history: SetHistory,
    /// Ends the reading of a long document.
    stop: CancellationToken,

    actions: Actions,
    beside: BesidePlan,
    begins: PlanStart,
    /// `true` if the plan may hold an earlier action for the resource of an entry.
    may_hold_earlier: bool,
    /// `true` while changes are read only for resources that earlier plans left out, or changes that earlier lists lacked.
    pub(crate) seeks_left_out: bool,
    /// The origin and the beginning of a URI that was found in its scope: the next entry usually has the same
    /// beginning.
    in_scope: Option<(Origin, String)>,
    /// The held resources that the inventory names.
    named: RowSet,
    /// Held resources whose files are missing or differ from the state.
    damaged: Arc<RowSet>,

    /// Actions whose outcome is that of another action for the same resource.
    pub(crate) repeated: u64,
    pub(crate) inventory: InventoryCount,
    pub(crate) account: Accounting,
    pub(crate) met: ChangeFindings,
    pub(crate) awaited: Awaited,
    pub(crate) problems: Problems,
}

/// The rows that a plan begins with: it has them again when it starts over.
#[derive(Clone, Copy, Debug, Default)]
struct PlanStart {
    /// `true` if it begins with the owed entries.
    with_owed: bool,
    /// `true` if it begins with the deletions that were kept.
    with_kept: bool,
}

impl Draft {
    /// Entries held in memory at a time. Parts are merged on any free thread, and each thread keeps the memory of its
    /// largest part: with 20,000 a run over a million resources used 130 MB.
    const PART: usize = 2_000;
    /// Entries held in memory at a time of a list with the newest change first: such lists are short.
    const PART_OF_NEWEST: usize = 100_000;
    /// Rows read at a time.
    const PAGE: usize = 1_000;

    /// Begins an empty plan.
    pub(crate) fn new(
        state: Box<dyn ReadState>,
        set: SetId,
        policy: Policy,
        actions: Actions,
        clocks: Clocks,
    ) -> Result<Self, Error> {
        let (history, named) = (SetHistory::read(&*state, set)?, state.named()?);
        Ok(Self {
            state,
            set,
            policy,
            clocks,
            history,
            stop: CancellationToken::new(),
            actions,
            beside: BesidePlan::default(),
            begins: PlanStart::default(),
            may_hold_earlier: false,
            seeks_left_out: false,
            in_scope: None,
            named,
            damaged: Arc::new(RowSet::empty()),
            repeated: 0,
            inventory: InventoryCount::default(),
            account: Accounting::default(),
            met: ChangeFindings::default(),
            awaited: Awaited::default(),
            problems: Problems::default(),
        })
    }

    /// Returns the actions, in order.
    pub(crate) fn actions(&self) -> &Actions {
        &self.actions
    }

    /// Returns the held resources.
    pub(crate) fn state(&self) -> &dyn ReadState {
        &*self.state
    }

    /// Plans to fetch damaged resources again, even if the documents show that they are current.
    pub(crate) fn repair(&mut self, damaged: &Arc<RowSet>) {
        self.damaged = Arc::clone(damaged);
    }

    /// Returns the damaged resources: those found by this run, and those that earlier runs could not replace.
    pub(crate) fn damaged(&self) -> Arc<RowSet> {
        Arc::clone(&self.damaged)
    }

    /// Returns `true` if the bytes of a resource will change.
    pub(crate) fn changes_bytes_of(&mut self, uri: &str) -> Result<bool, Error> {
        let changes = |action: Action| {
            matches!(action.kind, ActionKind::Create | ActionKind::Update | ActionKind::Delete)
        };
        Ok(self.actions.for_uri(uri)?.is_some_and(changes))
    }

    /// Returns the action that fetches a resource.
    pub(crate) fn fetch_of(&mut self, uri: &str) -> Result<Option<Action>, Error> {
        let action = self.actions.for_uri(uri)?;
        Ok(action.filter(|action| matches!(action.kind, ActionKind::Create | ActionKind::Update)))
    }

    /// Returns `true` if the plan fetches anything.
    pub(crate) fn fetches_anything(&self) -> Result<bool, Error> {
        for kind in [ActionKind::Create, ActionKind::Update] {
            if !self.actions.of_kind_after(kind, 0, 1)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes a resource from the plan: it is done.
    pub(crate) fn done(&mut self, uri: &str) -> Result<(), Error> {
        // Two parts of an inventory may list one resource: the action for one is the action for both.
        self.repeated += self.actions.remove(uri)?.saturating_sub(1);
        Ok(())
    }

    /// Removes a resource from the plan: the operator's selection leaves it out.
    pub(crate) fn exclude(&mut self, uri: &str) -> Result<(), Error> {
        let removed = self.actions.remove(uri)?;
        self.account.planned -= removed;
        self.account.excluded += removed;
        Ok(())
    }

    /// Removes a resource from the plan: nothing can be done about it in this run.
    pub(crate) fn owe(&mut self, uri: &str, owed: Owed) -> Result<(), Error> {
        self.done(uri)?;
        // The owed entry is recorded without an attempt: otherwise the checkpoint would pass the entry (invariant 5).
        Ok(self.actions.push_owed(&owed)?)
    }

    /// Adds an action, regardless of the held resources.
    pub(crate) fn want(&mut self, kind: ActionKind, desired: Desired) -> Result<(), Error> {
        self.account.read += 1;
        self.account.planned += 1;
        Ok(self.actions.push(&Action::new(kind, desired))?)
    }

    /// Returns the number of actions in the plan, including pending ones that were not tried.
    pub(crate) fn count_actions(&self) -> u64 {
        ActionKind::ALL.iter().map(|kind| self.actions.count_of(*kind)).sum()
    }

    /// Fails in debug builds if a desired state is not accounted for, or if the plan has an action without one.
    pub(crate) fn check_account(&self) -> Result<(), Error> {
        let planned = self.account.planned + self.inventory.inferred;
        let actions = self.count_actions();
        let is_right = self.account.is_balanced() && planned == actions;
        if is_right || !cfg!(debug_assertions) {
            return Ok(());
        }
        let what = format!("{:?}, {:?} and {actions} actions do not add up", self.account, self.inventory);
        Err(Error::Invariant { what })
    }

    /// Returns the totals of the plan.
    pub(crate) fn totals(&self) -> PlanTotals {
        let mut totals = PlanTotals { unchanged: self.inventory.unchanged, ..PlanTotals::default() };
        for kind in [ActionKind::Create, ActionKind::Update, ActionKind::Check] {
            let (count, bytes) = self.actions.totals(kind);
            totals.fetches += count;
            totals.bytes = totals.bytes.saturating_add(bytes);
        }
        totals.deletions = self.actions.count_of(ActionKind::Delete);
        totals.unchanged += self.actions.count_of(ActionKind::Note);
        totals
    }
}

#[cfg(test)]
mod tests;
