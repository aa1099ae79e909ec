//! The plan of one run over one set while it is made: for threads that may block.

mod aside;
mod changes;
mod list;
mod owed;
mod undo;

use std::collections::BTreeSet;

use resourcesync::{DateTime, Relation, Uri};

use super::{troubles::Troubles, wanted::following};
use crate::{
    Error, PlanTotals,
    http::{Origin, Scope},
    map::climbs,
    plan::{Condition, Currency, Facts, Place, Selection, currency, supersedes},
    state::{Action, ActionKind, Actions, Held, Marks, Owed, Pushing, SetId, State, Wanted},
};

/// What the operator decided about the plan.
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
    /// What the metadata records of wanted resources say.
    pub(crate) condition: Option<Condition>,
    /// Media types of alternate representations, the preferred first.
    pub(crate) prefer_types: Vec<String>,
}

/// A plan in the making.
#[derive(Debug)]
pub(crate) struct Draft {
    state: State,
    set: SetId,
    policy: Policy,
    actions: Actions,
    /// What links lead to, where versions are kept.
    versions: Option<Actions>,
    marks: Marks,
    /// Whether the plan may hold an earlier word about a URI.
    spoken: bool,
    /// Whether it begins with what is owed.
    begins_with_owed: bool,
    /// Whether something changed that may be a metadata record: then what it describes is chosen again.
    pub(crate) met_a_record: bool,
    undoing: Option<undo::Undoing>,
    /// Entries of the inventory.
    pub(crate) entries: u64,
    /// Those of them that are wanted.
    listed: u64,
    unchanged: u64,
    /// Deletions that absence from the inventory implies.
    pub(crate) inferred: u64,
    /// Held resources that the set has too and is not counted among yet.
    pub(crate) joining: Vec<Uri>,
    /// What is no longer owed although nothing is done.
    pub(crate) settled: Vec<String>,
    /// What is owed although nothing was tried.
    pub(crate) owing: Vec<Owed>,
    /// Held resources whose files are not what the state says.
    broken: BTreeSet<String>,
    /// Resources about which any word is news.
    watched: BTreeSet<String>,
    /// Those of them about which there was one.
    pub(crate) explained: Vec<String>,
    pub(crate) troubles: Troubles,
    /// The speaker and the beginning of a URI that it was found to speak for: the next entry mostly begins alike.
    in_scope: Option<(Origin, String)>,
}

/// The newest word about a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Fetch,
    Ask,
    Delete,
    /// It is there, and not selected.
    Ignore,
}

impl Draft {
    /// Entries held in memory at a time.
    const PART: usize = 20_000;
    /// Rows read at a time.
    const PAGE: usize = 1_000;

    /// An empty plan.
    pub(crate) fn new(state: State, set: SetId, policy: Policy, actions: Actions) -> Result<Self, Error> {
        let marks = state.marks()?;
        Ok(Self {
            state,
            set,
            policy,
            actions,
            versions: None,
            marks,
            spoken: false,
            begins_with_owed: false,
            met_a_record: false,
            undoing: None,
            entries: 0,
            listed: 0,
            unchanged: 0,
            inferred: 0,
            joining: Vec::new(),
            settled: Vec::new(),
            owing: Vec::new(),
            broken: BTreeSet::new(),
            watched: BTreeSet::new(),
            explained: Vec::new(),
            troubles: Troubles::default(),
            in_scope: None,
        })
    }

    /// What is to be done, in order.
    pub(crate) fn actions(&self) -> &Actions {
        &self.actions
    }

    /// These are fetched again, however current they seem.
    pub(crate) fn mend(&mut self, broken: &BTreeSet<String>) {
        self.broken.clone_from(broken);
    }

    /// Whether the bytes of a resource are to become others.
    pub(crate) fn has_word_of(&mut self, uri: &str) -> Result<bool, Error> {
        let is_word = |action: Action| !matches!(action.kind, ActionKind::Check | ActionKind::Note);
        Ok(self.actions.for_uri(uri)?.is_some_and(is_word))
    }

