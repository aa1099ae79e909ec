//! The Sources of a fleet as an operator asks for them: filtered, searched, sorted, and a page at a time. PURE.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use instep_fleet::{FleetSource, SourceState};
use serde::Deserialize;

/// Sources of a page, unless fewer are asked for.
const MOST: usize = 100;
/// The most Sources of an answer of the API.
const MOST_OF_API: usize = 1_000;

/// The selection that is asked for, as the query of an address has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SourceQuery {
    /// A part of name or URL.
    pub(super) q: String,
    /// A state; all if empty.
    pub(super) state: String,
    /// A column, with a hyphen before it for the largest first.
    pub(super) sort: String,
    /// The number of the page, from 1.
    pub(super) page: Option<usize>,
    /// Sources of a page.
    pub(super) limit: Option<usize>,
}

/// A page of Sources.
#[derive(Debug)]
pub(super) struct SelectedSources {
    /// The Sources of the page.
    pub(super) sources: Vec<Arc<FleetSource>>,
    /// All that match.
    pub(super) matching: usize,
    /// The number of the page, from 1.
    pub(super) page: usize,
    /// The number of pages.
    pub(super) pages: usize,
    /// The Sources that match the search in each state, whatever state is asked for.
    pub(super) states: BTreeMap<SourceState, usize>,
}

/// The columns by which Sources can be sorted: name in addresses, and heading.
pub(super) const COLUMNS: [(&str, &str); 8] = [
    ("name", "Source"),
    ("state", "State"),
    ("lag", "Lag"),
    ("last", "Last look"),
    ("next", "Next look"),
    ("held", "Resources"),
    ("bytes", "Size"),
    ("pending", "Pending"),
];

impl SourceQuery {
    /// Selects a page of Sources.
    pub(super) fn select(&self, all: Vec<Arc<FleetSource>>, now: i64) -> SelectedSources {
        let words: Vec<_> = self.q.split_whitespace().take(8).map(str::to_lowercase).collect();
        let matches = |source: &Arc<FleetSource>| {
            if words.is_empty() {
                return true;
            }
            let definition = &source.definition;
            let text = format!("{} {}", definition.name, definition.url).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let found: Vec<_> =
            all.into_iter().filter(matches).map(|source| (source.state(now), source)).collect();
        let mut states = BTreeMap::new();
        for (state, _) in &found {
            *states.entry(*state).or_default() += 1;
        }
        let wanted: Option<SourceState> = self.state.parse().ok();
        let mut found: Vec<_> =
            found.into_iter().filter(|(state, _)| wanted.is_none_or(|wanted| wanted == *state)).collect();
        let (column, is_reversed) = self.order();
        // By name within the same value: names are in order already.
        found.sort_by(|a, b| {
            let order = compare(column, a, b, now);
            if is_reversed { order.reverse() } else { order }
        });
        let size = self.limit.unwrap_or(MOST).clamp(1, MOST_OF_API);
        let pages = found.len().div_ceil(size).max(1);
        let page = self.page.unwrap_or(1).clamp(1, pages);
        let matching = found.len();
        let sources =
            found.into_iter().skip((page - 1) * size).take(size).map(|(_, source)| source).collect();
        SelectedSources { sources, matching, page, pages, states }
    }

    /// Returns the column and `true` if the largest comes first.
    pub(super) fn order(&self) -> (&'static str, bool) {
        let (name, is_reversed) =
            self.sort.strip_prefix('-').map_or((self.sort.as_str(), false), |name| (name, true));
        let column = COLUMNS.iter().find(|(column, _)| *column == name);
        column.map_or(("name", false), |(column, _)| (column, is_reversed))
    }

    /// Returns the query of an address with some values changed.
    pub(super) fn with(&self, changes: &[(&str, &str)]) -> String {
        let page = self.page.filter(|page| *page > 1).map(|page| page.to_string()).unwrap_or_default();
        let values = [("q", &*self.q), ("state", &*self.state), ("sort", &*self.sort), ("page", &*page)];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in values {
            let value =
                changes.iter().find(|(changed, _)| *changed == name).map_or(value, |(_, value)| value);
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        format!("?{}", query.finish())
    }
}

type StatedSource = (SourceState, Arc<FleetSource>);

fn compare(column: &str, (a_state, a): &StatedSource, (b_state, b): &StatedSource, now: i64) -> Ordering {
    let (a, b) = (&a.standing, &b.standing);
    match column {
        "state" => a_state.cmp(b_state),
        "lag" => a.lag(now).cmp(&b.lag(now)),
        "last" => a.ended.cmp(&b.ended),
        "next" => a.due.cmp(&b.due),
        "held" => a.held.cmp(&b.held),
        "bytes" => a.bytes.cmp(&b.bytes),
        "pending" => a.pending.cmp(&b.pending),
        _ => Ordering::Equal,
    }
}
