//! The newest state of each resource that an archive has seen.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use instep_warc::{PayloadDigest, PayloadHasher};
use resourcesync::{Algorithm, Hasher};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::documents::is_document;

/// The newest state of each resource, without a body if the last visit found it deleted; bodies by the digests that
/// revisits name; and revisits whose bodies were not seen yet.
const TABLES: &str = "
CREATE TABLE newest (
    uri TEXT NOT NULL PRIMARY KEY, date INTEGER NOT NULL, body TEXT, length INTEGER, media_type TEXT, lastmod TEXT
) WITHOUT ROWID;
CREATE INDEX newest_body ON newest (body);
CREATE TABLE payload (digest TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL, length INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE revisit (
    uri TEXT NOT NULL, date INTEGER NOT NULL, digest TEXT NOT NULL, media_type TEXT, lastmod TEXT,
    is_unmodified INTEGER NOT NULL, place TEXT NOT NULL
);
BEGIN";

/// A resource as one record has it.
#[derive(Clone, Debug)]
pub(super) struct UnpackedState {
    /// The SHA-256 of its bytes, which is the name of the file that has them.
    pub(super) body: String,
    pub(super) length: u64,
    pub(super) media_type: Option<String>,
    pub(super) lastmod: Option<String>,
}

/// The states seen so far, in a temporary database: memory does not grow with their number.
pub(super) struct States {
    base_url: String,
    folder: PathBuf,
    pub(super) seen: Connection,
    elsewhere: u64,
}

impl States {
    /// Begins without any.
    ///
    /// # Errors
    /// If the temporary database cannot be made.
    pub(super) fn begin(base_url: &str, folder: &Path) -> rusqlite::Result<Self> {
        let slash = if base_url.ends_with('/') { "" } else { "/" };
        let base_url = format!("{base_url}{slash}");
        let seen = Connection::open("")?;
        seen.execute_batch(TABLES)?;
        Ok(Self { base_url, folder: folder.to_owned(), seen, elsewhere: 0 })
    }

    /// Returns the number of records about resources that are not below the base URL.
    pub(super) fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Counts a record about a resource that is not below the base URL; returns `false` for the others.
    pub(super) fn is_elsewhere(&mut self, uri: &str) -> bool {
        let is_elsewhere = !uri.starts_with(&self.base_url);
        self.elsewhere += u64::from(is_elsewhere);
        is_elsewhere
    }

    /// Puts the state of a resource, unless it is a document of ResourceSync.
    ///
    /// # Errors
    /// If the body cannot be read, or the temporary database fails.
    pub(super) fn put(&self, uri: &str, date: i64, state: &UnpackedState) -> io::Result<()> {
        match is_document(&self.folder.join(&state.body))? {
            true => Ok(()),
            false => self.keep_newest(uri, date, Some(state)),
        }
    }

    /// Stores a state, or the fact that the resource was deleted, unless a newer one is known. An answer that repeats a
    /// body may leave out what it said before.
    pub(super) fn keep_newest(&self, uri: &str, date: i64, state: Option<&UnpackedState>) -> io::Result<()> {
        let sql = "INSERT INTO newest VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (uri) DO UPDATE
                   SET date = ?2, body = ?3, length = ?4,
                       media_type = coalesce(?5, iif(body = ?3, media_type, NULL)),
                       lastmod = coalesce(?6, iif(body = ?3, lastmod, NULL))
                   WHERE date <= ?2";
        let row = params![
            uri,
            date,
            state.map(|state| &state.body),
            state.map(|state| state.length as i64),
            state.and_then(|state| state.media_type.as_ref()),
            state.and_then(|state| state.lastmod.as_ref())
        ];
        let kept = self.seen.prepare_cached(sql).and_then(|mut keep| keep.execute(row));
        kept.map(drop).map_err(io::Error::other)
    }

    /// Returns the file and the length of the body with a digest.
    pub(super) fn payload(&self, digest: &str) -> io::Result<Option<(String, u64)>> {
        let sql = "SELECT body, length FROM payload WHERE digest = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
        let find = || self.seen.prepare_cached(sql)?.query_row([digest], read).optional();
        find().map_err(io::Error::other)
    }

    /// Writes a body to the file of its digest. Returns its name and its length.
    ///
    /// # Errors
    /// Also if it `is_plain` and has another digest than its record states: revisits would find it by that (B38).
    pub(super) fn keep(
        &mut self,
        body: &mut dyn Read,
        digest: Option<&str>,
        is_plain: bool,
    ) -> io::Result<(String, u64)> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        let mut hasher = Hasher::new(&[Algorithm::Sha256]);
        let comparable = digest.filter(|_| is_plain).and_then(PayloadDigest::parse);
        let mut checked = comparable.map(|digest| (digest, PayloadHasher::default()));
        let (mut buffer, mut length) = (vec![0; 64 << 10], 0);
        loop {
            let read = body.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            if let Some((_, payload)) = &mut checked {
                payload.update(&buffer[..read]);
            }
            file.write_all(&buffer[..read])?;
            length += read as u64;
        }
        if let Some((stated, payload)) = checked {
            let found = payload.finish();
            if found != stated {
                let what = format!("its payload has the digest {found} instead of {stated}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
        let name = hasher.finish().to_string();
        let name = name.rsplit(':').next().unwrap_or_default().to_owned();
        let place = self.folder.join(&name);
        if !place.exists() {
            readable(file.as_file())?;
            file.persist(place).map_err(|error| error.error)?;
        }
        if let Some(digest) = digest {
            let sql = "INSERT OR REPLACE INTO payload VALUES (?1, ?2, ?3)";
            let row = params![digest_key(digest), name, length as i64];
            let kept = self.seen.prepare_cached(sql).and_then(|mut keep| keep.execute(row));
            kept.map_err(io::Error::other)?;
        }
        Ok((name, length))
    }

    /// Passes on the resources that were there when they were visited last, in the order of their URIs. Returns their number.
    ///
    /// # Errors
    /// If they cannot be read, or `take` fails.
    pub(super) fn each(
        &self,
        take: &mut dyn FnMut(&str, &UnpackedState) -> io::Result<()>,
    ) -> anyhow::Result<u64> {
        let sql =
            "SELECT uri, body, length, media_type, lastmod FROM newest WHERE body IS NOT NULL ORDER BY uri";
        let mut statement = self.seen.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let length = row.get::<_, i64>(2)?.unsigned_abs();
            let state =
                UnpackedState { body: row.get(1)?, length, media_type: row.get(3)?, lastmod: row.get(4)? };
            take(row.get_ref(0)?.as_str()?, &state)?;
            count += 1;
        }
        Ok(count)
    }

    /// Returns `true` if a resource has the body in a file.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn uses(&self, body: &str) -> rusqlite::Result<bool> {
        self.seen.prepare_cached("SELECT 1 FROM newest WHERE body = ?1")?.exists([body])
    }
}

/// Lets everybody read a file, because it is published.
fn readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

/// Returns a digest in the form by which bodies are found: SHA-1 in one notation, any other algorithm as it is written.
pub(super) fn digest_key(text: &str) -> String {
    PayloadDigest::parse(text).map_or_else(|| text.trim().to_owned(), |digest| digest.to_string())
}
