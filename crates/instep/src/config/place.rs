//! For messages about `instep.toml`: the lines of keys, and suggestions for a wrong name.

use toml::de::{DeTable, DeValue};

/// A name is similar if at most one in this number of its letters is wrong.
const LETTERS_A_SLIP: usize = 3;

/// The fewest letters with which the beginning of a name counts as similar to it.
const SHORTEST_PART: usize = 4;

/// Returns the line of a byte, counted from 1.
pub(crate) fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Returns the line of a key in a table, or of the table if it does not have the key; `None` if there is no such table.
pub(super) fn line_of(text: &str, table: &str, key: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (name, value) = root.get_ref().iter().find(|(name, _)| name.get_ref() == table)?;
    let key = match value.get_ref() {
        DeValue::Table(keys) => keys.keys().find(|name| name.get_ref() == key),
        _ => None,
    };
    Some(line(text, key.unwrap_or(name).span().start))
}

/// Returns the suggestion of the most similar name, as the end of a message; empty if none is similar.
pub(super) fn alike<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let nearest = known.filter_map(|known| Some((slips(name, known)?, known))).min();
    nearest.map_or_else(String::new, |(_, known)| format!("; did you mean {known}?"))
}

/// Returns the number of typing errors between a written and a known name; `None` if they are too many to suggest it.
///
/// The measure of clap also counts letters that two names happen to share, and would suggest `durability` for `url`.
pub(crate) fn slips(written: &str, known: &str) -> Option<usize> {
    let plain = |name: &str| name.trim_start_matches('-').replace('_', "-").to_ascii_lowercase();
    let (written, known) = (plain(written), plain(known));
    let is_part = written.len() >= SHORTEST_PART && known.starts_with(&written);
    let slips = strsim::damerau_levenshtein(&written, &known);
    (is_part || slips * LETTERS_A_SLIP <= written.len()).then_some(slips)
}
