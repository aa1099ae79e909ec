//! Shares the documents of each publication with the other servers of the Source, if its catalogue lies in a database.
//!
//! Documents are shared before they are put in place here. A successor therefore has every document that a reader has
//! seen on this server, and no document is replaced by an older one, at whatever moment a publisher is killed.
//!
//! A document has one row: its number (that of its last write), length, time and BLAKE3, with its bytes in parts of
//! 512 KiB under that number. Large documents go ahead in several transactions; the rows of a publication are written
//! in one.
//!
//! Removals are rows for a while. A server that missed some compares all documents. So do a server that starts, and a
//! publisher before its first publication: their folders may have older documents of the same length. A record
//! names the last publication that was shared. If it is another one, an earlier version of the program has published:
//! rows and folder are made equal, and all documents are written again.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use instep_store::RootFolder;

use super::{context::SourceContext, copies::DocumentCopies, in_place::documents_in, published};
use crate::{
    Error,
    catalogue::{ReadShared, SHARED_PART, SharedContent, SharedDocument, SharedPart, SharedRows},
    records::{PLACING, PUBLISHED},
    render::DOCUMENTS,
    sink::FolderSink,
};

/// The parts that are written in one transaction: few round trips, and little memory.
const GROUP: usize = 8;

impl SourceContext {
    /// Shares the staged documents, and that some others are about to be removed.
    pub(super) fn share(&self, sink: &FolderSink, removed: &[String]) -> Result<(), Error> {
        let Some(shared) = self.catalogue.shared() else { return Ok(()) };
        let mut upload = DocumentUpload::after(self, shared)?;
        for (_, name) in sink.in_order() {
            upload.add(name, sink.open_staged(name)?)?;
        }
        let twins = sink.twins_removed(removed);
        twins.iter().chain(removed).for_each(|name| upload.remove(name));
        upload.finish(shared)
    }

    /// Makes the documents in place those that were published last, by whichever server: what this folder has may be
    /// older, with the same names and lengths.
    pub(super) fn catch_up(&self) -> Result<(), Error> {
        let Some(shared) = self.catalogue.shared() else { return Ok(()) };
        let snapshot = self.catalogue.snapshot()?;
        if published::are_shared(&snapshot)? {
            return DocumentCopies::new(&self.options).update(shared).map(drop);
        }
        // A version of this program that shares no documents published last. Documents and rows are made equal, and the
        // next publication writes all documents again.
        self.share_folder(shared)?;
        match PLACING.read(&snapshot)? {
            Some(_) => Ok(()),
            None => published::begin(&self.catalogue, &PUBLISHED.read(&snapshot)?.unwrap_or_default(), None),
        }
    }

    /// Shares the documents that this folder has, and no others.
    fn share_folder(&self, shared: &dyn ReadShared) -> Result<(), Error> {
        let mut upload = DocumentUpload::after(self, shared)?;
        for document in shared.documents_after(0)? {
            upload.remove(&document.name);
        }
        if let Some(root) = folder_with_documents(self.out())? {
            for name in documents_in(self.out())? {
                upload.add(&name, root.entry(&name).map_err(Error::read(self.out().join(&name)))?)?;
            }
        }
        upload.finish(shared)
    }
}

/// Opens a folder of documents; `None` if it has none. A fault that hides them is not their absence: the others would remove
/// all of theirs.
fn folder_with_documents(folder: &Path) -> Result<Option<RootFolder>, Error> {
    let root = match RootFolder::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        root => root.map_err(Error::read(folder))?,
    };
    let has_documents = folder.join(DOCUMENTS).try_exists().map_err(Error::read(folder.join(DOCUMENTS)))?;
    Ok(has_documents.then_some(root))
}

/// An upload of documents for the other servers. Their parts are written first, and become visible with the last
/// transaction.
struct DocumentUpload<'a> {
    source: &'a SourceContext,
    number: u64,
    documents: BTreeMap<String, SharedDocument>,
    parts: Vec<SharedPart>,
}

impl<'a> DocumentUpload<'a> {
    fn after(source: &'a SourceContext, shared: &dyn ReadShared) -> Result<Self, Error> {
        let number = shared.position()?.documents;
        Ok(Self { source, number, documents: BTreeMap::new(), parts: Vec::new() })
    }

    fn add(&mut self, name: &str, mut file: File) -> Result<(), Error> {
        let failed = |error| Error::read(self.source.out().join(name))(error);
        let metadata = file.metadata().map_err(failed)?;
        let modified_ns =
            metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        self.number += 1;
        let (mut hasher, mut length) = (blake3::Hasher::new(), 0);
        for part in 0.. {
            let mut bytes = Vec::new();
            let read = file.by_ref().take(SHARED_PART as u64).read_to_end(&mut bytes);
            read.map_err(|error| Error::read(self.source.out().join(name))(error))?;
            if bytes.is_empty() {
                break;
            }
            hasher.update(&bytes);
            length += bytes.len() as u64;
            self.parts.push(SharedPart { document: self.number, part, bytes });
            if self.parts.len() == GROUP {
                self.flush()?;
            }
        }
        let content = SharedContent { length, modified_ns, digest: *hasher.finalize().as_bytes() };
        self.put(name, Some(content));
        Ok(())
    }

    fn remove(&mut self, name: &str) {
        self.number += 1;
        self.put(name, None);
    }

    fn put(&mut self, name: &str, content: Option<SharedContent>) {
        let document = SharedDocument { number: self.number, name: name.to_owned(), content };
        self.documents.insert(name.to_owned(), document);
    }

    fn flush(&mut self) -> Result<(), Error> {
        let parts = std::mem::take(&mut self.parts);
        Ok(self.source.catalogue().share(SharedRows::Documents { parts, documents: Vec::new() })?)
    }

    fn finish(self, shared: &dyn ReadShared) -> Result<(), Error> {
        if self.documents.is_empty() {
            return Ok(());
        }
        let (parts, documents) = (self.parts, self.documents.into_values().collect());
        self.source.catalogue().share(SharedRows::Documents { parts, documents })?;
        shared.wake();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn o532_a_folder_of_documents_that_cannot_be_read_is_not_one_without_documents() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("missing");
        assert!(
            folder_with_documents(&missing).unwrap().is_none()
                && folder_with_documents(place.path()).unwrap().is_none()
        );
        let file = place.path().join("file");
        fs::write(&file, "no folder").unwrap();
        assert!(folder_with_documents(&file).is_err());
        fs::create_dir(place.path().join(DOCUMENTS)).unwrap();
        assert!(folder_with_documents(place.path()).unwrap().is_some());
    }
}