    /// What is to be fetched for a URI.
    pub(crate) fn wants_bytes_of(&mut self, uri: &str) -> Result<Option<Action>, Error> {
        let action = self.actions.for_uri(uri)?;
        Ok(action.filter(|action| matches!(action.kind, ActionKind::Create | ActionKind::Update)))
    }

    /// Whether anything is to be fetched.
    pub(crate) fn wants_any_bytes(&self) -> Result<bool, Error> {
        for kind in [ActionKind::Create, ActionKind::Update] {
            if !self.actions.of_kind_after(kind, 0, 1)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What is held.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Nothing more is to be done about a resource.
    pub(crate) fn done(&mut self, uri: &str) -> Result<(), Error> {
        self.actions.remove(uri)?;
        Ok(())
    }

    /// Listens for news of these resources.
    pub(crate) fn watch(&mut self, uris: impl Iterator<Item = String>) {
        self.watched.extend(uris);
    }

    /// What is held and no part of the inventory has named goes last; the inventory must be complete (invariant 6).
    pub(crate) fn infer_deletions(&mut self) -> Result<(), Error> {
        let mut after: Option<String> = None;
        loop {
            let page = self.state.surplus_after(self.set, &self.marks, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.uri.as_str().to_owned());
            for held in page {
                if self.spoken {
                    self.actions.remove(held.uri.as_str())?;
                }
                self.inferred += 1;
                self.actions.push(&Action::new(ActionKind::Delete, Wanted::new(held.uri)))?;
            }
        }
    }

    /// How many held resources nothing that was read has named.
    pub(crate) fn count_unnamed(&self) -> Result<u64, Error> {
        let (mut count, mut after) = (0, None::<String>);
        loop {
            let page = self.state.surplus_after(self.set, &self.marks, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(count) };
            after = Some(last.uri.as_str().to_owned());
            count += page.len() as u64;
        }
    }

    /// What there is to do.
    pub(crate) fn totals(&self) -> PlanTotals {
        let mut totals = PlanTotals { unchanged: self.unchanged, ..PlanTotals::default() };
        for kind in [ActionKind::Create, ActionKind::Update, ActionKind::Check] {
            let (count, bytes) = self.actions.totals(kind);
            totals.fetches += count;
            totals.bytes += bytes;
        }
        totals.deletions = self.actions.totals(ActionKind::Delete).0;
        totals.unchanged += self.actions.totals(ActionKind::Note).0;
        totals
    }

    /// Whether the scope of a document holds an entry; else that is told.
    fn in_scope(&mut self, speaker: Option<&Origin>, uri: &Uri) -> bool {
        if climbs(uri) {
            let what = "It climbs with \"..\": refused".to_owned();
            self.troubles.problem(crate::ProblemKind::OutOfScope, uri.as_str(), what);
            return false;
        }
        let Some(speaker) = speaker else { return true };
        let root = root(uri);
        if self.in_scope.as_ref().is_some_and(|(spoke, known)| spoke == speaker && known == root) {
            return true;
        }
        match self.policy.scope.check(speaker, uri.as_str()) {
            Ok(()) => {
                self.in_scope = Some((speaker.clone(), root.to_owned()));
                true
            }
            Err(refusal) => {
                self.troubles.problem(crate::ProblemKind::OutOfScope, uri.as_str(), refusal.to_string());
                false
            }
        }
    }

    /// A part of sorted, unlike words meets what is held; `tells_links` is whether they name all links of a resource.
    fn meet(
        &mut self,
        part: &mut [Wanted],
        tells_links: bool,
        word: impl Fn(&Wanted) -> (Word, Option<u64>),
    ) -> Result<(), Error> {
        let Self {
            state,
            set,
            marks,
            actions,
            policy,
            spoken,
            unchanged,
            joining,
            settled,
            broken,
            watched,
            explained,
            ..
        } = self;
        let actions = &*actions;
        let mut meeting = Meeting {
            pushing: actions.pushing()?,
            actions,
            set: *set,
            tells_links,
            delete: policy.delete,
            spoken: *spoken,
            unchanged,
            settled,
            broken,
            watched,
            explained,
            failure: None,
        };
        joining.extend(state.meet(*set, marks, part, &mut |wanted, held| {
            let (word, ordinal) = word(wanted);
            meeting.hear(wanted, held, word, ordinal.unwrap_or(0));
        })?);
        meeting.failure.map_or(Ok(()), |failure| Err(failure.into()))
    }
}

/// Turns words into actions, one resource after the other.
struct Meeting<'a> {
    actions: &'a Actions,
    pushing: Pushing<'a>,
    set: SetId,
    tells_links: bool,
    delete: bool,
    spoken: bool,
    unchanged: &'a mut u64,
    settled: &'a mut Vec<String>,
    broken: &'a BTreeSet<String>,
    watched: &'a mut BTreeSet<String>,
    explained: &'a mut Vec<String>,
    failure: Option<crate::state::StateError>,
}

impl Meeting<'_> {
    fn hear(&mut self, wanted: &Wanted, held: Option<&Held>, word: Word, ordinal: u64) {
        if self.failure.is_none() {
            self.failure = self.plan(wanted, held, word, ordinal).err();
        }
    }

