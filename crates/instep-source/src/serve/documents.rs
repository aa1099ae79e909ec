//! The documents that the sink put in place, as files that are served.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use http::HeaderValue;
use instep_store::RootFolder;

use super::{files::FileProvider, representation::Description};

/// Documents, whose names decide on their headers.
#[derive(Debug)]
pub(crate) struct DocumentFolder(PathBuf);

impl DocumentFolder {
    /// Names the folder with `resourcesync/`, `.well-known/resourcesync` and `robots.txt`. It is opened for each
    /// document: if somebody takes it away, the next publication makes another one, which is the one to be served
    /// (C18).
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        RootFolder::open(folder).map(|_| Self(folder.to_owned()))
    }
}

/// Returns `true` if a path below the base URL is one of documents, even if the content has a file under it.
pub(crate) fn owns(path: &str) -> bool {
    path.starts_with("resourcesync/") || path.starts_with(".well-known/") || path == "robots.txt"
}

impl FileProvider for DocumentFolder {
    fn open(&self, name: &[u8]) -> io::Result<File> {
        RootFolder::open(&self.0)?.entry(name)
    }

    fn describe(&self, name: &[u8]) -> io::Result<Option<Description>> {
        let content_type = Some(HeaderValue::from_static(media_type(name)));
        Ok(Some(Description { content_type, ..Description::default() }))
    }

    fn cache_control(&self, name: &[u8]) -> HeaderValue {
        HeaderValue::from_static(if is_immutable(name) {
            "public, max-age=31536000, immutable"
        } else {
            "public, max-age=0, must-revalidate"
        })
    }

    fn is_for_documents(&self) -> bool {
        true
    }
}

fn media_type(name: &[u8]) -> &'static str {
    match name.rsplit(|byte| *byte == b'.').next() {
        Some(b"xml" | b"well-known/resourcesync") => "application/xml",
        Some(b"xsl") => "application/xslt+xml",
        Some(b"zip") => "application/zip",
        Some(b"html") => "text/html; charset=utf-8",
        Some(b"txt") => "text/plain; charset=utf-8",
        Some(b"gz") => "application/gzip",
        Some(b"json-patch") => "application/json-patch+json",
        Some(b"xml-patch") => "application/patch-ops-error+xml",
        Some(b"vcdiff") => "application/vcdiff",
        _ => "application/octet-stream",
    }
}

/// Returns `true` if a name carries the moment of its snapshot (`20261121T140000`), so that its bytes never change.
fn is_immutable(name: &[u8]) -> bool {
    const MOMENT: usize = "20261121T140000".len();
    name.windows(MOMENT).any(|window| {
        window.iter().enumerate().all(|(place, byte)| match place {
            8 => *byte == b'T',
            _ => byte.is_ascii_digit(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_type_and_lifetime() {
        let table: [(&[u8], &str, bool); 6] = [
            (b".well-known/resourcesync", "application/xml", false),
            (b"resourcesync/resourcelist.xml", "application/xml", false),
            (b"resourcesync/resourcelist-20261121T140000.000001Z-0001.xml", "application/xml", true),
            (b"resourcesync/changelist-000001.xml", "application/xml", false),
            (b"resourcesync/dump-20261121T140000Z-0001.zip", "application/zip", true),
            (b"robots.txt", "text/plain; charset=utf-8", false),
        ];
        for (name, expected, immutable) in table {
            assert_eq!((media_type(name), is_immutable(name)), (expected, immutable));
        }
    }

    #[test]
    fn documents_own_their_folder_and_the_well_known_one() {
        assert!(owns("resourcesync/a.xml") && owns(".well-known/resourcesync") && owns("robots.txt"));
        assert!(!owns("resourcesync.txt") && !owns("a/robots.txt") && !owns(""));
    }
}
