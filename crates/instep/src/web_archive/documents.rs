//! Finds documents of ResourceSync among the bodies of an archive. They are left out, because a publication writes new
//! ones.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use resourcesync::{
    DocumentReader, ReadOptions,
    package::{Package, PackageLimits},
};

/// Returns `true` if a file is a document of ResourceSync, or a package with a manifest. This is decided by the
/// content, because servers state all kinds of media types for them.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn is_document(path: &Path) -> io::Result<bool> {
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
