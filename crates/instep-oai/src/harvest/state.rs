//! The state of a harvest: the resources that are held, and the place in each list. SQLite.

mod kept;
mod owed;
mod position;
mod recovery;
mod schema;
mod texts;
mod twice;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use instep_store::database::open_reader;
use resourcesync::{Algorithm, Digest, Digests};
use rusqlite::{Connection, Row};

use super::HarvestError;
pub(crate) use kept::RecordEffect;
pub(crate) use position::ListPosition;
pub(crate) use schema::SCHEMA;
pub(crate) use texts::FetchedText;

/// The name of the file in the harvest's own folder.
pub(crate) const STATE: &str = ".instep/harvest/harvest.db";

/// The part of the file that a reading connection keeps in memory, in KiB.
const CACHE_KIB: u32 = 2_048;

/// The kind of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HarvestedKind {
    /// The metadata of a record in one format.
    Record,
    /// The `about` containers of a record.
    About,
    /// A full text that a record names.
    FullText,
}

impl HarvestedKind {
    fn number(self) -> i64 {
        match self {
            Self::Record => 0,
            Self::About => 1,
            Self::FullText => 2,
        }
    }

    fn of(number: i64) -> Self {
        match number {
            0 => Self::Record,
            1 => Self::About,
            _ => Self::FullText,
        }
    }
}

/// A resource that is held.
#[derive(Clone, Debug)]
pub(crate) struct HarvestedFile {
    pub(crate) path: String,
    pub(crate) kind: HarvestedKind,
    pub(crate) format: String,
    pub(crate) identifier: String,
    pub(crate) length: Option<u64>,
    pub(crate) digests: Digests,
    pub(crate) media_type: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) datestamp: String,
    pub(crate) sets: Vec<String>,
}

const COLUMNS: &str = "path, kind, format, identifier, length, digest, media_type, url, coalesce(datestamp, ''), coalesce(sets, '')";

impl HarvestedFile {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut digests = Digests::new();
        if let Some(bytes) = row.get_ref(5)?.as_blob_or_null()? {
            digests.insert(Digest::new(Algorithm::Sha256, bytes).ok_or(rusqlite::Error::InvalidQuery)?);
        }
        let length: Option<i64> = row.get(4)?;
        Ok(Self {
            path: row.get(0)?,
            kind: HarvestedKind::of(row.get(1)?),
            format: row.get(2)?,
            identifier: row.get(3)?,
            length: length.and_then(|length| u64::try_from(length).ok()),
            digests,
            media_type: row.get(6)?,
            url: row.get(7)?,
            datestamp: row.get(8)?,
            sets: row.get_ref(9)?.as_str()?.split_ascii_whitespace().map(str::to_owned).collect(),
        })
    }
}

/// The state of a harvest, read beside the harvest that writes it.
#[derive(Debug)]
pub(crate) struct HarvestStateView(Connection);

