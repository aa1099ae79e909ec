//! Finds documents of ResourceSync among the bodies of an archive. They are left out, because a publication writes new
//! ones, and so are the patches that they name.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use resourcesync::{
    DocumentReader, Entry, ReadOptions, Relation, Uri,
    package::{Package, PackageLimits},
};

use super::{
    states::{States, UnpackedState},
    visit::Visit,
};

impl States {
    /// Stores the state of a resource, unless it is a document of ResourceSync. The patches that a document names are
    /// noted: nothing in a patch tells it from a resource.
    ///
    /// # Errors
    /// If the body cannot be read, or the temporary database fails.
    pub(super) fn put(&self, visit: &Visit, state: &UnpackedState) -> io::Result<()> {
        let body = self.folder.join(&state.body);
        if !is_document(&body)? {
            return self.note(visit, Some(state));
        }
        let sql = "INSERT OR IGNORE INTO patch VALUES (?1)";
        let mut note = self.seen.prepare_cached(sql).map_err(io::Error::other)?;
        each_patch(&body, &visit.uri, &mut |uri| note.execute([uri]).map(drop).map_err(io::Error::other))
    }
}

/// Returns `true` if a file is a document of ResourceSync, or a package with a manifest. This is decided by the
/// content, because servers state all kinds of media types for them.
///
/// # Errors
/// If the file cannot be read.
fn is_document(path: &Path) -> io::Result<bool> {
    let mut file = BufReader::new(File::open(path)?);
    let start = file.fill_buf()?;
    let is_markup = start.trim_ascii_start().first() == Some(&b'<') || start.starts_with(b"\xef\xbb\xbf<");
    let (is_zip, is_gzip) = (start.starts_with(b"PK"), start.starts_with(&[0x1f, 0x8b]));
    if is_zip {
        let package = Package::open(file, PackageLimits::new());
        return Ok(package.is_ok_and(|mut package| package.manifest(ReadOptions::new()).is_ok()));
    }
    Ok((is_markup || is_gzip) && is_list(file))
}

fn is_list(file: BufReader<File>) -> bool {
    DocumentReader::open(file, ReadOptions::new()).is_ok_and(|reader| reader.header().capability().is_some())
}

/// Passes on the URIs of the patches that a document names, up to its end or its first damage.
///
/// # Errors
/// If the file cannot be opened, or `take` fails.
fn each_patch(path: &Path, uri: &str, take: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    let file = BufReader::new(File::open(path)?);
    let options = Uri::parse(uri).map_or_else(|_| ReadOptions::new(), ReadOptions::for_base);
    let Ok(mut reader) = DocumentReader::open(file, options) else { return Ok(()) };
    let mut entry = Entry::default();
    while let Ok(true) = reader.read_entry(&mut entry) {
        for link in entry.links_for(&Relation::Patch) {
            take(link.href.as_str())?;
        }
    }
    Ok(())
}
