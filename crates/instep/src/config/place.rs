//! Lines of `instep.toml`, and names that are similar to a wrong one, for messages.

use toml::de::{DeTable, DeValue};

/// Names that are less similar than this are no suggestion; clap has the same limit.
const SIMILAR: f64 = 0.7;

/// Returns the line of a byte.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Returns the line of a key of a table, or of the table if `key` is empty or stands elsewhere.
pub(super) fn line_of(text: &str, table: &str, key: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (name, value) = root.get_ref().iter().find(|(name, _)| name.get_ref() == table)?;
    let key = match value.get_ref() {
        DeValue::Table(keys) => keys.keys().find(|name| name.get_ref() == key),
        _ => None,
    };
    Some(line(text, key.unwrap_or(name).span().start))
}

/// Returns a question with the most similar name; empty if none is similar.
pub(super) fn alike<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let written = name.replace('_', "-").to_ascii_lowercase();
    let near = known.map(|known| (strsim::jaro(&written, known), known)).filter(|(near, _)| *near > SIMILAR);
    let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map_or_else(String::new, |(_, known)| format!("; did you mean {known}?"))
}
