//! Tables of `instep.toml` that are no options of a command: `[[set]]`, `[[link]]` and others. They are read into types
//! of the modules that use them.

use std::collections::BTreeMap;

use anyhow::{anyhow, bail};
use serde::{Deserialize, de::DeserializeOwned};
use toml::{
    Spanned,
    de::{DeTable, Deserializer},
};

use super::Config;

/// The kinds of values as the parser names them, and as they are written.
const KINDS: [(&str, &str); 5] = [
    ("i64", "a whole number without quotes"),
    ("a boolean", "true or false, without quotes"),
    ("a string", "a text in quotes"),
    ("path string", "a path in quotes"),
    ("a sequence", "an array such as [\"a\", \"b\"]"),
];

impl Config {
    /// Returns the tables of an array with this name; empty if the file has none.
    ///
    /// Errors: a missing, unknown or wrong key, or a table with single brackets; each with its line.
    pub(crate) fn tables<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<Vec<Spanned<T>>> {
        let Some(value) = self.table.get(name) else { return Ok(Vec::new()) };
        if !value.is_array() {
            bail!("{} write [[{name}]], with two brackets, before the keys of each", self.place(name, ""));
        }
        let root = DeTable::parse(&self.text)?;
        let span = root.span();
        let root =
            root.into_inner().into_iter().filter(|(key, _)| key.get_ref() == name).collect::<DeTable<'_>>();
        let read =
            BTreeMap::<String, Vec<Spanned<T>>>::deserialize(Deserializer::from(Spanned::new(span, root)));
        let mut tables = read.map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            anyhow!("{} [[{name}]]: {}", self.place_at(at), Self::what_to_write(error.message()))
        })?;
        Ok(tables.remove(name).unwrap_or_default())
    }

    /// Returns a message of the parser in one line. If a value has another kind than its key, the message says what to write,
    /// without the names of types.
    pub(crate) fn what_to_write(message: &str) -> String {
        let message = message.trim_end().replace('\n', ", ");
        let known = message.rsplit_once(", expected ").and_then(|(found, kind)| {
            let (_, written) = KINDS.into_iter().find(|(name, _)| *name == kind)?;
            Some(format!("{found}; write {written}"))
        });
        known.unwrap_or(message)
    }
}
