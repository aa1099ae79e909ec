//! The rows of pending retries, and of deletions that changes named. Deletions stay until a later inventory is applied:
//! an older one still names the deleted resources, and the lists of the deletions may no longer exist.

use resourcesync::{Change, DateTime, Uri};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};

use super::{SqliteState, row};
use crate::{
    plan::{Desired, DesiredPresence},
    report::PendingRetry,
    state::{KeptDeletion, Owed, ReadPending, SetId, SourceId, StateError, codec},
};

/// The columns of [`read`].
pub(super) const COLUMNS: &str =
    "uri, length, digests, lastmod, datetime, etag, media_type, links, extra, change, attempts, why";

/// Reads the pending retry in a row.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Owed> {
    let mut desired = Desired::new(row::uri(row, 0)?);
    desired.metadata = row::metadata(row, 1)?;
    let retrieval = desired.set_retrieval_text(row::text(row, 8)?);
    retrieval.map_err(|error| row::unreadable(8, error))?;
    desired.presence = DesiredPresence::after(Some(&row::change(row, 9)?));
    desired.attempts = row.get(10)?;
    Ok(Owed { desired, why: row.get(11)? })
}

impl ReadPending for SqliteState {
    fn owed_after(&self, set: SetId, after: Option<&str>, limit: usize) -> Result<Vec<Owed>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM owed WHERE uri > ?1 AND set_id = ?2 ORDER BY uri LIMIT ?3");
        let page = || {
            self.connection
                .prepare_cached(&sql)?
                .query_map((after.unwrap_or_default(), set.0, limit as i64), read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(|source| self.error(source))
    }

    fn owed(&self, set: SetId, uri: &str) -> Result<Option<Owed>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM owed WHERE uri = ?1 AND set_id = ?2");
        let owed = || self.connection.prepare_cached(&sql)?.query_row((uri, set.0), read).optional();
        owed().map_err(|source| self.error(source))
    }

    fn is_owed(&self, uri: &str) -> Result<bool, StateError> {
        let owed = || {
            self.connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM owed WHERE uri = ?1)")?
                .query_row([uri], |row| row.get(0))
        };
        owed().map_err(|source| self.error(source))
    }

    fn owed_of(&self, source: SourceId) -> Result<u64, StateError> {
        let sql = "SELECT COUNT(*) FROM owed
                   WHERE set_id NOT IN (SELECT id FROM set_of_resources WHERE source <> ?1)";
        let count = self.connection.query_row(sql, [source.number()], |row| row.get::<_, i64>(0));
        count.map(i64::cast_unsigned).map_err(|source| self.error(source))
    }

    fn owed_count(&self) -> Result<u64, StateError> {
        let count = self.connection.query_row("SELECT COUNT(*) FROM owed", [], |row| row.get::<_, i64>(0));
        count.map(i64::cast_unsigned).map_err(|source| self.error(source))
    }

    fn pending_retries(&self, after: &str, most: usize) -> Result<Vec<PendingRetry>, StateError> {
        let read = |row: &Row<'_>| {
            let uri = row::uri(row, 0)?;
            Ok(PendingRetry { uri, attempts: row.get(1)?, reason: row.get(2)? })
        };
        let page = || {
            self.connection
                .prepare_cached("SELECT uri, attempts, why FROM owed WHERE uri > ?1 ORDER BY uri LIMIT ?2")?
                .query_map((after, most as i64), read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(|source| self.error(source))
    }

    fn gone(&self, set: SetId, uri: &str) -> Result<Option<DateTime>, StateError> {
        let micros = || {
            self.connection
                .prepare_cached("SELECT micros FROM gone WHERE set_id = ?1 AND uri = ?2")?
                .query_row((set.0, uri), |row| row.get(0))
                .optional()
        };
        let micros = micros().map_err(|source| self.error(source))?;
        Ok(micros.map(DateTime::from_unix_micros))
    }

    fn held_though_gone_after(
        &self,
        set: SetId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<KeptDeletion>, StateError> {
        let read = |row: &Row<'_>| {
            let deleted = DateTime::from_unix_micros(row.get(1)?);
            Ok(KeptDeletion { uri: row::uri(row, 0)?, deleted, changed: row::datetime(row, 2)? })
        };
        let page = || {
            self.connection
                .prepare_cached(
                    "SELECT gone.uri, micros, held.datetime FROM gone JOIN held ON held.uri = gone.uri
                     WHERE set_id = ?1 AND gone.uri > ?2 AND held.sets & ?4 <> 0 ORDER BY gone.uri LIMIT ?3",
                )?
                .query_map((set.0, after.unwrap_or_default(), limit as i64, set.mask()), read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(|source| self.error(source))
    }

    fn keeps_deletions(&self, set: SetId) -> Result<bool, StateError> {
        self.connection
            .query_row("SELECT EXISTS (SELECT 1 FROM gone WHERE set_id = ?1)", [set.0], |row| row.get(0))
            .map_err(|source| self.error(source))
    }
}

pub(super) fn put(connection: &Connection, set: SetId, owed: &Owed) -> rusqlite::Result<()> {
    let Owed { desired, why } = owed;
    let metadata = &desired.metadata;
    let change = if desired.presence == DesiredPresence::Absent { Change::Deleted } else { Change::Updated };
    let retrieval = desired.retrieval.as_ref().map(|retrieval| retrieval.to_text()).transpose();
    let retrieval = retrieval.map_err(row::unwritable)?;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO owed
             (uri, set_id, change, attempts, why, length, digests, lastmod, datetime, etag, media_type, links, extra)
             VALUES (:uri, :set, :change, :attempts, :why, :length, :digests, :lastmod, :datetime, :etag, :media_type,
             :links, :extra)",
        )?
        .execute(named_params! {
            ":uri": desired.uri.as_str(), ":set": set.0, ":change": change.as_str(),
            ":attempts": desired.attempts, ":why": why,
            ":length": metadata.length.map(u64::cast_signed),
            ":digests": codec::digests_to_blob(&metadata.digests),
            ":lastmod": codec::datetime_text(metadata.lastmod.as_ref()),
            ":datetime": codec::datetime_text(metadata.datetime.as_ref()),
            ":etag": metadata.etag.as_deref(), ":media_type": metadata.media_type.as_ref().map(|kind| kind.as_str()),
            ":links": codec::links_text(&metadata.links),
            ":extra": retrieval,
        })?;
    Ok(())
}

/// Removes the pending retry of a resource in each of the sets of a mask.
pub(super) fn clear(connection: &Connection, sets: i64, uri: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM owed WHERE uri = ?1 AND (1 << set_id) & ?2 <> 0")?
        .execute((uri, sets))?;
    Ok(())
}

/// Records a deletion that a change named.
pub(super) fn put_gone(
    connection: &Connection,
    set: SetId,
    uri: &Uri,
    time: DateTime,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO gone (uri, set_id, micros) VALUES (?1, ?2, ?3)")?
        .execute((uri.as_str(), set.0, time.unix_micros()))?;
    Ok(())
}
