//! The states of resources that the records of an archive show, gathered in a temporary database. The newest state of
//! each resource is published.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use instep_store::{SpaceWatch, expect_space, next_bytes};
use instep_warc::PayloadDigest;
use resourcesync::{Algorithm, Hasher};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{
    digest::{DigestCheck, StatedDigest, hexadecimal},
    visit::Visit,
};

/// The tables: visits of each resource, without a body if it was gone; requests with other methods than `GET`; bodies
/// by the digests that revisits name; revisits whose bodies were not seen yet; the patches that documents name; and the
/// bodies that are published in the end.
const TABLES: &str = "
CREATE TABLE visit (
    number INTEGER PRIMARY KEY, uri TEXT NOT NULL, date INTEGER NOT NULL, keys TEXT NOT NULL, body TEXT, length INTEGER,
    media_type TEXT, lastmod TEXT
);
CREATE INDEX visit_newest ON visit (uri, date, number);
CREATE TABLE other_request (key TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE patch (uri TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE published (body TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE payload (digest TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL, length INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE revisit (
    uri TEXT NOT NULL, date INTEGER NOT NULL, keys TEXT NOT NULL, digest TEXT NOT NULL, media_type TEXT, lastmod TEXT,
    is_unmodified INTEGER NOT NULL, place TEXT NOT NULL
);
BEGIN; SAVEPOINT record";

/// The state of a resource in one record.
#[derive(Clone, Debug)]
pub(super) struct UnpackedState {
    /// The SHA-256 of its bytes, which is also the name of the file with the bytes.
    pub(super) body: String,
    pub(super) length: u64,
    pub(super) media_type: Option<String>,
    pub(super) lastmod: Option<String>,
}

/// The states seen so far. They are in a temporary database, so that memory does not grow with their number.
pub(super) struct States {
    base_url: String,
    pub(super) folder: PathBuf,
    pub(super) seen: Connection,
    /// The number of bytes of the disk that stay free; `None` for the default.
    reserve: Option<u64>,
    elsewhere: u64,
    /// The first resource that is not below the base URL.
    first_elsewhere: Option<String>,
}

impl States {
    /// Begins without states. Bodies are written into `folder`.
    ///
    /// # Errors
    /// If the temporary database cannot be made.
    pub(super) fn begin(base_url: &str, folder: &Path) -> rusqlite::Result<Self> {
        let slash = if base_url.ends_with('/') { "" } else { "/" };
        let base_url = format!("{base_url}{slash}");
        let seen = Connection::open("")?;
        seen.execute_batch(TABLES)?;
        let folder = folder.to_owned();
        Ok(Self { base_url, folder, seen, reserve: None, elsewhere: 0, first_elsewhere: None })
    }

    /// Returns the number of records about resources that are not below the base URL.
    pub(super) fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Returns `true` if a URI is not below the base URL, and counts it then.
    pub(super) fn is_elsewhere(&mut self, uri: &str) -> bool {
        let is_elsewhere = !uri.starts_with(&self.base_url);
        self.elsewhere += u64::from(is_elsewhere);
        if is_elsewhere && self.first_elsewhere.is_none() {
            self.first_elsewhere = Some(uri.to_owned());
        }
        is_elsewhere
    }

    /// Returns the first resource that is not below the base URL.
    pub(super) fn first_elsewhere(&self) -> Option<&str> {
        self.first_elsewhere.as_deref()
    }

    /// Begins a record: everything taken before is kept, even if this record proves to be damaged.
    ///
    /// # Errors
    /// If the temporary database fails.
    pub(super) fn begin_record(&self) -> io::Result<()> {
        let run = |sql| self.seen.prepare_cached(sql)?.execute([]).map(drop);
        run("RELEASE record").and_then(|()| run("SAVEPOINT record")).map_err(io::Error::other)
    }

    /// Drops everything that was taken from the last record.
    ///
    /// # Errors
    /// If the temporary database fails.
    pub(super) fn drop_record(&self) -> io::Result<()> {
        self.seen.execute_batch("ROLLBACK TO record").map_err(io::Error::other)
    }

    /// Stores the state that a visit found; `None` if the resource was gone.
    ///
    /// # Errors
    /// If the temporary database fails.
    pub(super) fn note(&self, visit: &Visit, state: Option<&UnpackedState>) -> io::Result<()> {
        let sql = "INSERT INTO visit VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let row = params![
            visit.uri,
            visit.date,
            visit.keys,
            state.map(|state| &state.body),
            state.map(|state| state.length as i64),
            state.and_then(|state| state.media_type.as_ref()),
            state.and_then(|state| state.lastmod.as_ref())
        ];
        let noted = self.seen.prepare_cached(sql).and_then(|mut note| note.execute(row));
        noted.map(drop).map_err(io::Error::other)
    }

    /// Returns the file and the length of the body with a digest; `None` if it was not seen yet.
    pub(super) fn payload(&self, digest: &str) -> io::Result<Option<(String, u64)>> {
        let sql = "SELECT body, length FROM payload WHERE digest = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
        let find = || self.seen.prepare_cached(sql)?.query_row([digest], read).optional();
        find().map_err(io::Error::other)
    }

    /// Writes a body to the file of its digest. Returns its name and its length.
    ///
    /// # Errors
    /// If the body cannot be read or written, no more of the disk is free than stays free, or if it `is_plain` and has
    /// another digest than its record states: revisits would find it by that digest (B38).
    pub(super) fn keep(
        &mut self,
        body: &mut dyn Read,
        digest: Option<&str>,
        is_plain: bool,
    ) -> io::Result<(String, u64)> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        expect_space(file.as_file(), self.reserve)?;
        let mut space = SpaceWatch::new(self.reserve);
        let mut hasher = Hasher::new(&[Algorithm::Sha256]);
        let comparable = digest.filter(|_| is_plain).and_then(StatedDigest::parse);
        let mut check = comparable.map(DigestCheck::begin);
        let (mut buffer, mut length) = (vec![0; 64 << 10], 0);
        while let Some(part) = next_bytes(body, &mut buffer)? {
            hasher.update(part);
            if let Some(check) = &mut check {
                check.update(part);
            }
            file.write_all(part)?;
            space.wrote(file.as_file(), part.len() as u64)?;
            length += part.len() as u64;
        }
        if let Some(difference) = check.and_then(DigestCheck::finish) {
            let what = format!("its payload has {difference}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let name = hexadecimal(&hasher.finish().to_string());
        let place = self.folder.join(&name);
        // A power failure may have left a file with this name and without its bytes.
        if !place.metadata().is_ok_and(|held| held.len() == length) {
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

    /// Passes on the resources that existed when they were last visited, in the order of their URIs. Returns their
    /// number.
    ///
    /// # Errors
    /// If they cannot be read, or `take` fails.
    pub(super) fn each(
        &self,
        take: &mut dyn FnMut(&str, &UnpackedState) -> io::Result<()>,
    ) -> anyhow::Result<u64> {
        let sql = "SELECT uri, keys, body, length, media_type, lastmod FROM visit
                   WHERE uri NOT IN (SELECT uri FROM patch) ORDER BY uri, date, number";
        let mut statement = self.seen.prepare(sql)?;
        let mut publish = self.seen.prepare("INSERT OR IGNORE INTO published VALUES (?1)")?;
        let has_other_requests = self.seen.prepare("SELECT 1 FROM other_request")?.exists([])?;
        let mut rows = statement.query([])?;
        let (mut newest, mut count): (Option<(String, Option<UnpackedState>)>, u64) = (None, 0);
        let mut pass_on = |(uri, state): (String, Option<UnpackedState>)| -> anyhow::Result<()> {
            if let Some(state) = state {
                take(&uri, &state)?;
                publish.execute([&state.body])?;
                count += 1;
            }
            Ok(())
        };
        while let Some(row) = rows.next()? {
            if has_other_requests && self.answers_other_method(row.get_ref(1)?.as_str()?)? {
                continue;
            }
            let uri: String = row.get(0)?;
            let mut state = UnpackedState::read(row)?;
            let before = match newest.take() {
                Some((of, before)) if of == uri => before,
                Some(other) => {
                    pass_on(other)?;
                    None
                }
                None => None,
            };
            // An answer with the same body may leave out headers that the earlier answer had.
            if let (Some(state), Some(before)) = (&mut state, before)
                && state.body == before.body
            {
                state.media_type = state.media_type.take().or(before.media_type);
                state.lastmod = state.lastmod.take().or(before.lastmod);
            }
            newest = Some((uri, state));
        }
        newest.map_or(Ok(()), &mut pass_on)?;
        Ok(count)
    }

    /// Returns `true` if the file with this name is the body of a resource that was passed on.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn uses(&self, body: &str) -> rusqlite::Result<bool> {
        self.seen.prepare_cached("SELECT 1 FROM published WHERE body = ?1")?.exists([body])
    }
}

impl UnpackedState {
    /// Reads the state of a visit; `None` if the resource was gone.
    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let Some(body) = row.get(2)? else { return Ok(None) };
        let length = row.get::<_, i64>(3)?.unsigned_abs();
        Ok(Some(Self { body, length, media_type: row.get(4)?, lastmod: row.get(5)? }))
    }
}

/// Lets everybody read a file, because it is published.
fn readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

/// Returns a digest in the form by which bodies are found: SHA-1 in one notation, digests of other algorithms as they
/// are written.
pub(super) fn digest_key(text: &str) -> String {
    PayloadDigest::parse(text).map_or_else(|| text.trim().to_owned(), |digest| digest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o981_no_body_is_unpacked_on_a_disk_without_more_space_than_stays_free() {
        let folder = tempfile::tempdir().unwrap();
        let mut states = States::begin("http://example.org/", folder.path()).unwrap();
        states.keep(&mut &b"a body"[..], None, true).unwrap();
        states.reserve = Some(u64::MAX);
        let error = states.keep(&mut &b"another"[..], None, true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
