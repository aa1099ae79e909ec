//! A folder of documents that are kept from run to run. A copy does not need it: it records what it has read in its
//! state.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Write},
    path::PathBuf,
};

use http::{HeaderMap, HeaderName, HeaderValue};
use instep_net::Validators;
use resourcesync::{Algorithm, Hasher, Uri};
use serde::{Deserialize, Serialize};

use super::{Documents, Download, spool::DocumentBytes};

/// A folder that keeps documents from run to run, so that a later run requests only changes.
///
/// Each document is two files named by the digest of its URI: its decoded bytes, and a note with its headers. Both
/// are renamed into place, the note last and with a digest of the bytes, so that a killed run leaves nothing that
/// looks complete but is not.
#[derive(Clone, Debug)]
pub struct DocumentCache {
    folder: PathBuf,
}

/// The content of a note: the metadata of one document.
#[derive(Debug, Serialize, Deserialize)]
struct CachedDocument {
    /// The URI that it came from, after redirects.
    uri: String,
    headers: BTreeMap<String, String>,
    etag: Option<Box<str>>,
    last_modified: Option<Box<str>>,
    /// SHA-256 of the bytes.
    digest: String,
}

impl DocumentCache {
    /// Opens the folder, which is created if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Returns the stored document for a URI; `None` if there is none, or if its bytes do not match its note.
    pub fn find(&self, uri: &Uri, documents: &Documents) -> Option<Download> {
        let note: CachedDocument = serde_json::from_slice(&fs::read(self.path(uri, "json")).ok()?).ok()?;
        let mut file = File::open(self.path(uri, "bytes")).ok()?;
        if digest(&mut file).ok()? != note.digest {
            return None;
        }
        let header = |(name, value): (String, String)| {
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(&value).ok()?))
        };
        Some(Download {
            uri: Uri::parse(&note.uri).ok()?,
            headers: note.headers.into_iter().filter_map(header).collect::<HeaderMap>(),
            validators: Validators::new(note.etag.as_deref(), note.last_modified.as_deref()),
            content: DocumentBytes::File(file.into()),
            limits: documents.limits,
        })
    }

    /// Keeps the document that was fetched for a URI.
    ///
    /// # Errors
    /// If it cannot be decoded or written.
    pub fn keep(&self, uri: &Uri, download: &Download) -> io::Result<()> {
        let mut bytes = tempfile::NamedTempFile::new_in(&self.folder)?;
        io::copy(&mut download.read()?, &mut bytes)?;
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        let note = CachedDocument {
            uri: download.uri.as_str().to_owned(),
            headers: download.headers.iter().filter_map(text).collect(),
            etag: download.validators.etag.clone(),
            last_modified: download.validators.last_modified.clone(),
            digest: digest(&mut bytes.reopen()?)?,
        };
        let mut text = tempfile::NamedTempFile::new_in(&self.folder)?;
        text.write_all(&serde_json::to_vec(&note)?)?;
        bytes.persist(self.path(uri, "bytes"))?;
        text.persist(self.path(uri, "json"))?;
        Ok(())
    }

    fn path(&self, uri: &Uri, ending: &str) -> PathBuf {
        let digest = digest(&mut uri.as_str().as_bytes()).unwrap_or_default();
        let (_, name) = digest.split_once(':').unwrap_or_default();
        self.folder.join(format!("{}.{ending}", &name[..name.len().min(32)]))
    }
}

/// Returns the SHA-256 in the form of a `hash` attribute.
fn digest(source: &mut impl Read) -> io::Result<String> {
    let mut hasher = Hasher::new([&Algorithm::Sha256]);
    hasher.take_all(source, &mut vec![0; 64 << 10])?;
    Ok(hasher.finish().to_string())
}
