//! The newest state of each resource that an archive has seen.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use instep_warc::{HttpHead, PayloadDigest, WarcKind, WarcRecord, payload};
use resourcesync::{Algorithm, DateTime, Hasher};

use super::documents::is_document;

/// A resource as one record has it.
#[derive(Clone, Debug)]
pub(super) struct UnpackedState {
    /// The date of the record, as it is written.
    date: String,
    /// The SHA-256 of its bytes, which is the name of the file that has them.
    pub(super) body: String,
    pub(super) length: u64,
    pub(super) media_type: Option<String>,
    pub(super) lastmod: Option<String>,
}

/// The states seen so far; each takes some 300 bytes of memory.
pub(super) struct States {
    base_url: String,
    folder: PathBuf,
    /// `None` for a resource that was gone when it was visited last.
    newest: BTreeMap<String, (String, Option<UnpackedState>)>,
    /// Bodies by the digests that revisits name: file and length.
    bodies: BTreeMap<PayloadDigest, (String, u64)>,
    elsewhere: u64,
}

impl States {
    pub(super) fn new(base_url: &str, folder: &Path) -> Self {
        let slash = if base_url.ends_with('/') { "" } else { "/" };
        let base_url = format!("{base_url}{slash}");
        Self {
            base_url,
            folder: folder.to_owned(),
            newest: BTreeMap::new(),
            bodies: BTreeMap::new(),
            elsewhere: 0,
        }
    }

    /// Returns the number of records about resources that are not below the base URL.
    pub(super) fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Takes a record. Returns what is wrong with it.
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
            let (body, length) = self.keep(&mut &mut *block, digest)?;
            self.put(uri, UnpackedState { date, body, length, media_type, lastmod: None })?;
            return Ok(None);
        }
        let http = HttpHead::read(block)?;
        let media_type = http.get("Content-Type").map(str::to_owned);
        let lastmod = http.get("Last-Modified").and_then(w3c);
        match (http.status, &head.kind) {
            (Some(404 | 410), _) => {
                self.gone(uri, date);
                Ok(None)
            }
            (Some(200), WarcKind::Response) if head.get("WARC-Truncated").is_some() => {
                Ok(Some(format!("{uri} is truncated")))
            }
            (Some(200), WarcKind::Response) => {
                let Some(mut plain) = payload(&http, block) else {
                    return Ok(Some(format!("{uri} is in a coding that is not known here")));
                };
                let kept = self.keep(&mut plain, digest);
                drop(plain);
                match kept {
                    Ok((body, length)) => {
                        self.put(uri, UnpackedState { date, body, length, media_type, lastmod })?;
                        Ok(None)
                    }
                    // Its coding is damaged; the record itself ends where it says.
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
                        ) =>
                    {
                        Ok(Some(format!("{uri}: {error}")))
                    }
                    Err(error) => Err(error),
                }
            }
            (_, WarcKind::Revisit) => {
                let known = digest.and_then(|digest| self.bodies.get(&digest));
                // A revisit without a payload found the state that is known already.
                if let Some((body, length)) = known.cloned() {
                    self.put(uri, UnpackedState { date, body, length, media_type, lastmod })?;
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn put(&mut self, uri: String, state: UnpackedState) -> io::Result<()> {
        let is_newer = self.newest.get(&uri).is_none_or(|(date, _)| *date <= state.date);
        if is_newer && !is_document(&self.folder.join(&state.body))? {
            self.newest.insert(uri, (state.date.clone(), Some(state)));
        }
        Ok(())
    }

    fn gone(&mut self, uri: String, date: String) {
        if self.newest.get(&uri).is_none_or(|(known, _)| *known <= date) {
            self.newest.insert(uri, (date, None));
        }
    }

    /// Writes a body to the file of its digest. Returns its name and its length.
    fn keep(&mut self, body: &mut dyn Read, digest: Option<PayloadDigest>) -> io::Result<(String, u64)> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        let mut hasher = Hasher::new(&[Algorithm::Sha256]);
        let (mut buffer, mut length) = (vec![0; 64 << 10], 0);
        loop {
            let read = body.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            file.write_all(&buffer[..read])?;
            length += read as u64;
        }
        let name = hasher.finish().to_string();
        let name = name.rsplit(':').next().unwrap_or_default().to_owned();
        let place = self.folder.join(&name);
        if !place.exists() {
            readable(file.as_file())?;
            file.persist(place).map_err(|error| error.error)?;
        }
        if let Some(digest) = digest {
            self.bodies.insert(digest, (name.clone(), length));
        }
        Ok((name, length))
    }

    /// Returns the resources that were there when they were visited last, in the order of their URIs.
    pub(super) fn into_newest(self) -> impl Iterator<Item = (String, UnpackedState)> {
        self.newest.into_iter().filter_map(|(uri, (_, state))| Some((uri, state?)))
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
