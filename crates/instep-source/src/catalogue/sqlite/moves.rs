//! Changes of all rows of a Source: another base URL, and other numbers of its sets.

use rusqlite::params;

use super::rows::FileRows;
use crate::catalogue::{
    CatalogueError,
    error::Doing,
    moves::{ON_THE_WAY, renumbered},
};

/// The first byte of keys while they are being changed. No root has this number.
const BEHIND_ALL: [u8; 1] = [u8::MAX];

const MOVING: &str = "moving to another base URL";
const NUMBERING: &str = "giving sets other numbers";

impl FileRows<'_> {
    /// Replaces the prefix `from` of URIs by `to`.
    pub(super) fn move_to(&mut self, from: &str, to: &str) -> Result<(), CatalogueError> {
        self.rebase_named_keys(from, to)?;
        for table in [
            "UPDATE resource SET uri = ?2 || substr(uri, ?3) WHERE substr(uri, 1, ?3 - 1) = ?1",
            "UPDATE change SET uri = ?2 || substr(uri, ?3) WHERE substr(uri, 1, ?3 - 1) = ?1",
            // First with a blank before them, which no URI begins with: a resource may get the URI that another
            // moving resource still has.
            "UPDATE version SET uri = ' ' || ?2 || substr(uri, ?3) WHERE substr(uri, 1, ?3 - 1) = ?1",
        ] {
            self.prepare(table)?.execute(params![from, to, rest_of(from)]).doing(MOVING)?;
        }
        self.prepare("UPDATE version SET uri = substr(uri, 2) WHERE substr(uri, 1, 1) = ' '")?
            .execute([])
            .doing(MOVING)?;
        Ok(())
    }

    /// Gives sets other numbers, and forgets those that get none.
    pub(super) fn renumber_sets(&mut self, moves: &[(u8, u8)]) -> Result<(), CatalogueError> {
        let run = |sql: &str| self.connection.execute(sql, []).map(drop).doing(NUMBERING);
        let sets = renumbered(moves);
        for table in ["resource", "change"] {
            run(&format!("UPDATE {table} SET sets = {sets} WHERE sets <> ({sets})"))?;
        }
        run("DELETE FROM resource WHERE sets = 0")?;
        run(&format!("UPDATE tally SET number = number + {ON_THE_WAY}"))?;
        for (from, to) in moves {
            run(&format!("UPDATE tally SET number = {to} WHERE number = {from} + {ON_THE_WAY}"))?;
        }
        run(&format!("DELETE FROM tally WHERE number >= {ON_THE_WAY}"))
    }

    /// Changes the keys of resources that an application or a manifest named: they contain the URI.
    fn rebase_named_keys(&mut self, from: &str, to: &str) -> Result<(), CatalogueError> {
        let mut keys: Vec<(Vec<u8>, String)> = Vec::new();
        {
            let mut named = self.prepare(
                "SELECT key, uri FROM resource WHERE substr(uri, 1, ?2 - 1) = ?1
                 AND substr(key, 2) = CAST(uri AS BLOB)",
            )?;
            let mut rows = named.query(params![from, rest_of(from)]).doing(MOVING)?;
            while let Some(row) = rows.next().doing(MOVING)? {
                keys.push((row.get(0).doing(MOVING)?, row.get(1).doing(MOVING)?));
            }
        }
        let mut rename = self.prepare("UPDATE resource SET key = ?2 WHERE key = ?1")?;
        for (key, uri) in keys {
            let moved = [&BEHIND_ALL, &key[..1], to.as_bytes(), &uri.as_bytes()[from.len()..]].concat();
            rename.execute(params![key, moved]).doing(MOVING)?;
        }
        self.prepare("UPDATE resource SET key = substr(key, 2) WHERE key >= ?1")?
            .execute(params![BEHIND_ALL])
            .doing(MOVING)?;
        Ok(())
    }
}

/// Returns the position of the first character after the replaced prefix; URIs are ASCII.
fn rest_of(from: &str) -> i64 {
    from.len() as i64 + 1
}
