//! The records of a Source by identifier, format and datestamp. SQLite; made from the catalogue, and can be rebuilt.

use std::{path::Path, time::Instant};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{arguments::RecordSelection, error::AnswerError, format::RecordFormat, schema::SCHEMA};

/// The name of the file in the state folder of the Source.
const FILE: &str = "oai.db";

const COLUMNS: &str = "number, identifier, format, uri, datestamp, is_deleted, sets, is_generated, about";

/// A record as lists have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexedRecord {
    pub(super) number: i64,
    pub(super) identifier: String,
    pub(super) format: String,
    pub(super) uri: String,
    /// Seconds since 1970.
    pub(super) datestamp: i64,
    pub(super) is_deleted: bool,
    /// Its sets, with a blank before and after each.
    sets: String,
    /// `true` if its metadata is generated from the Source's knowledge of the resource.
    pub(super) is_generated: bool,
    /// The URI of the document with its `about` containers.
    pub(super) about: Option<String>,
}

impl IndexedRecord {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            identifier: row.get(1)?,
            format: row.get(2)?,
            uri: row.get(3)?,
            datestamp: row.get(4)?,
            is_deleted: row.get(5)?,
            sets: row.get(6)?,
            is_generated: row.get(7)?,
            about: row.get(8)?,
        })
    }

    /// Returns its sets.
    pub(super) fn sets(&self) -> Vec<&str> {
        self.sets.split_ascii_whitespace().collect()
    }
}

/// A resource that is put into the index, as a record in each of its formats.
pub(super) struct NewRecord<'a> {
    pub(super) identifier: &'a str,
    pub(super) uri: &'a str,
    /// The URI of the document with its `about` containers.
    pub(super) about: Option<&'a str>,
    pub(super) datestamp: i64,
    pub(super) sets: &'a [String],
    pub(super) digest: Option<&'a [u8]>,
    pub(super) pass: i64,
}

/// The index, and the key that signs tokens.
#[derive(Debug)]
pub(super) struct RepositoryIndex {
    pub(super) connection: Connection,
    pub(super) key: [u8; 32],
    /// The time before which no document is read again that could not be read; `None` for at once.
    pub(super) retry_at: Option<Instant>,
}

