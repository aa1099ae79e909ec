use resourcesync::{Change, DateTime, Entry};
use serde::{Deserialize, Serialize};

/// How far a copy has followed its Source (invariant 5). The times are the Source's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Every change up to here is committed or owed; seams are inclusive.
    pub time: Option<DateTime>,
    /// The `at` of the newest inventory that was applied.
    pub inventory: Option<DateTime>,
    /// The newest Change List that was read to its end.
    pub list: Option<ListMark>,
}

/// A Change List as far as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListMark {
    /// Its URI.
    pub uri: String,
    /// Its `from` as it was written.
    pub from: Option<String>,
    /// How many entries it had.
    pub entries: u64,
    /// What the last of them was.
    pub last: String,
}

impl ListMark {
    /// A list of so many entries.
    pub fn new(
        uri: impl Into<String>,
        from: Option<&DateTime>,
        entries: u64,
        last: impl Into<String>,
    ) -> Self {
        Self { uri: uri.into(), from: from.map(ToString::to_string), entries, last: last.into() }
    }

    /// What tells an entry from its neighbours: change, time and URI.
    pub fn identity(entry: &Entry) -> String {
        let change = entry.metadata.change.as_ref().map_or("", Change::as_str);
        let time =
            entry.metadata.datetime.or(entry.lastmod).map_or_else(String::new, |time| time.to_string());
        format!("{change} {time} {}", entry.loc)
    }
}

#[derive(Serialize, Deserialize)]
struct Written {
    time: Option<String>,
    inventory: Option<String>,
    list: Option<ListMark>,
}

impl Checkpoint {
    /// At the start of a Source's history.
    pub fn new() -> Self {
        Self::default()
    }

    /// As the state keeps it.
    pub fn to_text(&self) -> String {
        let text = |time: &Option<DateTime>| time.as_ref().map(ToString::to_string);
        let written =
            Written { time: text(&self.time), inventory: text(&self.inventory), list: self.list.clone() };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// From what the state kept; what cannot be read leads to a baseline.
    pub fn from_text(text: &str) -> Self {
        let Ok(written) = serde_json::from_str::<Written>(text) else { return Self::default() };
        let time = |text: Option<String>| DateTime::parse(&text?).ok();
        Self { time: time(written.time), inventory: time(written.inventory), list: written.list }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_survives_the_state() {
        let time = DateTime::parse("2013-01-03T09:00:00.123456Z").unwrap();
        let checkpoint = Checkpoint {
            time: Some(time),
            inventory: Some(DateTime::parse("2013-01-03").unwrap()),
            list: Some(ListMark::new(
                "http://example.com/changes.xml",
                Some(&time),
                5,
                "updated  http://example.com/a",
            )),
        };
        assert_eq!(Checkpoint::from_text(&checkpoint.to_text()), checkpoint);
        assert_eq!(Checkpoint::from_text("?"), Checkpoint::default());
    }
}
