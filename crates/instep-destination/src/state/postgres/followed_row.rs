//! The rows of what a copy follows: sets with their checkpoints, documents, Sources and settings.

use std::collections::{BTreeMap, BTreeSet};

use instep_postgres::{EngineFault, Session};
use resourcesync::Uri;
use tokio_postgres::Row;

use super::{copy_table::CopyTable, row};
use crate::state::{Checkpoint, DocumentRecord, PassedEntry, SetId, SourceId, codec};

pub(super) fn set_id(from: &Row, column: usize) -> Result<SetId, EngineFault> {
    u8::try_from(from.try_get::<_, i64>(column)?).map(SetId).map_err(row::value)
}

/// Returns a digest of 32 bytes; `None` if there is none.
fn digest(from: &Row, column: usize) -> Result<Option<[u8; 32]>, EngineFault> {
    let bytes: Option<&[u8]> = from.try_get(column)?;
    bytes.map(<[u8; 32]>::try_from).transpose().map_err(row::value)
}

/// A set that the copy follows.
#[derive(Clone, Debug)]
pub(super) struct FollowedSet {
    pub(super) id: SetId,
    pub(super) uri: String,
    pub(super) source: Option<SourceId>,
    /// The checkpoint; `None` before its first baseline synchronization is complete.
    pub(super) checkpoint: Option<Checkpoint>,
}