    fn plan(
        &mut self,
        wanted: &Wanted,
        held: Option<&Held>,
        word: Word,
        ordinal: u64,
    ) -> Result<(), crate::state::StateError> {
        let uri = wanted.uri.as_str();
        let news = self.watched.remove(uri);
        if news {
            self.explained.push(uri.to_owned());
        }
        let earlier = if self.spoken { self.actions.for_uri(uri)? } else { None };
        if let Some(earlier) = &earlier {
            let place = |time: Option<DateTime>, ordinal| Place { time, ordinal };
            if !supersedes(place(wanted.facts.datetime, ordinal), place(earlier.wanted.facts.datetime, 0)) {
                return Ok(());
            }
            self.actions.remove(uri)?;
        }
        let kind = match (word, held) {
            (Word::Fetch, None) => Some(ActionKind::Create),
            (Word::Fetch, Some(_)) if self.broken.contains(uri) => Some(ActionKind::Update),
            (Word::Fetch, Some(held)) => match currency(&facts(&held.facts), &facts(&wanted.facts)) {
                Currency::Current if self.says_more(held, wanted) => Some(ActionKind::Note),
                Currency::Current => None,
                Currency::Stale => Some(ActionKind::Update),
                Currency::Unknown => Some(ActionKind::Check),
            },
            (Word::Ask, None) => Some(ActionKind::Create),
            (Word::Ask, Some(_)) => Some(ActionKind::Check),
            (Word::Delete, Some(_)) if self.delete => Some(ActionKind::Delete),
            (Word::Delete | Word::Ignore, _) => None,
        };
        let earlier_version = earlier.as_ref().filter(|earlier| earlier.kind == ActionKind::Update);
        match (kind, earlier_version) {
            (Some(ActionKind::Update), Some(earlier)) => {
                self.pushing.push(ActionKind::Update, &following(wanted.clone(), &earlier.wanted))?;
            }
            (Some(kind), _) => self.pushing.push(kind, wanted)?,
            (None, _) => {
                *self.unchanged += u64::from(word == Word::Fetch);
                if earlier.is_some() || news {
                    self.settled.push(uri.to_owned());
                }
            }
        }
        Ok(())
    }

    /// Whether the links of current bytes are others now. Of what several inventories list, none is written anew for each of
    /// them; and what is the target of a link has no links there.
    fn says_more(&self, held: &Held, wanted: &Wanted) -> bool {
        let counts = self.tells_links || (!wanted.facts.links.is_empty() && held.is_only_in(self.set));
        counts && held.facts.links != wanted.facts.links
    }
}

/// A URI up to where its path begins.
fn root(uri: &Uri) -> &str {
    let text = uri.as_str();
    let authority = text.find("//").map_or(text.len(), |slashes| slashes + 2);
    let end = text[authority..].find(['/', '?', '#']);
    end.map_or(text, |length| &text[..authority + length])
}

fn facts(facts: &crate::state::Facts) -> Facts<'_> {
    Facts { digests: &facts.digests, length: facts.length, lastmod: facts.lastmod.as_ref() }
}