impl RepositoryIndex {
    /// Opens the index in the state folder of a Source, or makes an empty one.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(state: &Path) -> Result<Self, AnswerError> {
        std::fs::create_dir_all(state)?;
        let connection = SCHEMA.open(&state.join(FILE))?;
        connection.execute(
            "INSERT OR IGNORE INTO meta VALUES ('key', ?1)",
            [rand::random::<[u8; 32]>().as_slice()],
        )?;
        let key = connection.query_row("SELECT value FROM meta WHERE name = 'key'", [], |row| row.get(0))?;
        Ok(Self { connection, key, retry_at: None })
    }

    /// Returns the number under a name; `None` if there is none.
    pub(super) fn number(&self, name: &str) -> rusqlite::Result<Option<i64>> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
        statement.query_row([name], |row| row.get(0)).optional()
    }

    /// Keeps a number under a name.
    pub(super) fn set_number(&self, name: &str, value: Option<i64>) -> rusqlite::Result<()> {
        match value {
            Some(value) => self
                .connection
                .execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", params![name, value])?,
            None => self.connection.execute("DELETE FROM meta WHERE name = ?1", [name])?,
        };
        Ok(())
    }

    /// Returns `true` if a resource is a record already, in this state and with these names; it counts as seen then.
    pub(super) fn is_current(&self, new: &NewRecord<'_>) -> rusqlite::Result<bool> {
        let sql =
            "UPDATE record SET pass = ?1 WHERE uri = ?2 AND identifier = ?3 AND sets = ?4 AND digest IS ?5
                   AND about IS ?6 AND digest IS NOT NULL AND is_deleted = 0";
        let mut statement = self.connection.prepare_cached(sql)?;
        let sets = written(new.sets);
        Ok(statement.execute(params![new.pass, new.uri, new.identifier, sets, new.digest, new.about])? > 0)
    }

    /// Puts a resource as a record in its own format, in a generated one, or in both; in any other it is a record no longer.
    pub(super) fn put(
        &self,
        new: &NewRecord<'_>,
        own: Option<&RecordFormat>,
        generated: Option<&RecordFormat>,
    ) -> rusqlite::Result<()> {
        let [first, second] =
            [own, generated].map(|format| format.map_or("", |format| format.prefix.as_str()));
        let others = "UPDATE record SET is_deleted = 1, datestamp = max(datestamp, ?5)
                      WHERE uri = ?1 AND is_deleted = 0 AND NOT (identifier = ?2 AND format IN (?3, ?4))";
        self.connection.prepare_cached(others)?.execute(params![
            new.uri,
            new.identifier,
            first,
            second,
            new.datestamp
        ])?;
        for (format, is_generated) in [(own, false), (generated, true)] {
            if let Some(format) = format {
                self.put_format(new, format, is_generated)?;
            }
        }
        let mut spec = self.connection.prepare_cached("INSERT OR IGNORE INTO spec VALUES (?1)")?;
        for set in new.sets {
            // A record belongs to a set if the name of one of its sets begins with that of the set.
            let ends = set.match_indices(':').map(|(end, _)| end).chain([set.len()]);
            ends.map(|end| &set[..end]).try_for_each(|set| spec.execute([set]).map(drop))?;
        }
        Ok(())
    }

    fn put_format(
        &self,
        new: &NewRecord<'_>,
        format: &RecordFormat,
        is_generated: bool,
    ) -> rusqlite::Result<()> {
        let put = "INSERT INTO record (identifier, format, uri, datestamp, is_deleted, sets, digest, pass, is_generated, about)
                   VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9)
                   ON CONFLICT (identifier, format) DO UPDATE SET uri = ?3, datestamp = max(datestamp, ?4), is_deleted = 0,
                   sets = ?5, digest = ?6, pass = ?7, is_generated = ?8, about = ?9";
        self.connection.prepare_cached(put)?.execute(params![
            new.identifier,
            format.prefix,
            new.uri,
            new.datestamp,
            written(new.sets),
            new.digest,
            new.pass,
            is_generated,
            new.about
        ])?;
        self.connection.prepare_cached("INSERT OR IGNORE INTO format VALUES (?1, ?2, ?3)")?.execute([
            &format.prefix,
            &format.namespace,
            &format.schema,
        ])?;
        Ok(())
    }

    /// Records that the `about` containers in a document have changed, which is a change of their record.
    pub(super) fn about_changed(&self, uri: &str, datestamp: i64) -> rusqlite::Result<()> {
        let sql = "UPDATE record SET datestamp = max(datestamp, ?2) WHERE about = ?1 AND is_deleted = 0";
        self.connection.prepare_cached(sql)?.execute(params![uri, datestamp])?;
        Ok(())
    }

    /// Marks the records of a resource as deleted.
    pub(super) fn delete(&self, uri: &str, datestamp: i64) -> rusqlite::Result<()> {
        let sql = "UPDATE record SET is_deleted = 1, datestamp = max(datestamp, ?2) WHERE uri = ?1 AND is_deleted = 0";
        self.connection.prepare_cached(sql)?.execute(params![uri, datestamp])?;
        Ok(())
    }

    /// Marks all records as deleted that a pass over all resources has not seen.
    pub(super) fn delete_unseen(&self, pass: i64, datestamp: i64) -> rusqlite::Result<()> {
        let sql = "UPDATE record SET is_deleted = 1, datestamp = max(datestamp, ?2) WHERE pass <> ?1 AND is_deleted = 0";
        self.connection.execute(sql, [pass, datestamp])?;
        Ok(())
    }

    /// Returns the first datestamp; `None` if there is no record.
    pub(super) fn earliest(&self) -> rusqlite::Result<Option<i64>> {
        self.connection.query_row("SELECT min(datestamp) FROM record", [], |row| row.get(0))
    }

    /// Returns the formats of an item, or of all.
    pub(super) fn formats(&self, identifier: Option<&str>) -> rusqlite::Result<Vec<RecordFormat>> {
        let sql = "SELECT prefix, namespace, schema FROM format WHERE ?1 IS NULL OR EXISTS
                   (SELECT 1 FROM record WHERE identifier = ?1 AND format = prefix AND is_deleted = 0) ORDER BY prefix";
        let mut statement = self.connection.prepare_cached(sql)?;
        let format = |row: &Row<'_>| {
            Ok(RecordFormat { prefix: row.get(0)?, namespace: row.get(1)?, schema: row.get(2)? })
        };
        statement.query_map([identifier], format)?.collect()
    }

    /// Returns the names of all sets.
    pub(super) fn sets(&self) -> rusqlite::Result<Vec<String>> {
        self.connection
            .prepare_cached("SELECT name FROM spec ORDER BY name")?
            .query_map([], |row| row.get(0))?
            .collect()
    }

    /// Returns the records of an item, deleted ones too.
    pub(super) fn item(&self, identifier: &str) -> rusqlite::Result<Vec<IndexedRecord>> {
        let sql = format!("SELECT {COLUMNS} FROM record WHERE identifier = ?1 ORDER BY format");
        self.connection.prepare_cached(&sql)?.query_map([identifier], IndexedRecord::read)?.collect()
    }

    /// Returns records of a list behind a datestamp and number, in the order of both; `most` of them.
    pub(super) fn list(
        &self,
        selection: &RecordSelection,
        after: (i64, i64),
        most: usize,
    ) -> rusqlite::Result<Vec<IndexedRecord>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM record WHERE format = ?1 AND (datestamp, number) > (?2, ?3) AND datestamp <= ?4
             AND (?5 IS NULL OR instr(sets, ' ' || ?5 || ' ') OR instr(sets, ' ' || ?5 || ':'))
             ORDER BY datestamp, number LIMIT ?6"
        );
        let (until, set) = (selection.until.unwrap_or(i64::MAX), &selection.set);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(
            params![selection.format, after.0, after.1, until, set, most as i64],
            IndexedRecord::read,
        )?;
        rows.collect()
    }

    /// Returns the number of records of a list.
    pub(super) fn count(&self, selection: &RecordSelection) -> rusqlite::Result<u64> {
        let sql = "SELECT count(*) FROM record WHERE format = ?1 AND datestamp >= ?2 AND datestamp <= ?3
                   AND (?4 IS NULL OR instr(sets, ' ' || ?4 || ' ') OR instr(sets, ' ' || ?4 || ':'))";
        let (from, until) = (selection.from.unwrap_or(i64::MIN), selection.until.unwrap_or(i64::MAX));
        let count: i64 = self
            .connection
            .prepare_cached(sql)?
            .query_row(params![selection.format, from, until, selection.set], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }
}

fn written(sets: &[String]) -> String {
    if sets.is_empty() { String::new() } else { format!(" {} ", sets.join(" ")) }
}
