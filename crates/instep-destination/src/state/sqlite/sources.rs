//! The rows of the Sources of a copy. Each is known by the URL that the operator gives, and has sets, runs and a way of its
//! own.

use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use crate::state::{SetId, SourceId};

/// Returns the Source with a URL.
pub(super) fn known(connection: &Connection, url: &str) -> rusqlite::Result<Option<SourceId>> {
    let mut statement = connection.prepare_cached("SELECT id FROM source WHERE url = ?1")?;
    statement.query_row([url], |row| row.get(0).map(SourceId)).optional()
}

/// Returns the Sources that sets belong to now.
pub(super) fn owners(connection: &Connection, sets: &[SetId]) -> rusqlite::Result<Vec<SourceId>> {
    let places = vec!["?"; sets.len()].join(", ");
    let sql = format!(
        "SELECT DISTINCT source FROM set_of_resources WHERE id IN ({places}) AND source IS NOT NULL ORDER BY source"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement
        .query_map(params_from_iter(sets.iter().map(|set| set.0)), |row| row.get(0).map(SourceId))?;
    rows.collect()
}

pub(super) fn put_set(connection: &Connection, set: SetId, source: SourceId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE set_of_resources SET source = ?2 WHERE id = ?1 AND source IS NOT ?2")?
        .execute((set.0, source.0))
        .map(|_| ())
}

/// Assigns the runs of a Source without sets to another one.
pub(super) fn unite(connection: &Connection, other: SourceId, source: SourceId) -> rusqlite::Result<()> {
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
