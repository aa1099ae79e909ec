//! Searches by folder, by a part of the URI, and in the history of one resource.

use std::ops::ControlFlow;

use resourcesync::Uri;

use super::{
    moment::SourceReader,
    row::{read_change, read_resource},
};
use crate::catalogue::{
    CatalogueError, ChangeRecord, Resource,
    codec::SharedTypes,
    columns::{change_columns, resource_columns},
};

/// The sizes of the first and of the largest page of a walk: most walks end after a few rows.
const PAGES: (i64, i64) = (16, 512);

pub(super) fn resources_from(
    reader: &SourceReader,
    key: &[u8],
    visit: &mut dyn FnMut(Resource) -> Result<ControlFlow<()>, CatalogueError>,
) -> Result<(), CatalogueError> {
    let (mut from, mut limit) = (key.to_vec(), PAGES.0);
    loop {
        let page = reader.read(|session, source| {
            let sql = concat!(
                "SELECT ",
                resource_columns!(),
                " FROM resource WHERE source = $1 AND key >= $2 ORDER BY key LIMIT $3"
            );
            let mut types = SharedTypes::default();
            let rows = session.query(sql, &[&source, &from, &limit])?;
            rows.iter().map(|row| read_resource(row, &mut types)).collect::<Result<Vec<_>, _>>()
        })?;
        let is_last = (page.len() as i64) < limit;
        // The smallest key after the last one: no key lies between a key and the same key with a zero byte appended.
        from = page.last().map_or_else(Vec::new, |last| [&last.key, &b"\0"[..]].concat());
        for resource in page {
            if visit(resource)?.is_break() {
                return Ok(());
            }
        }
        if is_last {
            return Ok(());
        }
        limit = (limit * 4).min(PAGES.1);
    }
}

pub(super) fn matching(
    reader: &SourceReader,
    patterns: &[String],
    (from, to): (&[u8], &[u8]),
    most: usize,
) -> Result<Vec<Resource>, CatalogueError> {
    reader.read(|session, source| {
        // ASCII letters match in both cases; a URI has no other letters.
        let sql = concat!(
            "SELECT ",
            resource_columns!(),
            " FROM resource WHERE source = $1 AND key >= $2 AND key < $3
             AND NOT EXISTS (SELECT 1 FROM unnest($4::text[]) AS wanted(pattern) WHERE uri NOT ILIKE pattern)
             ORDER BY key LIMIT $5"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut types = SharedTypes::default();
        let rows = session.query(sql, &[&source, &from, &to, &patterns, &most])?;
        rows.iter().map(|row| read_resource(row, &mut types)).collect()
    })
}

pub(super) fn changes_of(
    reader: &SourceReader,
    uri: &Uri,
    after: u64,
    most: usize,
) -> Result<Vec<ChangeRecord>, CatalogueError> {
    reader.read(|session, source| {
        let sql = concat!(
            "SELECT ",
            change_columns!(),
            " FROM change WHERE source = $1 AND sequence > $2 AND uri = $3 ORDER BY sequence DESC LIMIT $4"
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut types = SharedTypes::default();
        let rows = session.query(sql, &[&source, &after.cast_signed(), &uri.as_str(), &most])?;
        rows.iter().map(|row| read_change(row, &mut types)).collect()
    })
}
