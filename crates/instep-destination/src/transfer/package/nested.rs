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
    let unwritten = |error| unwritten(uri, error);
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

/// Returns the error of a joined manifest that cannot be written: the disk is at fault, or an entry.
fn unwritten(uri: &Uri, error: WriteError) -> PackageFetchError {
    let error = match error {
        WriteError::Io(source) => DocumentError::Spool { uri: uri.as_str().to_owned(), source },
        error => DocumentError::unread(uri.as_str(), io::Error::other(error)),
    };
    error.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    /// `ENOSPC`.
    const NO_SPACE: i32 = 28;

    #[test]
    fn o934_a_disk_that_cannot_take_the_joined_parts_of_a_manifest_ends_the_run() {
        let uri = Uri::parse("http://example.com/a.zip").unwrap();
        let full = unwritten(&uri, io::Error::from_raw_os_error(NO_SPACE).into());
        assert!(matches!(full.unless_fault_of_disk(), Err(Error::Storage { .. })));
        let wrong = WriteError::Rule { rule: "GEN-24", what: "a control character".to_owned() };
        assert!(matches!(unwritten(&uri, wrong).unless_fault_of_disk(), Ok(PackageFetchError::Manifest(_))));
    }
}
