//! A state older than any inventory (`--as-of`): what changed between the two is taken back, as far as the Source still offers it.

use resourcesync::{Change, DateTime, Entry, Relation, Uri};

use super::Draft;
use crate::{
    Error, ProblemKind,
    state::{Action, ActionKind, Actions, Wanted},
    sync::wanted::{Extra, resource},
};

/// What is to be taken back.
#[derive(Debug)]
pub(super) struct Undoing {
    /// The first word about each resource: `Check` where it is older than the state wanted and tells what that was, `Create` and
    /// `Update` where the resource came or changed later.
    words: Actions,
    /// The time of the inventory: what changed after it, it does not have.
    inventory: DateTime,
}

impl Draft {
    /// From now on it is noted what changed between the time that is wanted and that of the inventory.
    pub(crate) fn take_back_from(&mut self, inventory: DateTime, words: Actions) {
        self.undoing = Some(Undoing { words, inventory });
    }

    /// Hears of a change.
    pub(super) fn note_undoing(
        &mut self,
        entry: &Entry,
        time: Option<DateTime>,
        is_later: bool,
    ) -> Result<(), Error> {
        let Some(undoing) = &mut self.undoing else { return Ok(()) };
        let unknown = time.is_some_and(|time| time.instant() > undoing.inventory.instant());
        if unknown || !self.policy.selection.wants(entry) {
            return Ok(());
        }
        let uri = resource(&entry.loc);
        if undoing.words.for_uri(uri.as_str())?.is_some() {
            return Ok(());
        }
        let kind = match (is_later, &entry.metadata.change) {
            (false, _) => ActionKind::Check,
            (true, Some(Change::Created)) => ActionKind::Create,
            (true, _) => ActionKind::Update,
        };
        let mut wanted = Wanted::new(uri);
        let timegate = entry.link_for(&Relation::TimeGate).map(|link| link.href.as_str().to_owned());
        // Its own URI has the present state: only the TimeGate is asked.
        wanted.extra = Extra { lies_at: timegate.clone(), timegate, ..Extra::default() }.into_text();
        Ok(undoing.words.push(&Action::new(kind, wanted))?)
    }

    /// Takes back what came or changed later than the time wanted; what its state was then, a TimeGate can tell.
    pub(crate) fn take_back(&mut self) -> Result<(), Error> {
        let Some(undoing) = self.undoing.take() else { return Ok(()) };
        let mut after = 0;
        loop {
            let page = undoing.words.after(after, Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            for word in page {
                self.take_back_one(word)?;
            }
        }
    }

    fn take_back_one(&mut self, Action { kind, wanted, .. }: Action) -> Result<(), Error> {
        if kind == ActionKind::Check {
            return Ok(());
        }
        let uri = wanted.uri.as_str();
        self.actions.remove(uri)?;
        if kind == ActionKind::Create {
            return Ok(());
        }
        let gate = Extra::of(&wanted).timegate.and_then(|gate| Uri::parse(&gate).ok());
        if gate.is_none() {
            let what =
                "it changed later, and neither an earlier change nor a TimeGate tells of its state then";
            self.troubles.problem(ProblemKind::Missing, uri, what.to_owned());
            return Ok(());
        }
        let kind = match self.state.held(uri)? {
            Some(_) => ActionKind::Update,
            None => ActionKind::Create,
        };
        Ok(self.actions.push(&Action::new(kind, wanted))?)
    }
}
