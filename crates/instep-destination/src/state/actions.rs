//! The actions of a plan, kept in a temporary database so that memory does not grow with their number.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
};

use instep_store::database::with_fixed_plans;
use rusqlite::{CachedStatement, Connection, Row, params};

use super::{Action, ActionKind, StateError, sqlite::row, uri_index::UriIndex};
use crate::{plan::Desired, records::WrittenDesired};

/// The number of actions of each kind, and the sum of their stated lengths.
type Totals = [(u64, u64); ActionKind::ALL.len()];

/// The beginning of the names of plans.
const PREFIX: &str = "plan-";

/// The actions of a plan, in a separate file that is removed with this value, so that a plan of any length takes no
/// memory.
#[derive(Debug)]
pub(crate) struct Actions {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    pub(super) uris: UriIndex,
    totals: Cell<Totals>,
}

impl Actions {
    /// Returns the name of the file of the plan with a number.
    pub(crate) fn file_name(number: u32) -> String {
        format!("{PREFIX}{number}.sqlite")
    }

    /// Removes the plans that killed runs left in a folder, whose lock the caller must have. A plan is not reused:
    /// its documents may have changed, and making a new one costs only reading the lists.
    ///
    /// # Errors
    /// If they cannot be removed.
    pub(crate) fn remove_leftovers(folder: &Path) -> Result<(), StateError> {
        let remove = || {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
                    std::fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        remove().map_err(|source| StateError::Scratch { path: folder.to_owned(), source })
    }

    /// Creates an empty list, replacing one that an earlier run left.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub(crate) fn create(path: &Path) -> Result<Self, StateError> {
        let create = || {
            if let Err(error) = std::fs::remove_file(path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(StateError::Scratch { path: path.to_owned(), source: error });
            }
            let sqlite = |source| StateError::sqlite(path, source);
            let connection = Connection::open(path).and_then(with_fixed_plans).map_err(sqlite)?;
            connection
                .execute_batch(&format!(
                    "PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -4096;
                     BEGIN;
                     CREATE TABLE action (
                         sequence INTEGER PRIMARY KEY, kind INTEGER NOT NULL, uri TEXT NOT NULL, length INTEGER,
                         desired BLOB NOT NULL, fault TEXT
                     );
                     {}",
                    Self::NOTES
                ))
                .map_err(sqlite)?;
            Ok(Self { connection, path: path.to_owned(), uris: UriIndex::new(), totals: Cell::default() })
        };
        create()
    }

