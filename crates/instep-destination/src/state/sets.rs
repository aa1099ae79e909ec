//! The sets that a copy follows, with the checkpoint and the documents of each.

use resourcesync::Uri;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{Checkpoint, CopyState, DocumentRecord, PassedEntry, SetId, StateError, codec};

impl CopyState {
    /// The set that a Capability List's URI (or whatever stands for it) names; made where it is new.
    ///
    /// # Errors
    /// If the copy follows as many sets as it can, or the state cannot be written.
    pub(crate) fn set(&mut self, uri: &str) -> Result<SetId, StateError> {
        if let Some(set) = self.known_set(uri)? {
            return Ok(set);
        }
        let free = self.free_set(0, uri)?;
        self.connection
            .execute("INSERT INTO set_of_resources (id, uri) VALUES (?1, ?2)", (free.0, uri))
            .map_err(|source| self.error(source))?;
        Ok(free)
    }

    /// The number that a further set would get, after so many others that are not written either.
    ///
    /// # Errors
    /// When the copy follows as many sets as it can, or the state cannot be read.
    pub(crate) fn free_set(&self, others: usize, uri: &str) -> Result<SetId, StateError> {
        let free =
            self.connection.query_row("SELECT COALESCE(MAX(id) + 1, 0) FROM set_of_resources", [], |row| {
                row.get::<_, usize>(0)
            });
        match u8::try_from(free.map_err(|source| self.error(source))? + others) {
            Ok(free) if free < SetId::MOST => Ok(SetId(free)),
            _ => Err(StateError::TooManySets { uri: uri.to_owned(), most: SetId::MOST }),
        }
    }

    /// Gives a set another name; nothing if the copy follows no set of the former one.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn rename_set(&mut self, former: &str, name: &str) -> Result<(), StateError> {
        self.connection
            .execute("UPDATE set_of_resources SET uri = ?2 WHERE uri = ?1", (former, name))
            .map(|_| ())
            .map_err(|source| self.error(source))
    }

    /// The set of that name, where the copy follows it.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn known_set(&self, uri: &str) -> Result<Option<SetId>, StateError> {
        self.connection
            .query_row("SELECT id FROM set_of_resources WHERE uri = ?1", [uri], |row| row.get(0).map(SetId))
            .optional()
            .map_err(|source| self.error(source))
    }

    /// Every set that the copy follows, with its name.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn sets(&self) -> Result<Vec<(SetId, String)>, StateError> {
        let all = || {
            self.connection
                .prepare_cached("SELECT id, uri FROM set_of_resources ORDER BY id")?
                .query_map([], |row| Ok((SetId(row.get(0)?), row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(|source| self.error(source))
    }

    /// Returns the checkpoint of a set; `None` before its first baseline synchronization is complete.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn checkpoint(&self, set: SetId) -> Result<Option<Checkpoint>, StateError> {
        // The row of a set is there before its first baseline is complete: then it has none of these.
        let checkpoint = self.connection.query_row(
            "SELECT datetime, last_uri, last_datetime, last_change, document, position, newest, leading FROM set_of_resources
             WHERE id = ?1 AND (datetime IS NOT NULL OR last_uri IS NOT NULL OR document IS NOT NULL)",
            [set.0],
            read_checkpoint,
        );
        checkpoint.optional().map_err(|source| self.error(source))
    }

    /// Returns the identity of a document when it was last read completely.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn document(&self, uri: &Uri) -> Result<Option<DocumentRecord>, StateError> {
        let read = |row: &Row<'_>| {
            Ok(DocumentRecord {
                uri: uri.clone(),
                etag: codec::boxed(row, 0)?,
                last_modified: codec::boxed(row, 1)?,
                digest: row.get(2)?,
                at: codec::datetime(row, 3)?,
                extra: codec::boxed(row, 4)?,
            })
        };
        self.connection
            .prepare_cached("SELECT etag, last_modified, digest, at, extra FROM document WHERE uri = ?1")
            .and_then(|mut statement| statement.query_row([uri.as_str()], read).optional())
            .map_err(|source| self.error(source))
    }

    /// A setting of the copy itself: the operator's URL, the base.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn setting(&self, name: &str) -> Result<Option<String>, StateError> {
        self.connection
            .query_row("SELECT value FROM setting WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(|source| self.error(source))
    }

    /// Sets a setting of the copy.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn set_setting(&mut self, name: &str, value: &str) -> Result<(), StateError> {
        self.connection
            .execute("INSERT OR REPLACE INTO setting (name, value) VALUES (?1, ?2)", [name, value])
            .map(|_| ())
            .map_err(|source| self.error(source))
    }
}

fn read_checkpoint(row: &Row<'_>) -> rusqlite::Result<Checkpoint> {
    let last = match codec::text(row, 1)? {
        Some(_) => Some(PassedEntry {
            uri: codec::uri(row, 1)?,
            datetime: codec::datetime(row, 2)?,
            change: codec::change(row, 3)?,
        }),
        None => None,
    };
    let document = codec::text(row, 4)?.map(|_| codec::uri(row, 4)).transpose()?;
    Ok(Checkpoint {
        datetime: codec::datetime(row, 0)?,
        last,
        document,
        position: row.get::<_, i64>(5)?.cast_unsigned(),
        newest: codec::datetime(row, 6)?,
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
