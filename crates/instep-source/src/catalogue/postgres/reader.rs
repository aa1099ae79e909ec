//! Reads a catalogue in a database, one page with each statement.

use std::{cell::RefCell, ops::ControlFlow};

use instep_postgres::EngineFault;
use resourcesync::{DateTime, Uri};
use tokio_postgres::Row;

use super::{
    lookup,
    moment::{SourceReader, head},
    row::{count, read_change, read_resource, read_stamp},
    versions,
};
use crate::catalogue::{
    CatalogueError, ChangeRecord, Head, KnownStamp, Resource, ResourceOutline, ResourceTotals,
    ResourceVersion,
    codec::SharedTypes,
    columns::{change_columns, resource_columns},
    counters::HourlyChanges,
    engine::{KeyRange, ReadCatalogue},
    stamp_page::{self, StampPage},
};

/// The rows of a page, for readers of many rows.
const PAGE: i64 = 1_024;

fn totals(row: &Row) -> Result<ResourceTotals, EngineFault> {
    Ok(ResourceTotals { resources: count(row, 0)?, bytes: count(row, 1)? })
}

impl ReadCatalogue for SourceReader {
    fn head(&self) -> Result<Head, CatalogueError> {
        self.read(head)
    }

    fn resources(&self, keys: &[&[u8]]) -> Result<Vec<Option<Resource>>, CatalogueError> {
        self.read(|session, source| {
            let sql = concat!(
                "SELECT ",
                resource_columns!(),
                " FROM resource WHERE source = $1 AND key = ANY($2) ORDER BY key"
            );
            let mut types = SharedTypes::default();
            let rows = session.query(sql, &[&source, &keys])?;
            let rows = rows.iter().map(|row| read_resource(row, &mut types));
            let found = rows.collect::<Result<Vec<_>, _>>()?;
            let at = |key: &&[u8]| found.binary_search_by(|held| held.key.as_slice().cmp(key)).ok();
            Ok(keys.iter().map(|key| at(key).map(|at| found[at].clone())).collect())
        })
    }

    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError> {
        self.read(|session, source| {
            let sql = "SELECT value FROM meta WHERE source = $1 AND name = $2";
            Ok(session.optional(sql, &[&source, &name])?.map(|row| row.try_get(0)).transpose()?)
        })
    }

    fn resources_after(
        &self,
        sets: u64,
        key: &[u8],
        limit: usize,
        types: &mut SharedTypes,
    ) -> Result<Vec<Resource>, CatalogueError> {
        let types = RefCell::new(types);
        self.read(|session, source| {
            let sql = concat!(
                "SELECT ",
                resource_columns!(),
                " FROM resource WHERE source = $1 AND key > $2 AND sets & $3 <> 0 ORDER BY key LIMIT $4"
            );
            let rows = session.query(sql, &[&source, &key, &sets.cast_signed(), &(limit as i64)])?;
            rows.iter().map(|row| read_resource(row, &mut types.borrow_mut())).collect()
        })
    }

    fn changes_after(
        &self,
        sets: u64,
        sequence: u64,
        limit: usize,
        types: &mut SharedTypes,
    ) -> Result<Vec<ChangeRecord>, CatalogueError> {
        let types = RefCell::new(types);
        self.read(|session, source| {
            let sql = concat!(
                "SELECT ",
                change_columns!(),
                " FROM change WHERE source = $1 AND sequence > $2 AND sets & $3 <> 0 ORDER BY sequence LIMIT $4"
            );
            let sequence = i64::try_from(sequence).unwrap_or(i64::MAX);
            let rows = session.query(sql, &[&source, &sequence, &sets.cast_signed(), &(limit as i64)])?;
            rows.iter().map(|row| read_change(row, &mut types.borrow_mut())).collect()
        })
    }

    fn stamps(&self, range: KeyRange<'_>, page: &mut StampPage) -> Result<(), CatalogueError> {
        let rows = self.read(|session, source| {
            let beginning = if range.is_after { ">" } else { ">=" };
            let sql = format!(
                "SELECT key, file_length, mtime_ns, ctime_ns, inode, rehash, sets FROM resource
                 WHERE source = $1 AND key {beginning} $2 AND key < $3 ORDER BY key LIMIT $4"
            );
            session.query(&sql, &[&source, &range.from, &range.to, &(stamp_page::PAGE as i64)])
        })?;
        for row in &rows {
            let known = || {
                let known =
                    KnownStamp { stamp: read_stamp(row, 1)?, rehash: row.try_get(5)?, sets: count(row, 6)? };
                Ok((row.try_get::<_, &[u8]>(0)?, known))
            };
            let (key, known) = known().map_err(|fault: EngineFault| self.link.error(fault))?;
            page.push(key, known);
        }
        Ok(())
    }

