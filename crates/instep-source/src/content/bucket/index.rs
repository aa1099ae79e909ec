//! The index of the objects of a bucket: an SQLite file beside the catalogue.

use std::{fs, io, path::Path};

use instep_objects::{ListedObject, ObjectPlace};
use instep_store::database::Schema;
use resourcesync::{Algorithm, Digests};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// The folder of the file.
const FOLDER: &str = ".instep";

const SCHEMA: Schema = Schema {
    // "iobj"
    application_id: 0x696f_626a,
    steps: &[TABLES],
    settings: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8192;",
    has_unnumbered_files: false,
};

/// The listing that named an object last has its number in `listing`.
const TABLES: &str = "
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE object (
    path TEXT NOT NULL PRIMARY KEY, length INTEGER NOT NULL, etag TEXT, modified INTEGER NOT NULL,
    digests TEXT NOT NULL, media_type TEXT, listing INTEGER NOT NULL
) WITHOUT ROWID;
";

const COLUMNS: &str = "path, length, etag, modified, digests, media_type";

/// An object with known digests.
#[derive(Clone, Debug)]
pub(super) struct IndexedObject {
    pub(super) path: String,
    pub(super) length: u64,
    pub(super) etag: Option<String>,
    pub(super) modified: i64,
    pub(super) digests: Digests,
    pub(super) media_type: Option<String>,
}

impl IndexedObject {
    /// Returns `true` if a listing names the same object. Services give the time of one object in seconds and list it
    /// in milliseconds, so the validator decides before the time.
    fn is(&self, object: &ListedObject) -> bool {
        let seconds = |micros: i64| micros.div_euclid(1_000_000);
        let is_same_time = match self.etag {
            Some(_) => seconds(self.modified) == seconds(object.modified),
            None => self.modified == object.modified,
        };
        self.length == object.length && self.etag == object.etag && is_same_time
    }
}

/// The moment that a listing describes.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListingTime {
    /// The present.
    Now,
    /// A time in microseconds since 1970: the bucket may have changed since.
    At(i64),
}

impl ListingTime {
    /// Returns `true` for an object that may have been put after the listing.
    fn is_before(self, modified: i64) -> bool {
        modified >= self.end()
    }

    /// Returns the time from which on it does not cover objects.
    fn end(self) -> i64 {
        match self {
            Self::Now => i64::MAX,
            Self::At(time) => time,
        }
    }
}

/// The index of a bucket.
#[derive(Debug)]
pub(super) struct ObjectIndex {
    connection: Connection,
    /// The number of the listing that is read.
    listing: i64,
}

impl ObjectIndex {
    /// Opens the index in a folder; an index of another place is started again.
    ///
    /// # Errors
    /// If it was written by a newer version, or the disk fails.
    pub(super) fn open(folder: &Path, place: &ObjectPlace) -> io::Result<Self> {
        let own = folder.join(FOLDER);
        fs::create_dir_all(&own)?;
        // Several sets may take objects of several places.
        let place = place.to_string();
        let file = format!("objects-{}.sqlite", &blake3::hash(place.as_bytes()).to_hex()[..16]);
        let connection = SCHEMA.open(&own.join(file)).map_err(io::Error::other)?;
        let index = Self { connection, listing: 0 };
        if index.meta("place")?.as_deref() != Some(&place) {
            index.run("DELETE FROM object", params![])?;
            index.set_meta("place", &place)?;
        }
        let last = index.meta("listing")?.and_then(|last| last.parse().ok()).unwrap_or(0);
        Ok(Self { listing: last, ..index })
    }

