//! A state older than any inventory (`--as-of`): changes between the two are reverted, as far as the Source still
//! offers the former states.

use resourcesync::{Change, DateTime, Entry, Relation, Uri};

use super::{Draft, beside::Undoing};
use crate::{
    Error, ProblemKind,
    plan::{Desired, DesiredPresence, Retrieval, resource},
    state::{Action, ActionKind, Actions},
};

impl Draft {
    pub(super) const NO_FORMER_STATE: &str =
        "it changed later, and neither an earlier change nor a TimeGate has its state then";

    /// Records from now on the changes between the requested time and the time at which the inventory was complete.
    pub(crate) fn take_back_from(&mut self, inventory: DateTime, first: Actions) {
        self.beside.undoing = Some(Undoing { first, inventory });
    }

    /// Takes note of a change.
    pub(super) fn note_undoing(
        &mut self,
        entry: &Entry,
        time: Option<DateTime>,
        is_later: bool,
    ) -> Result<(), Error> {
        let Some(undoing) = &mut self.beside.undoing else { return Ok(()) };
        if !self.policy.selection.wants(entry) {
            return Ok(());
        }
        let uri = resource(&entry.loc);
        // The first change after that time shows the former state; later ones show states in between.
        if undoing.first.for_uri(uri.as_str())?.is_some() {
            return Ok(());
        }
        let is_in_inventory = time.is_none_or(|time| time.instant() <= undoing.inventory.instant());
        let kind = match (is_later, &entry.metadata.change) {
            // An inventory that does not say when it was complete may have it all the same.
            (true, Some(Change::Created)) => ActionKind::Create,
            (true, _) if is_in_inventory => ActionKind::Update,
            _ => ActionKind::Check,
        };
        let mut desired = Desired::new(uri);
        let timegate = entry.link_for(&Relation::TimeGate).map(|link| link.href.as_str().to_owned());
        // Its own URI answers with the present state, so only the TimeGate is requested.
        desired.set_retrieval(Retrieval { lies_at: timegate.clone(), timegate, ..Retrieval::default() });
        Ok(undoing.first.push(&Action::new(kind, desired))?)
    }

    /// Plans that a resource is fetched whose held bytes turned out to be others than the desired ones.
    pub(crate) fn update_instead(&mut self, desired: Desired) -> Result<(), Error> {
        self.account.supersede(self.actions.remove(desired.uri.as_str())?);
        self.want(ActionKind::Update, desired)
    }

    /// Reverts resources that were created or changed after the requested time; a TimeGate can provide their former
    /// state.
    pub(crate) fn take_back(&mut self) -> Result<(), Error> {
        let Some(undoing) = self.beside.undoing.take() else { return Ok(()) };
        let mut after = 0;
        loop {
            let page = undoing.first.after(after, Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            for change in page {
                self.take_back_one(change)?;
            }
        }
    }

    fn take_back_one(&mut self, Action { kind, desired, .. }: Action) -> Result<(), Error> {
        if kind == ActionKind::Check {
            return Ok(());
        }
        let uri = desired.uri.as_str();
        let removed = self.actions.remove(uri)?;
        self.account.supersede(removed);
        if kind == ActionKind::Create {
            return self.take_away(uri, removed > 0);
        }
        let gate = desired.retrieval().timegate.as_deref().and_then(|gate| Uri::parse(gate).ok());
        if gate.is_none() {
            self.problems.problem(ProblemKind::Missing, uri, Self::NO_FORMER_STATE.to_owned());
            return Ok(());
        }
        let kind = match self.state.held(uri)? {
            Some(_) => ActionKind::Update,
            None => ActionKind::Create,
        };
        self.want(kind, desired)
    }

    /// Takes away a held resource that did not exist at the requested time: like one that the inventory does not name, it is
    /// surplus (O1010). `was_planned` is `true` if the inventory planned anything for it.
    fn take_away(&mut self, uri: &str, was_planned: bool) -> Result<(), Error> {
        let held = self.state.held(uri)?;
        let Some(held) = held.filter(|held| self.named.contains(held.id)) else { return Ok(()) };
        if !was_planned && self.inventory.unchanged > 0 && self.account.equal > 0 {
            self.account.equal -= 1;
            self.account.superseded += 1;
            self.inventory.unchanged -= 1;
        }
        if self.policy.delete {
            self.named.remove(held.id);
            return Ok(());
        }
        // Without a time: the resource exists now, and no later list may take it for deleted.
        *self.inventory.kept.of(None, None) += 1;
        self.want(ActionKind::Keep, Desired { presence: DesiredPresence::Absent, ..Desired::new(held.uri) })
    }
}
