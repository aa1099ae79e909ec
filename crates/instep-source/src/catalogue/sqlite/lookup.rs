//! Searches by folder, by a part of the URI, and in the history of one resource.

use std::ops::ControlFlow;

use resourcesync::Uri;
use rusqlite::{Connection, params, params_from_iter, types::Value};

use super::row::{read_change, read_resource};
use crate::catalogue::{
    CatalogueError, ChangeRecord, Resource, ResourceTotals,
    codec::SharedTypes,
    columns::{change_columns, resource_columns},
    error::Doing,
};

const READING: &str = "looking for resources";

pub(super) fn resources_from(
    connection: &Connection,
    key: &[u8],
    visit: &mut dyn FnMut(Resource) -> Result<ControlFlow<()>, CatalogueError>,
) -> Result<(), CatalogueError> {
    let sql = concat!("SELECT ", resource_columns!(), " FROM resource WHERE key >= ?1 ORDER BY key");
    let mut statement = connection.prepare_cached(sql).doing(READING)?;
    let mut types = SharedTypes::default();
    let mut rows = statement.query([key]).doing(READING)?;
    while let Some(row) = rows.next().doing(READING)? {
        if visit(read_resource(row, &mut types)?)?.is_break() {
            break;
        }
    }
    Ok(())
}

pub(super) fn totals_between(
    connection: &Connection,
    (from, to): (&[u8], &[u8]),
    most: u64,
) -> Result<ResourceTotals, CatalogueError> {
    connection
        .prepare_cached(
            "SELECT count(*), total(length) FROM
             (SELECT length FROM resource WHERE key >= ?1 AND key < ?2 LIMIT ?3)",
        )
        .and_then(|mut statement| {
            statement.query_row(params![from, to, most as i64], |row| {
                let (resources, bytes) = (row.get::<_, i64>(0)?, row.get::<_, f64>(1)?);
                Ok(ResourceTotals { resources: resources as u64, bytes: bytes as u64 })
            })
        })
        .doing(READING)
}

pub(super) fn matching(
    connection: &Connection,
    patterns: &[String],
    (from, to): (&[u8], &[u8]),
    most: usize,
) -> Result<Vec<Resource>, CatalogueError> {
    let conditions: String =
        (0..patterns.len()).map(|at| format!(" AND uri LIKE ?{} ESCAPE '\\'", at + 4)).collect();
    let sql = format!(
        concat!(
            "SELECT ",
            resource_columns!(),
            " FROM resource WHERE key >= ?1 AND key < ?2{} ORDER BY key LIMIT ?3"
        ),
        conditions
    );
    let mut statement = connection.prepare_cached(&sql).doing(READING)?;
    let bounds = [Value::Blob(from.to_vec()), Value::Blob(to.to_vec()), Value::Integer(most as i64)];
    let patterns = patterns.iter().map(|pattern| Value::Text(pattern.clone()));
    let mut rows = statement.query(params_from_iter(bounds.into_iter().chain(patterns))).doing(READING)?;
    let mut types = SharedTypes::default();
    let mut found = Vec::new();
    while let Some(row) = rows.next().doing(READING)? {
        found.push(read_resource(row, &mut types)?);
    }
    Ok(found)
}

pub(super) fn changes_of(
    connection: &Connection,
    uri: &Uri,
    after: u64,
    most: usize,
) -> Result<Vec<ChangeRecord>, CatalogueError> {
    let sql = concat!(
        "SELECT ",
        change_columns!(),
        " FROM change WHERE sequence > ?1 AND uri = ?2 ORDER BY sequence DESC LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(sql).doing(READING)?;
    let mut rows = statement.query(params![after as i64, uri.as_str(), most as i64]).doing(READING)?;
    let mut types = SharedTypes::default();
    let mut changes = Vec::new();
    while let Some(row) = rows.next().doing(READING)? {
        changes.push(read_change(row, &mut types)?);
    }
    Ok(changes)
}