    fn count_changes(&self, sets: u64, after: u64) -> Result<u64, CatalogueError> {
        self.read(|session, source| {
            let sql = "SELECT count(*) FROM change WHERE source = $1 AND sequence > $2 AND sets & $3 <> 0";
            count(&session.one(sql, &[&source, &after.cast_signed(), &sets.cast_signed()])?, 0)
        })
    }

    fn sequence_before(&self, datetime: DateTime, (first, last): (u64, u64)) -> Result<u64, CatalogueError> {
        self.read(|session, source| {
            let sql = "SELECT datetime < $3 FROM change WHERE source = $1 AND sequence = $2";
            let (mut older, mut newer) = (first, last + 1);
            while newer - older > 1 {
                let middle = older + (newer - older) / 2;
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
                    [&source, &middle.cast_signed(), &datetime.unix_micros()];
                if session.one(sql, &values)?.try_get(0)? { older = middle } else { newer = middle }
            }
            Ok(older)
        })
    }

    fn totals(&self, set: u8) -> Result<ResourceTotals, CatalogueError> {
        self.read(|session, source| {
            let sql = "SELECT resources, bytes FROM tally WHERE source = $1 AND number = $2";
            let row = session.optional(sql, &[&source, &i64::from(set)])?;
            row.map_or_else(|| Ok(ResourceTotals::default()), |row| totals(&row))
        })
    }

    fn activity(&self, from_hour: i64) -> Result<Vec<HourlyChanges>, CatalogueError> {
        self.read(|session, source| {
            let sql =
                "SELECT hour, kind, changes FROM activity WHERE source = $1 AND hour >= $2 ORDER BY 1, 2";
            let rows = session.query(sql, &[&source, &from_hour])?;
            let counted = |row: &Row| {
                let (hour, kind) = (row.try_get(0)?, row.try_get(1)?);
                Ok(HourlyChanges { hour, kind, changes: count(row, 2)? })
            };
            rows.iter().map(counted).collect()
        })
    }

    fn outlines(&self, sets: u64, visit: &mut dyn FnMut(ResourceOutline<'_>)) -> Result<(), CatalogueError> {
        let mut after = Vec::new();
        loop {
            let rows = self.read(|session, source| {
                let sql = "SELECT key, uri, length, media_type FROM resource
                           WHERE source = $1 AND key > $2 AND sets & $3 <> 0 ORDER BY key LIMIT $4";
                session.query(sql, &[&source, &after, &sets.cast_signed(), &PAGE])
            })?;
            let outline = |row: &Row, visit: &mut dyn FnMut(ResourceOutline<'_>)| {
                let length = row.try_get::<_, Option<i64>>(2)?.map(i64::cast_unsigned);
                let (key, uri, media_type) = (row.try_get(0)?, row.try_get(1)?, row.try_get(3)?);
                visit(ResourceOutline { key, uri, length, media_type });
                Ok(key.to_vec())
            };
            for row in &rows {
                after = outline(row, visit).map_err(|fault: EngineFault| self.link.error(fault))?;
            }
            if (rows.len() as i64) < PAGE {
                return Ok(());
            }
        }
    }

    fn resources_from(
        &self,
        key: &[u8],
        visit: &mut dyn FnMut(Resource) -> Result<ControlFlow<()>, CatalogueError>,
    ) -> Result<(), CatalogueError> {
        lookup::resources_from(self, key, visit)
    }

    fn totals_between(&self, from: &[u8], to: &[u8], most: u64) -> Result<ResourceTotals, CatalogueError> {
        self.read(|session, source| {
            let sql = "SELECT count(*), COALESCE(sum(length), 0)::bigint FROM
                       (SELECT length FROM resource WHERE source = $1 AND key >= $2 AND key < $3 LIMIT $4) AS first_ones";
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            totals(&session.one(sql, &[&source, &from, &to, &most])?)
        })
    }

    fn matching(
        &self,
        patterns: &[String],
        range: (&[u8], &[u8]),
        most: usize,
    ) -> Result<Vec<Resource>, CatalogueError> {
        lookup::matching(self, patterns, range, most)
    }

    fn changes_of(&self, uri: &Uri, after: u64, most: usize) -> Result<Vec<ChangeRecord>, CatalogueError> {
        lookup::changes_of(self, uri, after, most)
    }

    fn versions(&self, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError> {
        self.read(|session, source| versions::of(session, source, uri))
    }

    fn versions_since(&self, uris: &[&Uri]) -> Result<Vec<Option<DateTime>>, CatalogueError> {
        self.read(|session, source| versions::since(session, source, uris))
    }

    fn file_damage(&self) -> Result<Vec<String>, CatalogueError> {
        Ok(Vec::new())
    }
}
