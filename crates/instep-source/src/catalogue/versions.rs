//! The versions of resources (§14.6): each state with the time since when it was that of the resource.

use resourcesync::{DateTime, Digests, Uri};
use rusqlite::params;

use super::{
    Catalogue, CatalogueError, ResourceState, Snapshot,
    error::Doing,
    ledger::ChangeLog,
    row::{StateColumns, StateReader, write_digests},
};

const KEEPING: &str = "keeping a version";
const READING: &str = "reading versions";

/// A version of a resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceVersion {
    /// Since when the resource was so.
    pub datetime: DateTime,
    /// Its state; `None` if it was not there.
    pub state: Option<ResourceState>,
}

impl ResourceVersion {
    /// A version since then.
    pub fn new(datetime: DateTime, state: Option<ResourceState>) -> Self {
        Self { datetime, state }
    }
}

/// The limits on versions that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// Versions of one resource.
    pub(crate) count: usize,
    /// Versions that were superseded before then go.
    pub(crate) since: DateTime,
}

impl Catalogue {
    /// Keeps versions, and a value beside them. Returns the digests of states that are no version any more.
    ///
    /// # Errors
    /// If the file cannot be written; then none of them is kept.
    pub(crate) fn keep_versions(
        &self,
        versions: Vec<(Uri, ResourceVersion)>,
        keep: Keep,
        beside: (String, Option<Vec<u8>>),
    ) -> Result<Vec<Digests>, CatalogueError> {
        self.writer.run(move |ledger| {
            let mut dropped = Vec::new();
            for (uri, version) in &versions {
                ledger.keep_version(uri, version)?;
                dropped.extend(ledger.drop_versions(uri, keep)?);
            }
            ledger.set_meta(&[beside])?;
            ledger.unreferenced(dropped)
        })
    }
}

impl Catalogue {
    /// Returns those of the digests that no version has.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn without_version(&self, digests: Vec<Digests>) -> Result<Vec<Digests>, CatalogueError> {
        self.writer.run(move |ledger| ledger.unreferenced(digests))
    }
}

impl ChangeLog<'_> {
    fn keep_version(&mut self, uri: &Uri, version: &ResourceVersion) -> Result<(), CatalogueError> {
        let gone = ResourceState::new();
        let columns = StateColumns::new(version.state.as_ref().unwrap_or(&gone));
        self.prepare("INSERT OR IGNORE INTO version VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
            .execute(
                columns.between(
                    params![uri.as_str(), version.datetime.unix_micros(), version.state.is_none()],
                    &[],
                ),
            )
            .doing(KEEPING)
            .map(drop)
    }

    /// Drops the versions beyond the number, and those that were superseded too long ago.
    fn drop_versions(&mut self, uri: &Uri, keep: Keep) -> Result<Vec<Digests>, CatalogueError> {
        let mut statement = self.prepare(SELECT)?;
        let versions = read(&mut statement, uri)?;
        let surplus = versions.len().saturating_sub(keep.count.max(1));
        let old = versions.windows(2).take_while(|pair| pair[1].datetime < keep.since).count();
        let leaving = &versions[..surplus.max(old)];
        let Some(last) = leaving.last() else { return Ok(Vec::new()) };
        self.prepare("DELETE FROM version WHERE uri = ?1 AND datetime <= ?2")?
            .execute(params![uri.as_str(), last.datetime.unix_micros()])
            .doing(KEEPING)?;
        Ok(leaving.iter().filter_map(|version| Some(version.state.as_ref()?.digests.clone())).collect())
    }

    /// Those of the digests that no version has.
    fn unreferenced(&mut self, mut digests: Vec<Digests>) -> Result<Vec<Digests>, CatalogueError> {
        let mut find = self.prepare("SELECT 1 FROM version WHERE digests = ?1 LIMIT 1")?;
        let mut failed = Ok(());
        digests.retain(|digests| {
            let found = find.exists([write_digests(digests)]).doing(READING);
            found.map_or_else(
                |error| {
                    failed = Err(error);
                    false
                },
                |found| !found,
            )
        });
        failed.map(|()| digests)
    }
}

const SELECT: &str =
    "SELECT datetime, gone, lastmod, length, digests, media_type, encoding, changefreq, links
     FROM version WHERE uri = ?1 ORDER BY datetime";

impl Snapshot {
    /// The versions of a resource, oldest first.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn versions(&self, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError> {
        let mut statement = self.connection()?.prepare_cached(SELECT).doing(READING)?;
        read(&mut statement, uri)
    }

    /// Since when a resource is as it is, as far as versions are kept.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn version_since(&self, uri: &Uri) -> Result<Option<DateTime>, CatalogueError> {
        let micros: Option<i64> = self
            .connection()?
            .prepare_cached("SELECT max(datetime) FROM version WHERE uri = ?1")
            .and_then(|mut statement| statement.query_row([uri.as_str()], |row| row.get(0)))
            .doing(READING)?;
        Ok(micros.map(DateTime::from_unix_micros))
    }
}

fn read(statement: &mut rusqlite::Statement<'_>, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError> {
    let mut reader = StateReader::default();
    let mut rows = statement.query([uri.as_str()]).doing(READING)?;
    let mut versions = Vec::new();
    while let Some(row) = rows.next().doing(READING)? {
        let gone: bool = row.get(1).doing(READING)?;
        let state = if gone { None } else { Some(reader.read(row, 2, uri)?) };
        let datetime = DateTime::from_unix_micros(row.get(0).doing(READING)?);
        versions.push(ResourceVersion::new(datetime, state));
    }
    Ok(versions)
}
