//! The query of an operator for Sources of a fleet: filter, words to search, order and page. It is checked here; the
//! fleet carries it out. PURE.

use instep_fleet::{SourceColumn, SourceRequest, SourceState};
use serde::Deserialize;

/// The number of Sources in a page, if no other number is requested.
const MOST: usize = 100;
/// The most Sources of an answer of the API.
const MOST_OF_API: usize = 1_000;

/// The requested selection, as written in the query of an address.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SourceQuery {
    /// Words that name or URL must contain; all if empty.
    pub(super) q: String,
    /// A state; all if empty.
    pub(super) state: String,
    /// A column, with a hyphen before it for the largest first.
    pub(super) sort: String,
    /// The number of the page, from 1.
    pub(super) page: Option<usize>,
    /// The number of Sources in a page.
    pub(super) limit: Option<usize>,
}

/// The columns by which Sources can be sorted: name in addresses, heading, and the column.
pub(super) const COLUMNS: [(&str, &str, SourceColumn); 8] = [
    ("name", "Source", SourceColumn::Name),
    ("state", "State", SourceColumn::State),
    ("lag", "Lag", SourceColumn::Lag),
    ("last", "Last run", SourceColumn::LastLook),
    ("next", "Next run", SourceColumn::NextLook),
    ("held", "Resources", SourceColumn::Held),
    ("bytes", "Size", SourceColumn::Bytes),
    ("pending", "Pending", SourceColumn::Pending),
];

impl SourceQuery {
    /// The names of its parameters.
    pub(super) const NAMES: [&str; 5] = ["q", "state", "sort", "page", "limit"];

    /// Checks the state, the column and the numbers.
    ///
    /// Errors: there is no such state or column, or a number is 0.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some((name, _)) =
            [("page", self.page), ("limit", self.limit)].iter().find(|(_, number)| *number == Some(0))
        {
            return Err(format!("{name}: write a number from 1"));
        }
        if !self.state.is_empty() {
            self.state.parse::<SourceState>().map_err(|error| format!("state: {error}"))?;
        }
        let name = self.sort.strip_prefix('-').unwrap_or(&self.sort);
        if name.is_empty() || COLUMNS.iter().any(|(known, ..)| *known == name) {
            Ok(())
        } else {
            Err(format!("sort: write one of {}", COLUMNS.map(|(known, ..)| known).join(", ")))
        }
    }

    /// Returns the requested page.
    pub(super) fn request(&self) -> SourceRequest {
        let (_, column, is_reversed) = self.order();
        let mut request = SourceRequest::default();
        request.words = self.q.split_whitespace().take(8).map(str::to_lowercase).collect();
        request.state = self.state.parse().ok();
        (request.column, request.is_reversed) = (column, is_reversed);
        request.page = self.page.unwrap_or(1);
        request.size = self.limit.unwrap_or(MOST).clamp(1, MOST_OF_API);
        request
    }

    /// Returns the column with its name, and `true` if the largest comes first.
    pub(super) fn order(&self) -> (&'static str, SourceColumn, bool) {
        let (name, is_reversed) =
            self.sort.strip_prefix('-').map_or((self.sort.as_str(), false), |name| (name, true));
        let column = COLUMNS.iter().find(|(known, ..)| *known == name);
        column.map_or((COLUMNS[0].0, COLUMNS[0].2, false), |(name, _, column)| (name, *column, is_reversed))
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

/// Refuses parameters of a query that have no meaning.
///
/// Errors: the first such parameter, with those that there are.
pub(super) fn only(query: Option<&str>, known: &[&str]) -> Result<(), String> {
    let mut names = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).map(|(name, _)| name);
    match names.find(|name| !known.contains(&&**name)) {
        Some(name) => Err(format!("{name:?} is not a parameter; there are: {}", known.join(", "))),
        None => Ok(()),
    }
}
