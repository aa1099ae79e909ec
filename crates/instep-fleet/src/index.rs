//! The Sources of a fleet in memory, kept in each order in which the dashboard shows them: a page costs only its own
//! rows, not those of the entire fleet. PURE.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    sync::Arc,
};

use crate::{
    name::SourceName,
    standing::{CLOCKS_APART, FleetSource, SourceState},
};

/// The columns by which Sources are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceColumn {
    /// The name.
    #[default]
    Name,
    /// The state, in the order of [`SourceState::ALL`].
    State,
    /// The age of the state that the copy has reached; Sources that have reached none come first.
    Lag,
    /// The end of the last look; Sources without one come first.
    LastLook,
    /// The time of the next look.
    NextLook,
    /// Resources held.
    Held,
    /// Bytes held.
    Bytes,
    /// Resources pending.
    Pending,
}

impl SourceColumn {
    /// The columns that have their own order. By name and by state the first of them is sufficient.
    const ORDERS: [Self; 7] =
        [Self::Name, Self::Lag, Self::LastLook, Self::NextLook, Self::Held, Self::Bytes, Self::Pending];

    /// Returns the number that Sources of the same state are sorted by, before their names.
    fn key(self, source: &FleetSource) -> i64 {
        let standing = &source.standing;
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        match self {
            Self::Name | Self::State => 0,
            Self::Lag => standing.checkpoint.map_or(i64::MIN, |reached| -reached.max(-i64::MAX)),
            Self::LastLook => standing.ended.unwrap_or(i64::MIN),
            Self::NextLook => standing.due,
            Self::Held => number(standing.held),
            Self::Bytes => number(standing.bytes),
            Self::Pending => number(standing.pending),
        }
    }

    fn order(self) -> usize {
        Self::ORDERS.iter().position(|column| *column == self).unwrap_or(0)
    }
}

/// A requested page of Sources.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceRequest {
    /// Words that name or URL must contain, in upper or lower case; empty for all Sources.
    pub words: Vec<String>,
    /// The state that they must have; `None` for any.
    pub state: Option<SourceState>,
    /// The column by which they are sorted.
    pub column: SourceColumn,
    /// `true` if the largest comes first.
    pub is_reversed: bool,
    /// The number of the page, from 1.
    pub page: usize,
    /// The most Sources on a page.
    pub size: usize,
}

impl Default for SourceRequest {
    fn default() -> Self {
        let column = SourceColumn::default();
        Self { words: Vec::new(), state: None, column, is_reversed: false, page: 1, size: 100 }
    }
}

/// A page of Sources.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SourcePage {
    /// The Sources of the page.
    pub sources: Vec<Arc<FleetSource>>,
    /// The number of all that match.
    pub matching: usize,
    /// The number of the page, from 1.
    pub page: usize,
    /// The number of pages.
    pub pages: usize,
    /// The number of Sources in each state that match the words, for any requested state.
    pub states: BTreeMap<SourceState, usize>,
}

/// The Sources of one state, in one order.
type OrderedNames = BTreeSet<(i64, SourceName)>;

/// All Sources of a fleet, by name, and the orders of the dashboard.
#[derive(Debug, Default)]
pub(crate) struct SourceIndex {
    sources: BTreeMap<SourceName, IndexedSource>,
    orders: [BTreeMap<SourceState, OrderedNames>; SourceColumn::ORDERS.len()],
    /// Those in step, by the time after which their next look is overdue.
    overdue: BTreeSet<(i64, SourceName)>,
    /// The time up to which overdue looks are recorded.
    now: i64,
    /// Sources that were handed out, for the test that a page hands out no others than its own.
    #[cfg(test)]
    taken: std::cell::Cell<usize>,
}

#[derive(Debug)]
struct IndexedSource {
    source: Arc<FleetSource>,
    /// The state in which the orders have it.
    state: SourceState,
    /// Name and URL in lower case, for the search.
    text: Box<str>,
}

impl SourceIndex {
    /// Returns a Source.
    pub(crate) fn get(&self, name: &SourceName) -> Option<&Arc<FleetSource>> {
        #[cfg(test)]
        self.taken.set(self.taken.get() + 1);
        self.sources.get(name).map(|known| &known.source)
    }

