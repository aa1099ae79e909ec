//! The versions of resources in the file.

use std::collections::BTreeSet;

use resourcesync::{DateTime, Digests, Uri};
use rusqlite::{Connection, Statement, params};

use super::{
    row::{StateColumns, read_state},
    rows::FileRows,
};
use crate::catalogue::{
    CatalogueError, Keep, ResourceState, ResourceVersion,
    codec::{SharedTypes, write_digests},
    error::Doing,
};

const KEEPING: &str = "keeping a version";
const READING: &str = "reading versions";
const SELECT: &str =
    "SELECT datetime, gone, lastmod, length, digests, media_type, encoding, changefreq, links
     FROM version WHERE uri = ?1 ORDER BY datetime";

pub(super) fn of(connection: &Connection, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError> {
    read(&mut *connection.prepare_cached(SELECT).doing(READING)?, uri)
}

pub(super) fn since(connection: &Connection, uris: &[&Uri]) -> Result<Vec<Option<DateTime>>, CatalogueError> {
    let sql = "SELECT max(datetime) FROM version WHERE uri = ?1";
    let mut statement = connection.prepare_cached(sql).doing(READING)?;
    let mut since = |uri: &Uri| {
        let micros: Option<i64> = statement.query_row([uri.as_str()], |row| row.get(0))?;
        Ok(micros.map(DateTime::from_unix_micros))
    };
    uris.iter().map(|uri| since(uri)).collect::<rusqlite::Result<_>>().doing(READING)
}

impl FileRows<'_> {
    pub(super) fn put_versions(
        &mut self,
        versions: &[(Uri, ResourceVersion)],
        keep: Keep,
    ) -> Result<Vec<Digests>, CatalogueError> {
        let gone = ResourceState::new();
        let mut insert =
            self.prepare("INSERT OR IGNORE INTO version VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
        for (uri, version) in versions {
            let columns = StateColumns::new(version.state.as_ref().unwrap_or(&gone));
            let own = params![uri.as_str(), version.datetime.unix_micros(), version.state.is_none()];
            insert.execute(columns.between(own, &[])).doing(KEEPING)?;
        }
        let mut dropped = Vec::new();
        let mut seen = BTreeSet::new();
        for (uri, _) in versions.iter().filter(|(uri, _)| seen.insert(uri.as_str())) {
            self.drop_versions(uri, keep, &mut dropped)?;
        }
        Ok(dropped)
    }

    /// Drops the versions beyond the number, and those that were superseded too long ago.
    fn drop_versions(
        &mut self,
        uri: &Uri,
        keep: Keep,
        dropped: &mut Vec<Digests>,
    ) -> Result<(), CatalogueError> {
        let versions = read(&mut *self.prepare(SELECT)?, uri)?;
        let datetimes: Vec<_> = versions.iter().map(|version| version.datetime).collect();
        let leaving = &versions[..keep.leaving(&datetimes)];
        let Some(last) = leaving.last() else { return Ok(()) };
        self.prepare("DELETE FROM version WHERE uri = ?1 AND datetime <= ?2")?
            .execute(params![uri.as_str(), last.datetime.unix_micros()])
            .doing(KEEPING)?;
        dropped.extend(leaving.iter().filter_map(|version| Some(version.state.as_ref()?.digests.clone())));
        Ok(())
    }

    pub(super) fn without_version(&self, digests: &[Digests]) -> Result<Vec<Digests>, CatalogueError> {
        let mut find = self.prepare("SELECT 1 FROM version WHERE digests = ?1 LIMIT 1")?;
        let mut unreferenced = Vec::new();
        for digests in digests {
            if !find.exists([write_digests(digests)]).doing(READING)? {
                unreferenced.push(digests.clone());
            }
        }
        Ok(unreferenced)
    }
}

fn read(statement: &mut Statement<'_>, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError> {
    let mut types = SharedTypes::default();
    let mut rows = statement.query([uri.as_str()]).doing(READING)?;
    let mut versions = Vec::new();
    while let Some(row) = rows.next().doing(READING)? {
        let gone: bool = row.get(1).doing(READING)?;
        let state = if gone { None } else { Some(read_state(row, 2, uri, &mut types)?) };
        let datetime = DateTime::from_unix_micros(row.get(0).doing(READING)?);
        versions.push(ResourceVersion::new(datetime, state));
    }
    Ok(versions)
}
