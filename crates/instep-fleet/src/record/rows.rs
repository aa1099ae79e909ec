//! Sources as rows.

use rusqlite::{Connection, Row, params, types::Type};

use crate::{
    definition::SourceDefinition,
    name::SourceName,
    schedule::Pacing,
    standing::{FleetSource, SourceStanding},
};

const SELECT: &str = "SELECT definition, from_file, added, paused, approved, wanted, due, interval, failures, quarantined,
    sized_resources, sized_bytes, began, ended, exit_code, summary, success, checkpoint, held, bytes, pending, alerted FROM source";

/// Adds a Source that is due at once, or changes its definition: then it is due at once too, by the new one.
pub(super) fn put(
    connection: &Connection,
    definition: &SourceDefinition,
    from_file: bool,
    now: i64,
    pacing: Pacing,
) -> rusqlite::Result<()> {
    let json = serde_json::to_string(definition)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection
        .prepare_cached(
            "INSERT INTO source (name, definition, folder, from_file, added, due, interval, failures, quarantined)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0)
             ON CONFLICT (name) DO UPDATE SET definition = ?2, folder = ?3, from_file = ?4, due = min(due, ?6)
             WHERE definition <> ?2 OR from_file <> ?4",
        )?
        .execute(params![
            definition.name.as_str(),
            json,
            definition.folder().to_string_lossy(),
            from_file,
            now,
            pacing.due,
            pacing.interval.cast_signed(),
        ])?;
    Ok(())
}

/// Forgets a Source with everything that is known of it.
pub(super) fn forget(connection: &Connection, name: &SourceName) -> rusqlite::Result<()> {
    for statement in [
        "DELETE FROM source WHERE name = ?1",
        "DELETE FROM look WHERE source = ?1",
        "DELETE FROM survey WHERE source = ?1",
    ] {
        connection.prepare_cached(statement)?.execute([name.as_str()])?;
    }
    Ok(())
}

pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<FleetSource>> {
    connection.prepare_cached(&format!("{SELECT} ORDER BY name"))?.query_map([], read)?.collect()
}

pub(super) fn one(connection: &Connection, name: &SourceName) -> rusqlite::Result<FleetSource> {
    connection.prepare_cached(&format!("{SELECT} WHERE name = ?1"))?.query_row([name.as_str()], read)
}

/// Writes what the running process decides. Flags are the operators': only a wish that was met is taken back.
pub(super) fn write(
    connection: &Connection,
    name: &SourceName,
    standing: &SourceStanding,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE source SET due = ?2, interval = ?3, failures = ?4, quarantined = ?5, sized_resources = ?6, sized_bytes = ?7,
             began = ?8, ended = ?9, exit_code = ?10, summary = ?11, success = ?12, checkpoint = ?13, held = ?14, bytes = ?15,
             pending = ?16, alerted = ?17, wanted = ?18 WHERE name = ?1",
        )?
        .execute(params![
            name.as_str(),
            standing.due,
            standing.interval.cast_signed(),
            standing.failures,
            standing.quarantined,
            standing.sized.map(|(resources, _)| resources.cast_signed()),
            standing.sized.map(|(_, bytes)| bytes.cast_signed()),
            standing.began,
            standing.ended,
            standing.exit_code,
            standing.summary,
            standing.success,
            standing.checkpoint,
            standing.held.cast_signed(),
            standing.bytes.cast_signed(),
            standing.pending.cast_signed(),
            standing.alerted,
            standing.wanted,
        ])?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<FleetSource> {
    let definition = serde_json::from_str(row.get_ref(0)?.as_str()?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into()))?;
    let number = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let sized: (Option<i64>, Option<i64>) = (row.get(10)?, row.get(11)?);
    let standing = SourceStanding {
        added: row.get(2)?,
        paused: row.get(3)?,
        approved: row.get(4)?,
        wanted: row.get(5)?,
        due: row.get(6)?,
        interval: number(7)?,
        failures: row.get(8)?,
        quarantined: row.get(9)?,
        sized: sized
            .0
            .zip(sized.1)
            .map(|(resources, bytes)| (resources.cast_unsigned(), bytes.cast_unsigned())),
        began: row.get(12)?,
        ended: row.get(13)?,
        exit_code: row.get(14)?,
        summary: row.get(15)?,
        success: row.get(16)?,
        checkpoint: row.get(17)?,
        held: number(18)?,
        bytes: number(19)?,
        pending: number(20)?,
        alerted: row.get(21)?,
    };
    Ok(FleetSource { definition, from_file: row.get(1)?, standing, running: None })
}