    /// Returns all Sources, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<FleetSource>> {
        #[cfg(test)]
        self.taken.set(self.taken.get() + self.sources.len());
        self.sources.values().map(|known| &known.source)
    }

    /// Returns the number of all Sources.
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// Puts a Source in place of the one with its name.
    pub(crate) fn insert(&mut self, source: Arc<FleetSource>) {
        let name = source.definition.name.clone();
        self.remove(&name);
        let state = source.state(self.now);
        let text = format!("{name} {}", source.definition.url).to_lowercase().into();
        self.add_to_orders(&source, state);
        self.sources.insert(name, IndexedSource { source, state, text });
    }

    /// Takes a Source out.
    pub(crate) fn remove(&mut self, name: &SourceName) {
        if let Some(IndexedSource { source, state, .. }) = self.sources.remove(name) {
            self.remove_from_orders(&source, state);
        }
    }

    fn add_to_orders(&mut self, source: &FleetSource, state: SourceState) {
        let name = &source.definition.name;
        for (column, order) in SourceColumn::ORDERS.into_iter().zip(&mut self.orders) {
            order.entry(state).or_default().insert((column.key(source), name.clone()));
        }
        if matches!(state, SourceState::InStep | SourceState::Done) {
            self.overdue.insert((source.standing.overdue(), name.clone()));
        }
    }

    fn remove_from_orders(&mut self, source: &FleetSource, state: SourceState) {
        let name = &source.definition.name;
        for (column, order) in SourceColumn::ORDERS.into_iter().zip(&mut self.orders) {
            if let btree_map::Entry::Occupied(mut names) = order.entry(state) {
                names.get_mut().remove(&(column.key(source), name.clone()));
                if names.get().is_empty() {
                    names.remove();
                }
            }
        }
        self.overdue.remove(&(source.standing.overdue(), name.clone()));
    }

    /// Finds the looks that are overdue by now: their Sources are behind now.
    fn advance(&mut self, now: i64) {
        if self.now.saturating_sub(CLOCKS_APART) > now {
            // The clock was set back: by the right one, most looks are not overdue.
            self.now = now;
            let all: Vec<_> = self.iter().cloned().collect();
            all.into_iter().for_each(|source| self.insert(source));
        }
        self.now = self.now.max(now);
        while let Some((at, name)) = self.overdue.first().filter(|(at, _)| *at < self.now).cloned() {
            self.overdue.remove(&(at, name.clone()));
            if let Some(source) = self.get(&name).cloned() {
                self.insert(source);
            }
        }
    }

    /// Returns the number of Sources in each state.
    pub(crate) fn states(&mut self, now: i64) -> BTreeMap<SourceState, usize> {
        self.advance(now);
        self.orders[0].iter().map(|(state, names)| (*state, names.len())).collect()
    }

    /// Returns a page. Without words, it costs the rows of the page and a step for each one before it.
    pub(crate) fn page(&mut self, request: &SourceRequest, now: i64) -> SourcePage {
        let all = self.states(now);
        let states = if request.words.is_empty() { all } else { self.found(&request.words) };
        let wanted = |state: &SourceState| request.state.is_none_or(|wanted| wanted == *state);
        let matching = states.iter().filter(|(state, _)| wanted(state)).map(|(_, number)| number).sum();
        let size = request.size.max(1);
        let pages = usize::div_ceil(matching, size).max(1);
        let page = request.page.clamp(1, pages);
        let names = self.in_order(request).filter(|name| self.matches(name, &request.words));
        let names = names.skip((page - 1) * size).take(size);
        let sources = names.filter_map(|name| self.get(name).cloned()).collect();
        SourcePage { sources, matching, page, pages, states }
    }

    /// Counts the Sources that have all words, by state.
    fn found(&self, words: &[String]) -> BTreeMap<SourceState, usize> {
        let mut states = BTreeMap::new();
        for known in self.sources.values().filter(|known| has_words(known, words)) {
            *states.entry(known.state).or_default() += 1;
        }
        states
    }

    fn matches(&self, name: &SourceName, words: &[String]) -> bool {
        words.is_empty() || self.sources.get(name).is_some_and(|known| has_words(known, words))
    }

    /// Returns the names in the requested order.
    fn in_order<'a>(&'a self, request: &SourceRequest) -> Box<dyn Iterator<Item = &'a SourceName> + 'a> {
        let order = &self.orders[request.column.order()];
        let wanted = request.state;
        let of_states = order.iter().filter(move |(state, _)| wanted.is_none_or(|wanted| wanted == **state));
        let is_reversed = request.is_reversed;
        if request.column == SourceColumn::State {
            let names = of_states.map(|(_, names)| names);
            return if is_reversed {
                Box::new(names.rev().flat_map(|names| names.iter().rev()).map(|(_, name)| name))
            } else {
                Box::new(names.flatten().map(|(_, name)| name))
            };
        }
        // One range for each state; the next name is the first of theirs.
        let mut ranges: Vec<_> = of_states.map(|(_, names)| names.iter()).collect();
        let mut heads: Vec<_> = ranges.iter_mut().map(|range| step(range, is_reversed)).collect();
        Box::new(std::iter::from_fn(move || {
            let present = heads.iter().enumerate().filter_map(|(at, head)| Some((at, (*head)?)));
            let next = if is_reversed {
                present.max_by_key(|(_, head)| *head)
            } else {
                present.min_by_key(|(_, head)| *head)
            };
            let (at, (_, name)) = next?;
            heads[at] = step(&mut ranges[at], is_reversed);
            Some(name)
        }))
    }
}

fn step<T>(range: &mut impl DoubleEndedIterator<Item = T>, is_reversed: bool) -> Option<T> {
    if is_reversed { range.next_back() } else { range.next() }
}

fn has_words(known: &IndexedSource, words: &[String]) -> bool {
    words.iter().all(|word| known.text.contains(word.as_str()))
}

#[cfg(test)]
mod tests;
