//! Manifests in several parts (§5 of the D-Lib articles): an index and its members in the package are read as one
//! manifest.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Seek as _, Write as _},
};

use resourcesync::{
    DocumentWriter, Entry, Form, ReadOptions, Uri, WriteError, WriteOptions,
    package::{Package, PackageError},
};

use super::PackageFetchError;
use crate::documents::{Document, DocumentError, Documents};

/// Returns one manifest with the entries of all parts, in their order (A8).
pub(super) fn joined(
    zip: &mut Package<File>,
    index: &Document,
    uri: &Uri,
    documents: &Documents,
) -> Result<Document, PackageFetchError> {
    let text = || uri.as_str().to_owned();
    let unsafe_package = |source: PackageError| PackageFetchError::Unsafe { uri: text(), source };
    let failed = |source: io::Error| PackageFetchError::from(DocumentError::Spool { uri: text(), source });
    let unwritten = |error: WriteError| failed(io::Error::other(error));
    let mut header = index.header.clone();
    header.form = Form::List;
    let file = BufWriter::new(tempfile::tempfile_in(documents.folder()).map_err(failed)?);
    let mut writer = DocumentWriter::new(file, &header, WriteOptions::unchecked()).map_err(unwritten)?;
    let options = ReadOptions::for_base(uri.clone());
    for path in zip.manifests(options.clone()).map_err(unsafe_package)? {
        let mut part = zip.manifest_at(&path, options.clone()).map_err(unsafe_package)?;
        let (mut entry, mut usable) = (Entry::default(), 0);
        while part.read_entry(&mut entry).map_err(|error| unsafe_package(error.into()))? {
            usable += 1;
            writer.write_entry(&entry).map_err(unwritten)?;
        }
        // An unusable entry would be lost silently: the resources are fetched one by one instead.
        if part.entries_read() != usable {
            let what = format!("the manifest {path} has entries without a usable loc");
            let error = io::Error::new(io::ErrorKind::InvalidData, what);
            return Err(DocumentError::unread(uri.as_str(), error).into());
        }
    }
    let mut file = writer.finish().map_err(unwritten)?;
    file.flush().map_err(failed)?;
    let mut file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.rewind().map_err(failed)?;
    Ok(documents.keep(uri, BufReader::new(file))?)
}
