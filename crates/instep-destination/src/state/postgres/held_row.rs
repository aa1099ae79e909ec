//! A row of a held resource.

use instep_postgres::EngineFault;
use resourcesync::Uri;
use tokio_postgres::Row;

use super::row;
use crate::state::HeldResource;

/// The place of the bytes as one column, NULL unless they are in objects.
macro_rules! place {
    () => {
        "CASE WHEN pack IS NOT NULL THEN \"offset\" || ' ' || packed || ' ' ||
         (SELECT p.key FROM pack AS p WHERE p.copy = held.copy AND p.id = held.pack) END"
    };
}

pub(super) use place;

/// The columns of [`read`].
pub(super) const COLUMNS: &str = concat!(
    "uri, id, sets, length, digests, lastmod, datetime, etag, media_type, links, path, racy, ",
    place!()
);

pub(super) fn read(from: &Row) -> Result<HeldResource, EngineFault> {
    read_with(from, row::uri(from, 0)?)
}

pub(super) fn read_with(from: &Row, uri: Uri) -> Result<HeldResource, EngineFault> {
    Ok(HeldResource {
        uri,
        id: from.try_get(1)?,
        sets: from.try_get(2)?,
        metadata: row::metadata(from, 3)?,
        path: row::path(from, 10)?,
        is_racy: from.try_get(11)?,
        place: row::place(from, 12)?,
    })
}