    /// Adds an action at the end.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn push(&mut self, action: &Action) -> Result<(), StateError> {
        self.pushing()?.push(action.kind, &action.desired)
    }

    /// Returns a value that adds many actions with one prepared statement.
    pub(crate) fn pushing(&self) -> Result<Pushing<'_>, StateError> {
        let sql = "INSERT INTO action (kind, uri, length, desired) VALUES (?1, ?2, ?3, ?4)";
        let statement = self.connection.prepare_cached(sql);
        let statement = statement.map_err(|source| StateError::sqlite(&self.path, source))?;
        Ok(Pushing { statement, actions: self, desired: Vec::new() })
    }

    /// Returns the next actions in their order, after the sequence of the last one seen; 0 for the first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn after(&self, sequence: i64, limit: usize) -> Result<Vec<Action>, StateError> {
        self.page("sequence > ?1 ORDER BY sequence LIMIT ?2", (sequence, limit as i64))
    }

    /// Returns the next actions of one kind in their order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn of_kind_after(
        &self,
        kind: ActionKind,
        sequence: i64,
        limit: usize,
    ) -> Result<Vec<Action>, StateError> {
        // There is no index by kind, so this saves a walk over all rows.
        if self.count_of(kind) == 0 {
            return Ok(Vec::new());
        }
        self.page(
            "kind = ?3 AND sequence > ?1 ORDER BY sequence LIMIT ?2",
            (sequence, limit as i64, kind as u8),
        )
    }

    /// Returns the last actions of one kind, the last one first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn last_of_kind(&self, kind: ActionKind, limit: u64) -> Result<Vec<Action>, StateError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        self.page("kind = ?1 ORDER BY sequence DESC LIMIT ?2", (kind as u8, limit.cast_signed()))
    }

    /// Returns the action for a URI. The first call creates an index.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn for_uri(&self, uri: &str) -> Result<Option<Action>, StateError> {
        self.index_uris()?;
        Ok(self.page("uri = ?1", [uri])?.pop())
    }

    /// Removes the actions for a URI. Returns their number, because two parts of an inventory may list one resource.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn remove(&self, uri: &str) -> Result<u64, StateError> {
        self.index_uris()?;
        let remove = || {
            let sql = "DELETE FROM action WHERE uri = ?1 RETURNING kind, COALESCE(length, 0)";
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([uri])?;
            let mut removed = 0;
            while let Some(row) = rows.next()? {
                let (kind, bytes) = (row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned());
                self.recount(kind, |(count, sum)| (count.saturating_sub(1), sum.saturating_sub(bytes)));
                removed += 1;
            }
            Ok(removed)
        };
        remove().map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns the sequence of the last action; zero if there is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn last(&self) -> Result<i64, StateError> {
        self.connection
            .query_row("SELECT COALESCE(MAX(sequence), 0) FROM action", [], |row| row.get(0))
            .map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Removes every action that was added after the one with a sequence.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn forget_after(&mut self, sequence: i64) -> Result<(), StateError> {
        let forget = || {
            self.connection.execute("DELETE FROM action WHERE sequence > ?1", [sequence])?;
            // The rows are counted again, because the removed ones are not read and cannot be subtracted.
            self.totals.take();
            // The sum of any lengths: SUM fails if it exceeds 63 bits, and a Source may state any number.
            let sql = "SELECT kind, COUNT(*), CAST(TOTAL(length) AS INTEGER) FROM action GROUP BY kind";
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (count, bytes) = (row.get::<_, i64>(1)?, row.get::<_, i64>(2)?);
                self.recount(row.get(0)?, |_| (count.cast_unsigned(), bytes.cast_unsigned()));
            }
            Ok(())
        };
        forget().map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns the number of actions of a kind.
    pub(crate) fn count_of(&self, kind: ActionKind) -> u64 {
        self.totals(kind).0
    }

    /// Returns the number of actions of a kind, and the sum of their stated lengths.
    pub(crate) fn totals(&self, kind: ActionKind) -> (u64, u64) {
        self.totals.get()[kind as usize]
    }

    pub(super) fn recount(&self, kind: usize, change: impl FnOnce((u64, u64)) -> (u64, u64)) {
        let mut totals = self.totals.get();
        if let Some(total) = totals.get_mut(kind) {
            *total = change(*total);
        }
        self.totals.set(totals);
    }

    pub(super) fn index_uris(&self) -> Result<(), StateError> {
        self.uris.make(&self.connection).map_err(|source| StateError::sqlite(&self.path, source))
    }

    pub(super) fn page(
        &self,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<Action>, StateError> {
        let page = || {
            self.connection
                .prepare_cached(&format!(
                    "SELECT sequence, kind, uri, desired FROM action WHERE {condition}"
                ))?
                .query_map(parameters, read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(|source| StateError::sqlite(&self.path, source))
    }
}

/// Adds actions at the end of a list.
pub(crate) struct Pushing<'a> {
    statement: CachedStatement<'a>,
    actions: &'a Actions,
    /// A buffer for one desired state as it is written.
    desired: Vec<u8>,
}

impl Pushing<'_> {
    pub(crate) fn push(&mut self, kind: ActionKind, desired: &Desired) -> Result<(), StateError> {
        let failed = |source| StateError::sqlite(&self.actions.path, source);
        self.desired.clear();
        let written = WrittenDesired::of(desired).map_err(|error| failed(row::unwritable(error)))?;
        let written = postcard::to_extend(&(written, desired.is_listed), std::mem::take(&mut self.desired));
        self.desired = written.map_err(|error| failed(row::unwritable(error)))?;
        let length = desired.metadata.length;
        let pushed = self.statement.execute(params![
            kind as u8,
            desired.uri.as_str(),
            length.map(|length| i64::try_from(length).unwrap_or(i64::MAX)),
            self.desired,
        ]);
        pushed.map_err(failed)?;
        self.actions.uris.add(desired.uri.as_str());
        let bytes = length.unwrap_or_default();
        self.actions.recount(kind as usize, |(count, sum)| (count + 1, sum.saturating_add(bytes)));
        Ok(())
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // A failure is ignored, because the next run removes the file.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn read(from: &Row<'_>) -> rusqlite::Result<Action> {
    let kind = ActionKind::ALL.get(from.get::<_, usize>(1)?).copied();
    let written = postcard::from_bytes::<(WrittenDesired<'_>, bool)>(from.get_ref(3)?.as_blob()?);
    let (written, is_listed) = written.map_err(|error| row::unreadable(3, error))?;
    let mut desired = written.desired(row::uri(from, 2)?).map_err(|error| row::unreadable(3, error))?;
    desired.is_listed = is_listed;
    let unknown = || row::unreadable(1, std::io::Error::other("no kind of action"));
    Ok(Action { sequence: from.get(0)?, kind: kind.ok_or_else(unknown)?, desired })
}
