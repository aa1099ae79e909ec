//! The Sources that a copy has resources of. Each is known by the URL that the operator gives, and has sets, runs and a
//! way of its own.

use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use super::{CopyState, SetId, StateError};

/// A Source of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceId(pub(super) i64);

impl SourceId {
    /// Returns the name of the record of the way to it.
    pub(crate) fn way_record(self) -> String {
        format!("way {}", self.0)
    }

    /// Returns the number that the state knows it by.
    pub(crate) fn number(self) -> i64 {
        self.0
    }
}

impl CopyState {
    /// Returns the Sources of the copy with their URLs, in the order in which they came.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn sources(&self) -> Result<Vec<(SourceId, String)>, StateError> {
        let all = || {
            self.connection
                .prepare_cached("SELECT id, url FROM source ORDER BY id")?
                .query_map([], |row| Ok((SourceId(row.get(0)?), row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(|source| self.error(source))
    }

    /// Returns the Source with a URL; `None` if no run has found one there.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn source(&self, url: &str) -> Result<Option<SourceId>, StateError> {
        known(&self.connection, url).map_err(|source| self.error(source))
    }

    /// Returns the sets of a Source.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn sets_of(&self, source: SourceId) -> Result<Vec<SetId>, StateError> {
        let all = || {
            self.connection
                .prepare_cached("SELECT id FROM set_of_resources WHERE source = ?1 ORDER BY id")?
                .query_map([source.0], |row| row.get(0).map(SetId))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(|source| self.error(source))
    }

    /// Records that a URL led to these sets. A Source that is followed already keeps its record under another URL; two
    /// that turn out to be one become one.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn found_source(&mut self, url: &str, sets: &[SetId]) -> Result<SourceId, StateError> {
        let path = &self.path;
        let mut record = || {
            let transaction = self.connection.transaction()?;
            let owners = owners(&transaction, sets)?;
            let source = match (known(&transaction, url)?, owners.first()) {
                (Some(known), _) => known,
                (None, Some(owner)) => {
                    transaction.execute("UPDATE source SET url = ?2 WHERE id = ?1", (owner.0, url))?;
                    // The way began at the former URL.
                    transaction.execute("DELETE FROM setting WHERE name = ?1", [owner.way_record()])?;
                    *owner
                }
                (None, None) => {
                    transaction.execute("INSERT INTO source (url) VALUES (?1)", [url])?;
                    SourceId(transaction.last_insert_rowid())
                }
            };
            for set in sets {
                put_set(&transaction, *set, source)?;
            }
            for other in owners.into_iter().filter(|owner| *owner != source) {
                unite(&transaction, other, source)?;
            }
            transaction.commit()?;
            Ok(source)
        };
        record().map_err(|source| StateError::sqlite(path, source))
    }

    /// Counts a set to a Source.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn set_belongs_to(&mut self, set: SetId, source: SourceId) -> Result<(), StateError> {
        put_set(&self.connection, set, source).map_err(|source| self.error(source))
    }
}

fn known(connection: &Connection, url: &str) -> rusqlite::Result<Option<SourceId>> {
    let mut statement = connection.prepare_cached("SELECT id FROM source WHERE url = ?1")?;
    statement.query_row([url], |row| row.get(0).map(SourceId)).optional()
}

/// Returns the Sources that sets belong to now.
fn owners(connection: &Connection, sets: &[SetId]) -> rusqlite::Result<Vec<SourceId>> {
    let places = vec!["?"; sets.len()].join(", ");
    let sql = format!(
        "SELECT DISTINCT source FROM set_of_resources WHERE id IN ({places}) AND source IS NOT NULL ORDER BY source"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement
        .query_map(params_from_iter(sets.iter().map(|set| set.0)), |row| row.get(0).map(SourceId))?;
    rows.collect()
}

fn put_set(connection: &Connection, set: SetId, source: SourceId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE set_of_resources SET source = ?2 WHERE id = ?1 AND source IS NOT ?2")?
        .execute((set.0, source.0))
        .map(|_| ())
}

/// Makes the runs of a Source that has no set any more those of another one.
fn unite(connection: &Connection, other: SourceId, source: SourceId) -> rusqlite::Result<()> {
    let left: i64 = connection.query_row(
        "SELECT COUNT(*) FROM set_of_resources WHERE source = ?1",
        [other.0],
        |row| row.get(0),
    )?;
    if left == 0 {
        connection.execute("UPDATE run SET source = ?2 WHERE source = ?1", (other.0, source.0))?;
        connection.execute("DELETE FROM source WHERE id = ?1", [other.0])?;
    }
    Ok(())
}