/// Returns all settings of a copy, by name.
pub(super) fn settings(session: &Session, copy: i64) -> Result<BTreeMap<String, String>, EngineFault> {
    let rows = session.query("SELECT name, value FROM setting WHERE copy = $1", &[&copy])?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Returns the tables in which a copy has rows.
pub(super) fn filled_tables(session: &Session, copy: i64) -> Result<BTreeSet<CopyTable>, EngineFault> {
    let exists =
        CopyTable::ALL.map(|table| format!("EXISTS (SELECT 1 FROM {} WHERE copy = $1)", table.name()));
    let row = session.one(&format!("SELECT {}", exists.join(", ")), &[&copy])?;
    let mut filled = BTreeSet::new();
    for (column, table) in CopyTable::ALL.into_iter().enumerate() {
        if row.try_get(column)? {
            filled.insert(table);
        }
    }
    Ok(filled)
}

/// Returns the Sources of a copy.
pub(super) fn sources(session: &Session, copy: i64) -> Result<Vec<(SourceId, String)>, EngineFault> {
    let rows = session.query("SELECT id, url FROM source WHERE copy = $1 ORDER BY id", &[&copy])?;
    rows.iter().map(|row| Ok((SourceId::from_number(row.try_get(0)?), row.try_get(1)?))).collect()
}

/// Returns the sets of a copy.
pub(super) fn sets(session: &Session, copy: i64) -> Result<Vec<FollowedSet>, EngineFault> {
    let sql =
        format!("SELECT {CHECKPOINT}, id, uri, source FROM set_of_resources WHERE copy = $1 ORDER BY id");
    let read = |from: &Row| {
        // The row of a set exists before its first baseline synchronization is complete. It then has none of these
        // values.
        let has_checkpoint = [0, 1, 4].map(|column| row::text(from, column));
        let has_checkpoint = has_checkpoint.into_iter().collect::<Result<Vec<_>, _>>()?;
        let is_complete = has_checkpoint.iter().any(Option::is_some);
        Ok(FollowedSet {
            id: set_id(from, 8)?,
            uri: from.try_get(9)?,
            source: from.try_get::<_, Option<i64>>(10)?.map(SourceId::from_number),
            checkpoint: is_complete.then(|| read_checkpoint(from)).transpose()?,
        })
    };
    session.query(&sql, &[&copy])?.iter().map(read).collect()
}

/// The columns of [`read_document`].
pub(super) const DOCUMENT: &str = "uri, etag, last_modified, digest, at, extra";

pub(super) fn read_document(from: &Row) -> Result<DocumentRecord, EngineFault> {
    Ok(DocumentRecord {
        uri: row::uri(from, 0)?,
        etag: row::boxed(from, 1)?,
        last_modified: row::boxed(from, 2)?,
        digest: digest(from, 3)?,
        at: row::datetime(from, 4)?,
        extra: row::boxed(from, 5)?,
    })
}

/// The columns of [`read_checkpoint`].
pub(super) const CHECKPOINT: &str =
    "datetime, last_uri, last_datetime, last_change, document, position, newest, leading_digest";

pub(super) fn read_checkpoint(from: &Row) -> Result<Checkpoint, EngineFault> {
    let last = match row::text(from, 1)? {
        Some(_) => Some(PassedEntry {
            uri: row::uri(from, 1)?,
            datetime: row::datetime(from, 2)?,
            change: row::change(from, 3)?,
        }),
        None => None,
    };
    Ok(Checkpoint {
        datetime: row::datetime(from, 0)?,
        last,
        document: row::text(from, 4)?.map(|_| row::uri(from, 4)).transpose()?,
        position: row::count(from, 5)?,
        newest: row::datetime(from, 6)?,
        leading: digest(from, 7)?,
    })
}

/// Returns the Source with a URL.
pub(super) fn known_source(session: &Session, copy: i64, url: &str) -> Result<Option<SourceId>, EngineFault> {
    let found = session.optional("SELECT id FROM source WHERE copy = $1 AND url = $2", &[&copy, &url])?;
    Ok(found.map(|row| row.try_get(0)).transpose()?.map(SourceId::from_number))
}

/// Writes a Source that is not known yet.
pub(super) fn put_source(session: &Session, copy: i64, url: &str) -> Result<SourceId, EngineFault> {
    let sql = "INSERT INTO source (copy, url) VALUES ($1, $2) RETURNING id";
    Ok(SourceId::from_number(session.one(sql, &[&copy, &url])?.try_get(0)?))
}

/// Records that a set belongs to a Source.
pub(super) fn put_owner(
    session: &Session,
    copy: i64,
    set: SetId,
    source: SourceId,
) -> Result<(), EngineFault> {
    let sql =
        "UPDATE set_of_resources SET source = $3 WHERE copy = $1 AND id = $2 AND source IS DISTINCT FROM $3";
    session.execute(sql, &[&copy, &i64::from(set.0), &source.number()]).map(drop)
}

pub(super) fn put_checkpoint(
    session: &Session,
    copy: i64,
    set: SetId,
    checkpoint: &Checkpoint,
) -> Result<(), EngineFault> {
    let last = checkpoint.last.as_ref();
    let sql =
        "UPDATE set_of_resources SET datetime = $3, last_uri = $4, last_datetime = $5, last_change = $6,
               document = $7, position = $8, newest = $9, leading_digest = $10 WHERE copy = $1 AND id = $2";
    session.execute(
        sql,
        &[
            &copy,
            &i64::from(set.0),
            &codec::datetime_text(checkpoint.datetime.as_ref()),
            &last.map(|last| last.uri.as_str()),
            &codec::datetime_text(last.and_then(|last| last.datetime.as_ref())),
            &last.map(|last| last.change.as_str()),
            &checkpoint.document.as_ref().map(Uri::as_str),
            &checkpoint.position.cast_signed(),
            &codec::datetime_text(checkpoint.newest.as_ref()),
            &checkpoint.leading.as_ref().map(|leading| &leading[..]),
        ],
    )?;
    Ok(())
}

pub(super) fn put_document(
    session: &Session,
    copy: i64,
    document: &DocumentRecord,
) -> Result<(), EngineFault> {
    let sql = "INSERT INTO document (copy, uri, etag, last_modified, digest, at, extra) VALUES ($1, $2, $3, $4, $5, $6, $7)
               ON CONFLICT (copy, uri) DO UPDATE SET etag = excluded.etag, last_modified = excluded.last_modified,
               digest = excluded.digest, at = excluded.at, extra = excluded.extra";
    session.execute(
        sql,
        &[
            &copy,
            &document.uri.as_str(),
            &document.etag.as_deref(),
            &document.last_modified.as_deref(),
            &document.digest.as_ref().map(|digest| &digest[..]),
            &codec::datetime_text(document.at.as_ref()),
            &document.extra.as_deref(),
        ],
    )?;
    Ok(())
}

/// Writes settings, replacing those of the same names.
pub(super) fn put_settings(
    session: &Session,
    copy: i64,
    settings: &BTreeMap<String, String>,
) -> Result<(), EngineFault> {
    if settings.is_empty() {
        return Ok(());
    }
    let (names, values): (Vec<_>, Vec<_>) = settings.iter().unzip();
    let sql =
        "INSERT INTO setting (copy, name, value) SELECT $1::bigint, * FROM unnest($2::text[], $3::text[])
               ON CONFLICT (copy, name) DO UPDATE SET value = excluded.value";
    session.execute(sql, &[&copy, &names, &values]).map(drop)
}