impl HarvestStateView {
    /// Opens the state below a folder; `None` if nothing was harvested into it.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(crate) fn open(folder: &Path) -> Result<Option<Self>, HarvestError> {
        let file: PathBuf = folder.join(STATE);
        match fs::metadata(&file) {
            Ok(_) => Ok(Some(Self(open_reader(&file, CACHE_KIB)?))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `true` if each of these formats was harvested to its end once. A list that begins anew, because a comparison
    /// found records that are not held, has no `next_from` until it is complete.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn is_complete(&self, formats: &[String]) -> rusqlite::Result<bool> {
        for format in formats {
            let sql = "SELECT count(*) FROM list
                       WHERE format = ?1 AND (next_from IS NOT NULL OR inventoried_at IS NOT NULL)";
            if self.0.query_row(sql, [format], |row| row.get::<_, i64>(0))? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns `true` if any record can have links to other resources that are held.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn has_companions(&self) -> rusqlite::Result<bool> {
        let sql = "SELECT (SELECT count(*) FROM list) > 1 OR EXISTS (SELECT 1 FROM resource WHERE path < 'records/')";
        self.0.query_row(sql, [], |row| row.get(0))
    }

    /// Passes the resources that are held to `take`, in the order of their paths, until it returns `false`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn each(
        &self,
        take: &mut dyn FnMut(HarvestedFile) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        let sql = format!("SELECT {COLUMNS} FROM resource WHERE digest IS NOT NULL ORDER BY path");
        let mut statement = self.0.prepare_cached(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if !take(HarvestedFile::read(row)?)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the resource at a path; `None` if it is not held.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn at(&self, path: &str) -> rusqlite::Result<Option<HarvestedFile>> {
        let sql = format!("SELECT {COLUMNS} FROM resource WHERE path = ?1 AND digest IS NOT NULL");
        let mut statement = self.0.prepare_cached(&sql)?;
        let mut rows = statement.query([path])?;
        rows.next()?.map(HarvestedFile::read).transpose()
    }

    /// Returns the other resources of the same item that are held and that a resource may have links to: of a record all of
    /// them, and of each other resource the records, because there may be thousands of full texts.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn companions(&self, of: &HarvestedFile) -> rusqlite::Result<Vec<HarvestedFile>> {
        let linked = match of.kind {
            HarvestedKind::Record => "",
            // The character after a slash ends the range of the paths of records.
            HarvestedKind::About | HarvestedKind::FullText => "AND path >= 'records/' AND path < 'records0'",
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM resource WHERE identifier = ?1 AND path <> ?2 AND digest IS NOT NULL {linked}
             ORDER BY path"
        );
        let mut statement = self.0.prepare_cached(&sql)?;
        statement.query_map([&of.identifier, &of.path], HarvestedFile::read)?.collect()
    }
}

/// The state of a harvest, as the harvest itself writes it.
#[derive(Debug)]
pub(crate) struct HarvestState {
    connection: Connection,
}

impl HarvestState {
    /// Opens the state below a folder, or makes it.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(crate) fn open(folder: &Path) -> Result<Self, HarvestError> {
        Ok(Self { connection: SCHEMA.open(&folder.join(STATE))? })
    }

    /// Returns the harvest that the state is of; `None` at first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn key(&self) -> rusqlite::Result<Option<String>> {
        let mut statement = self.connection.prepare("SELECT value FROM meta WHERE name = 'harvest'")?;
        let mut rows = statement.query([])?;
        rows.next()?.map(|row| row.get(0)).transpose()
    }

    /// Begins another harvest: each list is read again, and missing records are deleted at its end.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn begin_anew(&self, key: &str) -> rusqlite::Result<()> {
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('harvest', ?1)", [key])?;
        self.connection.execute(
            "UPDATE list SET is_open = 0, token = NULL, next_from = NULL, inventoried_at = NULL",
            [],
        )?;
        self.connection.execute("DELETE FROM owed", [])?;
        Ok(())
    }

    /// Returns a full text to fetch, after a path, with its validators; `None` if there is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn owed_after(&self, path: &str) -> rusqlite::Result<Option<OwedText>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT path, url, identifier, etag, modified, digest IS NOT NULL FROM resource
             WHERE kind = 2 AND run = 0 AND path > ?1 ORDER BY path LIMIT 1",
        )?;
        let mut rows = statement.query([path])?;
        let owed = |row: &Row<'_>| {
            Ok(OwedText {
                path: row.get(0)?,
                url: row.get(1)?,
                identifier: row.get(2)?,
                etag: row.get(3)?,
                modified: row.get(4)?,
                is_held: row.get(5)?,
            })
        };
        rows.next()?.map(owed).transpose()
    }
}

/// A full text to fetch.
#[derive(Clone, Debug)]
pub(crate) struct OwedText {
    pub(crate) path: String,
    pub(crate) url: String,
    pub(crate) identifier: String,
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
    /// `true` if an earlier state of it is held.
    pub(crate) is_held: bool,
}

#[cfg(test)]
mod tests;
