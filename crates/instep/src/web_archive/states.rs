//! The newest state of each resource that an archive has seen.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use instep_warc::{HttpHead, PayloadDigest, PayloadHasher, WarcKind, WarcRecord, payload};
use resourcesync::{Algorithm, DateTime, Hasher};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::documents::is_document;

/// The newest state of each resource, without a body if the last visit found it deleted; and bodies by the digests
/// that revisits name.
const TABLES: &str = "
CREATE TABLE newest (
    uri TEXT NOT NULL PRIMARY KEY, date TEXT NOT NULL, body TEXT, length INTEGER, media_type TEXT, lastmod TEXT
) WITHOUT ROWID;
CREATE INDEX newest_body ON newest (body);
CREATE TABLE payload (digest TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL, length INTEGER NOT NULL) WITHOUT ROWID;
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
    seen: Connection,
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

    /// Reads a record. Returns its fault.
    ///
    /// # Errors
    /// If the archive cannot be read, or a body not written.
    pub(super) fn take(&mut self, record: WarcRecord<'_>) -> io::Result<Option<String>> {
        let WarcRecord { head, block, .. } = record;
        if !matches!(head.kind, WarcKind::Response | WarcKind::Resource | WarcKind::Revisit) {
            return Ok(None);
        }
        let (Some(uri), Some(date)) = (head.target(), head.date()) else {
            return Ok(Some("it names no URI, or no date".to_owned()));
        };
        let uri = uri.split('#').next().unwrap_or_default().to_owned();
        if !uri.starts_with(&self.base_url) {
            self.elsewhere += 1;
            return Ok(None);
        }
        if head.get("WARC-Truncated").is_some() && head.kind == WarcKind::Resource {
            return Ok(Some(format!("{uri} is truncated")));
        }
        let date = date.to_owned();
        let digest = head.get("WARC-Payload-Digest").and_then(PayloadDigest::parse);
        if head.kind == WarcKind::Resource {
            let media_type = head.get("Content-Type").map(str::to_owned);
            let kept = self.keep(&mut &mut *block, digest, true);
            return self.put_kept(&uri, &date, kept, |body, length| UnpackedState {
                body,
                length,
                media_type,
                lastmod: None,
            });
        }
        let http = HttpHead::read(block)?;
        let media_type = http.get("Content-Type").map(str::to_owned);
        let lastmod = http.get("Last-Modified").and_then(w3c);
        match (http.status, &head.kind) {
            (Some(404 | 410), _) => {
                self.keep_newest(&uri, &date, None)?;
                Ok(None)
            }
            (Some(200), WarcKind::Response) if head.get("WARC-Truncated").is_some() => {
                Ok(Some(format!("{uri} is truncated")))
            }
            (Some(200), WarcKind::Response) => {
                let Some(mut plain) = payload(&http, block) else {
                    return Ok(Some(format!("{uri} is in a coding that is not known here")));
                };
                // Archives do not agree on whether the digest of a coded payload is that of its bytes with the coding.
                let is_plain =
                    ["Transfer-Encoding", "Content-Encoding"].iter().all(|name| http.get(name).is_none());
                let kept = self.keep(&mut plain, digest, is_plain);
                drop(plain);
                self.put_kept(&uri, &date, kept, |body, length| UnpackedState {
                    body,
                    length,
                    media_type,
                    lastmod,
                })
            }
            (_, WarcKind::Revisit) => {
                let known = digest.map(|digest| self.payload(digest)).transpose()?;
                // A revisit without a payload found the state that is known already.
                if let Some((body, length)) = known.flatten() {
                    self.put(&uri, &date, &UnpackedState { body, length, media_type, lastmod })?;
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Puts a state whose body was kept. Returns what is wrong with the body.
    fn put_kept(
        &self,
        uri: &str,
        date: &str,
        kept: io::Result<(String, u64)>,
        state: impl FnOnce(String, u64) -> UnpackedState,
    ) -> io::Result<Option<String>> {
        match kept {
            Ok((body, length)) => self.put(uri, date, &state(body, length)).map(|()| None),
            // Its coding or its bytes are damaged, but the record itself ends where it states.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) =>
            {
                Ok(Some(format!("{uri}: {error}")))
            }
            Err(error) => Err(error),
        }
    }

    fn put(&self, uri: &str, date: &str, state: &UnpackedState) -> io::Result<()> {
        match is_document(&self.folder.join(&state.body))? {
            true => Ok(()),
            false => self.keep_newest(uri, date, Some(state)),
        }
    }

    /// Stores a state, or the fact that the resource was deleted, unless a newer one is known. All dates have one
    /// form, so they are compared as text.
    fn keep_newest(&self, uri: &str, date: &str, state: Option<&UnpackedState>) -> io::Result<()> {
        let sql = "INSERT INTO newest VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (uri) DO UPDATE
                   SET date = ?2, body = ?3, length = ?4, media_type = ?5, lastmod = ?6 WHERE date <= ?2";
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
    fn payload(&self, digest: PayloadDigest) -> io::Result<Option<(String, u64)>> {
        let sql = "SELECT body, length FROM payload WHERE digest = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
        let find = || self.seen.prepare_cached(sql)?.query_row([digest.to_string()], read).optional();
        find().map_err(io::Error::other)
    }

    /// Writes a body to the file of its digest. Returns its name and its length.
    ///
    /// # Errors
    /// Also if it `is_plain` and has another digest than its record states: revisits would find it by that (B38).
    fn keep(
        &mut self,
        body: &mut dyn Read,
        digest: Option<PayloadDigest>,
        is_plain: bool,
    ) -> io::Result<(String, u64)> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        let mut hasher = Hasher::new(&[Algorithm::Sha256]);
        let mut checked = digest.filter(|_| is_plain).map(|digest| (digest, PayloadHasher::default()));
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
            let row = params![digest.to_string(), name, length as i64];
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

/// Returns a date of HTTP as documents have it.
fn w3c(date: &str) -> Option<String> {
    let time: SystemTime = httpdate::parse_http_date(date).ok()?;
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(DateTime::from_unix_seconds(i64::try_from(seconds).ok()?).to_string())
}
