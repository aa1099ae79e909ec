//! The sets that a copy follows, with the checkpoint and the documents of each, its Sources and its settings.

use resourcesync::Uri;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{SqliteState, row, sources};
use crate::state::{
    Checkpoint, DocumentRecord, PassedEntry, ReadFollowed, SetId, SourceId, StateError, codec,
};

impl ReadFollowed for SqliteState {
    fn known_set(&self, uri: &str) -> Result<Option<SetId>, StateError> {
        self.connection
            .query_row("SELECT id FROM set_of_resources WHERE uri = ?1", [uri], |row| row.get(0).map(SetId))
            .optional()
            .map_err(|source| self.error(source))
    }

    fn sets(&self) -> Result<Vec<(SetId, String)>, StateError> {
        let all = || {
            self.connection
                .prepare_cached("SELECT id, uri FROM set_of_resources ORDER BY id")?
                .query_map([], |row| Ok((SetId(row.get(0)?), row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(|source| self.error(source))
    }

    fn checkpoint(&self, set: SetId) -> Result<Option<Checkpoint>, StateError> {
        // The row of a set exists before its first baseline synchronization is complete. It then has none of these
        // values.
        let checkpoint = self.connection.query_row(
            &format!(
                "SELECT {CHECKPOINT} FROM set_of_resources
                 WHERE id = ?1 AND (datetime IS NOT NULL OR last_uri IS NOT NULL OR document IS NOT NULL)"
            ),
            [set.0],
            read_checkpoint,
        );
        checkpoint.optional().map_err(|source| self.error(source))
    }

    fn document(&self, uri: &Uri) -> Result<Option<DocumentRecord>, StateError> {
        self.connection
            .prepare_cached(&format!("SELECT {DOCUMENT} FROM document WHERE uri = ?1"))
            .and_then(|mut statement| statement.query_row([uri.as_str()], read_document).optional())
            .map_err(|source| self.error(source))
    }

    fn setting(&self, name: &str) -> Result<Option<String>, StateError> {
        self.connection
            .query_row("SELECT value FROM setting WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(|source| self.error(source))
    }

    fn sources(&self) -> Result<Vec<(SourceId, String)>, StateError> {
        let all = || {
            self.connection
                .prepare_cached("SELECT id, url FROM source ORDER BY id")?
                .query_map([], |row| Ok((SourceId(row.get(0)?), row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(|source| self.error(source))
    }

    fn source(&self, url: &str) -> Result<Option<SourceId>, StateError> {
        sources::known(&self.connection, url).map_err(|source| self.error(source))
    }

    fn sets_of(&self, source: SourceId) -> Result<Vec<SetId>, StateError> {
        let all = || {
            self.connection
                .prepare_cached("SELECT id FROM set_of_resources WHERE source = ?1 ORDER BY id")?
                .query_map([source.0], |row| row.get(0).map(SetId))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(|source| self.error(source))
    }
}

/// The columns of [`read_document`].
pub(super) const DOCUMENT: &str = "uri, etag, last_modified, digest, at, extra";

pub(super) fn read_document(row: &Row<'_>) -> rusqlite::Result<DocumentRecord> {
    Ok(DocumentRecord {
        uri: row::uri(row, 0)?,
        etag: row::boxed(row, 1)?,
        last_modified: row::boxed(row, 2)?,
        digest: row.get(3)?,
        at: row::datetime(row, 4)?,
        extra: row::boxed(row, 5)?,
    })
}

/// The columns of [`read_checkpoint`].
pub(super) const CHECKPOINT: &str =
    "datetime, last_uri, last_datetime, last_change, document, position, newest, leading";

pub(super) fn read_checkpoint(row: &Row<'_>) -> rusqlite::Result<Checkpoint> {
    let last = match row::text(row, 1)? {
        Some(_) => Some(PassedEntry {
            uri: row::uri(row, 1)?,
            datetime: row::datetime(row, 2)?,
            change: row::change(row, 3)?,
        }),
        None => None,
    };
    let document = row::text(row, 4)?.map(|_| row::uri(row, 4)).transpose()?;
    Ok(Checkpoint {
        datetime: row::datetime(row, 0)?,
        last,
        document,
        position: row.get::<_, i64>(5)?.cast_unsigned(),
        newest: row::datetime(row, 6)?,
        leading: row.get(7)?,
    })
}

pub(super) fn put_checkpoint(
    connection: &Connection,
    set: SetId,
    checkpoint: &Checkpoint,
) -> rusqlite::Result<()> {
    let last = checkpoint.last.as_ref();
    connection
        .prepare_cached(
            "UPDATE set_of_resources SET datetime = ?2, last_uri = ?3, last_datetime = ?4, last_change = ?5,
             document = ?6, position = ?7, newest = ?8, leading = ?9 WHERE id = ?1",
        )?
        .execute((
            set.0,
            codec::datetime_text(checkpoint.datetime.as_ref()),
            last.map(|last| last.uri.as_str()),
            codec::datetime_text(last.and_then(|last| last.datetime.as_ref())),
            last.map(|last| last.change.as_str()),
            checkpoint.document.as_ref().map(Uri::as_str),
            checkpoint.position.cast_signed(),
            codec::datetime_text(checkpoint.newest.as_ref()),
            checkpoint.leading,
        ))?;
    Ok(())
}

pub(super) fn put_document(connection: &Connection, document: &DocumentRecord) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO document (uri, etag, last_modified, digest, at, extra)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            document.uri.as_str(),
            document.etag.as_deref(),
            document.last_modified.as_deref(),
            document.digest,
            codec::datetime_text(document.at.as_ref()),
            document.extra.as_deref(),
        ))?;
    Ok(())
}
