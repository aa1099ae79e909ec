//! Changes of the copy, recorded in the transaction that makes them and kept until a change sink has accepted them.

use instep_postgres::{EngineFault, Session};
use resourcesync::Change;
use tokio_postgres::Row;

use super::row;
use crate::changes::CopyChange;

/// Records changes of held resources, but not of versions that are kept beside them. It must run after rows were
/// written, or before they are removed, because it copies their values.
pub(super) fn record(session: &Session, copy: i64, changes: &[(&str, Change)]) -> Result<(), EngineFault> {
    let sql = "INSERT INTO change (copy, change, uri, path, length, digests, lastmod, datetime)
         SELECT h.copy, c.change, h.uri, h.path, h.length, h.digests, h.lastmod, h.datetime
         FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS c(uri, change, n)
         JOIN held h ON h.copy = $1 AND h.uri = c.uri WHERE strpos(h.uri, '#') = 0 ORDER BY c.n";
    let uris: Vec<_> = changes.iter().map(|(uri, _)| *uri).collect();
    let kinds: Vec<_> = changes.iter().map(|(_, change)| change.as_str().to_owned()).collect();
    session.execute(sql, &[&copy, &uris, &kinds])?;
    Ok(())
}

/// Returns the first changes, in their order.
pub(super) fn first(session: &Session, copy: i64, limit: usize) -> Result<Vec<CopyChange>, EngineFault> {
    let sql = "SELECT sequence, change, uri, path, length, digests, lastmod, datetime FROM change
               WHERE copy = $1 ORDER BY sequence LIMIT $2";
    session.query(sql, &[&copy, &(limit as i64)])?.iter().map(read).collect()
}

/// Reads the change in a row: its sequence, and the columns of the change.
pub(super) fn read(from: &Row) -> Result<CopyChange, EngineFault> {
    Ok(CopyChange {
        sequence: from.try_get(0)?,
        change: row::change(from, 1)?,
        uri: from.try_get(2)?,
        path: from.try_get(3)?,
        length: from.try_get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
        digests: row::digests(from, 5)?,
        lastmod: row::datetime(from, 6)?,
        datetime: row::datetime(from, 7)?,
    })
}
