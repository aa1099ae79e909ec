//! Lines of `instep.toml`, and names that are similar to a wrong one, for messages.

use toml::de::{DeTable, DeValue};

/// Letters of a name for each one that may be another in a similar name.
const LETTERS_A_SLIP: usize = 3;

/// The fewest letters by which a name is known that is written only in part.
const SHORTEST_PART: usize = 4;

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
    let nearest = known.filter_map(|known| Some((slips(name, known)?, known))).min();
    nearest.map_or_else(String::new, |(_, known)| format!("; did you mean {known}?"))
}

/// Returns the number of slips that make a written name of a known one; `None` if they are too many to suggest it.
///
/// The measure of clap also counts letters that two names happen to share: `url` would mean `durability`.
pub(crate) fn slips(written: &str, known: &str) -> Option<usize> {
    let plain = |name: &str| name.trim_start_matches('-').replace('_', "-").to_ascii_lowercase();
    let (written, known) = (plain(written), plain(known));
    let is_part = written.len() >= SHORTEST_PART && known.starts_with(&written);
    let slips = strsim::damerau_levenshtein(&written, &known);
    (is_part || slips * LETTERS_A_SLIP <= written.len()).then_some(slips)
}