    /// Begins a listing.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.listing += 1;
        self.set_meta("listing", &self.listing.to_string())
    }

    /// Removes objects that a complete listing did not name, unless they were put later, and keeps the identity of an
    /// inventory that was read completely.
    pub(super) fn finish(&mut self, time: ListingTime, inventory: Option<String>) -> io::Result<()> {
        // First, because an inventory that counts as read is not read again after a kill in between (O439).
        let sql = "DELETE FROM object WHERE listing <> ?1 AND modified < ?2";
        self.run(sql, params![self.listing, time.end()])?;
        self.set_meta("inventory", inventory.as_deref().unwrap_or_default())
    }

    /// Marks objects as listed, and returns those whose bytes may have changed, or of which a digest is missing.
    pub(super) fn meet(
        &mut self,
        listed: &[ListedObject],
        hash: &[Algorithm],
        time: ListingTime,
    ) -> io::Result<Vec<ListedObject>> {
        let mut changed = Vec::new();
        let transaction = self.connection.unchecked_transaction().map_err(io::Error::other)?;
        for object in listed {
            let known = self.at(&object.name)?;
            if known.is_some() {
                // Also a changed one: while its bytes cannot be read, the previous metadata stays.
                let sql = "UPDATE object SET listing = ?2 WHERE path = ?1";
                self.run(sql, params![object.name, self.listing])?;
            }
            let is_same = known.is_some_and(|known| {
                (known.is(object) || time.is_before(known.modified) && known.modified > object.modified)
                    && hash.iter().all(|algorithm| known.digests.get(algorithm).is_some())
            });
            if !is_same {
                changed.push(object.clone());
            }
        }
        transaction.commit().map_err(io::Error::other)?;
        Ok(changed)
    }

    /// Records the present metadata of an object.
    pub(super) fn put(&mut self, object: &IndexedObject) -> io::Result<()> {
        let IndexedObject { path, length, etag, modified, digests, media_type } = object;
        let length = length.cast_signed();
        self.run(
            "INSERT OR REPLACE INTO object (path, length, etag, modified, digests, media_type, listing)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![path, length, etag, modified, digests.to_string(), media_type, self.listing],
        )
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&mut self, path: &str) -> io::Result<()> {
        self.run("DELETE FROM object WHERE path = ?1", params![path])
    }

    /// Returns the identity of the last inventory; `None` if a listing was read instead, or if the inventory had
    /// faults.
    pub(super) fn inventory(&self) -> io::Result<Option<String>> {
        Ok(self.meta("inventory")?.filter(|identity| !identity.is_empty()))
    }

    /// Returns the metadata of the object at a path.
    pub(super) fn at(&self, path: &str) -> io::Result<Option<IndexedObject>> {
        let find = || {
            self.connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM object WHERE path = ?1"))?
                .query_row([path], read)
                .optional()
        };
        find().map_err(io::Error::other)
    }

    /// Returns the next objects in the order of the bytes of their paths.
    pub(super) fn after(&self, path: &str, limit: usize) -> io::Result<Vec<IndexedObject>> {
        let page = || {
            let sql = format!("SELECT {COLUMNS} FROM object WHERE path > ?1 ORDER BY path LIMIT ?2");
            self.connection
                .prepare_cached(&sql)?
                .query_map(params![path, limit as i64], read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(io::Error::other)
    }

    fn meta(&self, name: &str) -> io::Result<Option<String>> {
        let sql = "SELECT value FROM meta WHERE name = ?1";
        let value = self.connection.query_row(sql, [name], |row| row.get(0)).optional();
        value.map_err(io::Error::other)
    }

    fn set_meta(&self, name: &str, value: &str) -> io::Result<()> {
        self.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)", params![name, value])
    }

    fn run(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> io::Result<()> {
        let ran = self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values));
        ran.map(drop).map_err(io::Error::other)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<IndexedObject> {
    let digests: String = row.get(4)?;
    let digests = digests.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, Box::new(error))
    })?;
    Ok(IndexedObject {
        path: row.get(0)?,
        length: row.get::<_, i64>(1)?.cast_unsigned(),
        etag: row.get(2)?,
        modified: row.get(3)?,
        digests,
        media_type: row.get(5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o439_an_inventory_counts_as_read_once_what_it_lacks_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut index =
            ObjectIndex::open(folder.path(), &ObjectPlace::parse("s3://bucket").unwrap()).unwrap();
        let (path, digests) = ("gone".to_owned(), Digests::new());
        let object = IndexedObject { path, length: 0, etag: None, modified: 1, digests, media_type: None };
        index.put(&object).unwrap();
        index.begin().unwrap();
        let faulty = "CREATE TEMP TRIGGER faulty BEFORE DELETE ON main.object
                      BEGIN SELECT RAISE(ABORT, 'faulty'); END";
        index.connection.execute_batch(faulty).unwrap();
        let inventory = || Some("inventory".to_owned());
        index.finish(ListingTime::Now, inventory()).unwrap_err();
        assert_eq!(index.inventory().unwrap(), None);
        index.connection.execute_batch("DROP TRIGGER faulty").unwrap();
        index.finish(ListingTime::Now, inventory()).unwrap();
        assert_eq!(index.inventory().unwrap(), inventory());
    }
}
