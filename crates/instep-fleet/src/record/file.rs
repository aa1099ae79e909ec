//! The record in one SQLite file, for a fleet that one process keeps. Commands write it beside that process.

use std::path::{Path, PathBuf};

use rusqlite::{
    Connection, Row, params_from_iter,
    types::{ToSqlOutput, Value, ValueRef},
};

use super::{
    engine::{Field, FieldRow, RecordEngine, RecordWork, Statements, WrittenByOthers},
    schema::SCHEMA,
};
use crate::FleetError;

/// The record in a file.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    connection: Connection,
    /// The version of the file whose Sources were read last.
    version: Option<i64>,
    /// The version that was found last.
    found: Option<i64>,
}

impl RecordFile {
    /// Opens the file; creates it if there is none.
    pub(super) fn open(path: &Path) -> Result<Self, FleetError> {
        Ok(Self { connection: SCHEMA.open(path)?, path: path.to_owned(), version: None, found: None })
    }

    fn error(&self, source: rusqlite::Error) -> FleetError {
        FleetError::Record { path: self.path.clone(), source }
    }

    fn batch(&self, sql: &str) -> Result<(), FleetError> {
        self.connection.execute_batch(sql).map_err(|source| self.error(source))
    }
}

impl rusqlite::ToSql for Field {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Number(Some(number)) => (*number).into(),
            Self::Text(Some(text)) => text.as_str().into(),
            Self::Number(None) | Self::Text(None) => ToSqlOutput::Owned(Value::Null),
        })
    }
}

/// Returns a statement in the form of SQLite. A row has no other writer while it is changed.
fn own(sql: &str) -> String {
    sql.replace('$', "?").replace("{next}", "changed + 1").replace("{kept}", "")
}

fn fields(row: &Row<'_>) -> rusqlite::Result<FieldRow> {
    let columns = row.as_ref().column_count();
    let field = |column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => Field::Text(None),
            ValueRef::Integer(number) => Field::Number(Some(number)),
            value => Field::Text(Some(value.as_str()?.to_owned())),
        })
    };
    Ok(FieldRow((0..columns).map(field).collect::<rusqlite::Result<_>>()?))
}

impl Statements for RecordFile {
    fn query(&self, sql: &str, values: &[Field]) -> Result<Vec<FieldRow>, FleetError> {
        let rows = || {
            let mut statement = self.connection.prepare_cached(&own(sql))?;
            statement.query_map(params_from_iter(values), fields)?.collect::<rusqlite::Result<_>>()
        };
        rows().map_err(|source| self.error(source))
    }

    fn execute(&self, sql: &str, values: &[Field]) -> Result<u64, FleetError> {
        let statement = self.connection.prepare_cached(&own(sql));
        let done = statement.and_then(|mut statement| statement.execute(params_from_iter(values)));
        done.map(|rows| rows as u64).map_err(|source| self.error(source))
    }
}

impl RecordEngine for RecordFile {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn transaction(&self, work: &mut RecordWork<'_>) -> Result<(), FleetError> {
        // `IMMEDIATE` takes the right to write at once: a transaction that reads first and then finds another writer would
        // have to be repeated.
        self.batch("BEGIN IMMEDIATE")?;
        let done = work(self).and_then(|()| self.batch("COMMIT"));
        // Also after a commit that failed, as on a full disk: the transaction may be open still, and no other one could
        // begin. Some faults end it by themselves.
        if !self.connection.is_autocommit() {
            self.batch("ROLLBACK")?;
        }
        done
    }

    fn written_by_others(&mut self) -> Result<WrittenByOthers, FleetError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        self.found = Some(version.map_err(|source| self.error(source))?);
        Ok(if self.version == self.found { WrittenByOthers::Nothing } else { WrittenByOthers::All })
    }

    fn is_to_count(&mut self) -> bool {
        // Not needed: with a file, all Sources are read after each change.
        false
    }

    fn read_up_to(&mut self, _: i64) {
        // Only now, because reading may have failed: nothing else shows that there is a change.
        self.version = self.found;
    }

    fn forget_read(&mut self) {
        self.version = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o500_a_full_disk_undoes_a_transaction_and_the_next_one_begins() {
        let dir = tempfile::tempdir().unwrap();
        let file = RecordFile::open(&dir.path().join("fleet.sqlite")).unwrap();
        let long = "x".repeat(100_000);
        let mut write = |statements: &dyn Statements| {
            let sql = "INSERT INTO survey (source, json) VALUES ($1, $2)";
            statements.execute(sql, &["a".into(), "{}".into()])?;
            statements.execute(sql, &["b".into(), long.as_str().into()]).map(drop)
        };
        let limit = |pages: u32| file.query(&format!("PRAGMA max_page_count = {pages}"), &[]).unwrap();
        // SQLite takes a limit below the present size as the present size: the file cannot grow.
        limit(1);
        let error = file.transaction(&mut write).unwrap_err();
        assert!(error.may_pass() && error.exit_code() == 8, "{error:?}");
        limit(u32::MAX / 2);
        file.transaction(&mut write).unwrap();
        // The constraint fails: that does not pass by itself.
        assert!(!file.transaction(&mut write).unwrap_err().may_pass());
    }
}
