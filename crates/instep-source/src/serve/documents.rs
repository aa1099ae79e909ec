//! The documents that the sink put in place, as files that are served.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use http::HeaderValue;
use instep_store::RootFolder;

use super::{
    files::FileProvider,
    representation::{Description, etag_of_digest},
};
use crate::render::{cache_control, is_immutable, media_type};

/// Documents, whose names decide on their headers.
#[derive(Debug)]
pub(crate) struct DocumentFolder {
    path: PathBuf,
    /// `true` if other servers show the same documents, with the same ETags.
    is_shared: bool,
}

impl DocumentFolder {
    /// Names the folder with `resourcesync/`, `.well-known/resourcesync` and `robots.txt`. It is opened for each
    /// document: if it is removed, the next publication creates another one, which must then be served (C18).
    pub(crate) fn open(folder: &Path, is_shared: bool) -> io::Result<Self> {
        RootFolder::open(folder).map(|_| Self { path: folder.to_owned(), is_shared })
    }
}

/// Returns an ETag that depends only on the bytes of a document. Each state of it is hashed once, for its first request. A
/// part that never changes is identified by its name, so a large package is not read.
fn etag(name: &[u8], mut file: &File) -> io::Result<HeaderValue> {
    let mut hasher = blake3::Hasher::new();
    if is_immutable(name) {
        hasher.update(name);
        hasher.update(&file.metadata()?.len().to_be_bytes());
    } else {
        io::copy(&mut file, &mut hasher)?;
    }
    Ok(etag_of_digest(hasher.finalize().as_bytes()))
}

/// Returns `true` if a path below the base URL is one of documents, even if the content has a file under it.
pub(crate) fn owns(path: &str) -> bool {
    path.starts_with("resourcesync/") || path.starts_with(".well-known/") || path == "robots.txt"
}

impl FileProvider for DocumentFolder {
    fn open(&self, name: &[u8]) -> io::Result<File> {
        RootFolder::open(&self.path)?.entry(name)
    }

    fn describe(&self, name: &[u8], file: &File) -> io::Result<Option<Description>> {
        let content_type = Some(HeaderValue::from_static(media_type(name)));
        let etag = self.is_shared.then(|| etag(name, file)).transpose()?;
        Ok(Some(Description { content_type, etag, ..Description::default() }))
    }

    fn cache_control(&self, name: &[u8]) -> HeaderValue {
        HeaderValue::from_static(cache_control(name))
    }

    fn is_for_documents(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn o538_the_etag_of_a_document_is_that_of_the_bytes_that_are_sent() {
        let place = tempfile::tempdir().unwrap();
        let folder = DocumentFolder::open(place.path(), true).unwrap();
        let etag = |file: &File| folder.describe(b"list.xml", file).unwrap().unwrap().etag.unwrap();
        let replace = |text: &str| {
            fs::write(place.path().join("next"), text).unwrap();
            fs::rename(place.path().join("next"), place.path().join("list.xml")).unwrap();
            folder.open(b"list.xml").unwrap()
        };
        let opened = replace("one");
        let next = replace("two");
        let again = replace("one");
        assert_eq!(etag(&opened), etag(&again));
        assert_ne!(etag(&next), etag(&replace("one")));
    }

    #[test]
    fn documents_own_their_folder_and_the_well_known_one() {
        assert!(owns("resourcesync/a.xml") && owns(".well-known/resourcesync") && owns("robots.txt"));
        assert!(!owns("resourcesync.txt") && !owns("a/robots.txt") && !owns(""));
    }
}
