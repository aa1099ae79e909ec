//! The documents of a Source in a folder of this machine, as copies of those that the publishing server shares.
//!
//! A server reads the rows behind the last number that it knows, stages the documents and puts them in place in the
//! order of their numbers. If a document was replaced while it was read, it lists again and keeps what is staged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Write as _,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use instep_store::RootFolder;

use super::in_place::documents_in;
use crate::{
    Error, PublishOptions,
    catalogue::{ReadShared, SharedContent, SharedDocument},
    render::{DOCUMENTS, is_immutable},
    sink::{FolderSink, Sink as _},
};

/// A folder that follows the shared documents.
#[derive(Debug)]
pub(crate) struct DocumentCopies {
    out: PathBuf,
    /// `true` if only this program writes files there.
    is_own: bool,
    /// The number up to which the folder has the documents; `None` if that is not known.
    through: Option<u64>,
    /// `true` from a change of the documents, also by an update that failed, until the owner has followed it.
    has_news: bool,
}

impl DocumentCopies {
    /// Takes the folder for the documents of a Source.
    pub(crate) fn new(options: &PublishOptions) -> Self {
        let is_own = options.out.starts_with(&options.state);
        Self { out: options.out.clone(), is_own, through: None, has_news: false }
    }

    /// Returns `true` if the documents have changed since the last call of [`Self::followed`].
    #[cfg(feature = "serve")]
    pub(crate) fn has_news(&self) -> bool {
        self.has_news
    }

    /// Notes that the owner shows what goes with the documents as they are.
    #[cfg(feature = "serve")]
    pub(crate) fn followed(&mut self) {
        self.has_news = false;
    }

    /// Brings the folder up to what is shared; returns `true` if something changed. All documents of a publication
    /// come into place together and in its order, so that no document refers to one that is missing.
    ///
    /// # Errors
    /// If the server fails, or the folder cannot be written. The documents in place are then those of before, or part of
    /// the next state in the order of publication.
    pub(crate) fn update(&mut self, shared: &dyn ReadShared) -> Result<bool, Error> {
        let position = shared.position()?;
        if position.documents == 0 || self.through == Some(position.documents) {
            return Ok(false);
        }
        // The numbers of a database that was restored go back.
        let known = position.forgotten..=position.documents;
        let after = self.through.filter(|through| known.contains(through));
        let mut sink = FolderSink::of_copies(&self.out);
        let mut staged = BTreeMap::new();
        let documents = loop {
            let documents = shared.documents_after(after.unwrap_or(0))?;
            if self.stage(shared, &documents, after.is_none(), &mut sink, &mut staged)? {
                break documents;
            }
        };
        let removed = documents.iter().filter(|document| document.content.is_none());
        let mut removed: Vec<_> = removed.map(|document| document.name.clone()).collect();
        if after.is_none() && self.is_own && self.out.join(DOCUMENTS).exists() {
            let shown: BTreeSet<&str> = documents.iter().map(|document| document.name.as_str()).collect();
            removed
                .extend(documents_in(&self.out)?.into_iter().filter(|name| !shown.contains(name.as_str())));
        }
        let is_changed = !sink.is_empty() || !removed.is_empty();
        if is_changed {
            self.has_news = true;
            sink.commit(&removed)?;
        }
        // Removals of documents that were never shared have numbers and no rows.
        self.through = documents.last().map(|last| last.number).max(Some(position.documents));
        Ok(is_changed)
    }

    /// Stages the documents that the folder does not have. Returns `false` if one was replaced meanwhile. Staged
    /// documents are kept: otherwise a large document might be fetched again and again while small ones change.
    fn stage(
        &self,
        shared: &dyn ReadShared,
        documents: &[SharedDocument],
        compare: bool,
        sink: &mut FolderSink,
        staged: &mut BTreeMap<String, u64>,
    ) -> Result<bool, Error> {
        for document in documents {
            let Some(content) = &document.content else { continue };
            if staged.get(&document.name) == Some(&document.number)
                || compare && self.has(&document.name, content)
            {
                continue;
            }
            let fill = |file: &mut File| self.fetch(shared, document, content, file);
            if !sink.stage_copy(&document.name, time(content.modified_ns), fill)? {
                return Ok(false);
            }
            staged.insert(document.name.clone(), document.number);
        }
        Ok(true)
    }

    /// Writes the bytes of a document to a file; `false` if another one has replaced it.
    fn fetch(
        &self,
        shared: &dyn ReadShared,
        document: &SharedDocument,
        content: &SharedContent,
        file: &mut File,
    ) -> Result<bool, Error> {
        let mut hasher = blake3::Hasher::new();
        let (mut length, mut part) = (0, 0);
        while length < content.length {
            let Some(bytes) = shared.part(document.number, part)?.filter(|bytes| !bytes.is_empty()) else {
                return Ok(false);
            };
            file.write_all(&bytes).map_err(Error::write(self.out.join(&document.name)))?;
            hasher.update(&bytes);
            length += bytes.len() as u64;
            part += 1;
        }
        Ok(length == content.length && *hasher.finalize().as_bytes() == content.digest)
    }

    /// Returns `true` if the folder has a document, and gives it the time that all servers show.
    fn has(&self, name: &str, content: &SharedContent) -> bool {
        let check = || {
            let mut file = RootFolder::open(&self.out)?.entry(name)?;
            let metadata = file.metadata()?;
            if metadata.len() != content.length {
                return Ok(false);
            }
            // A part that never changes is identified by its name.
            if !is_immutable(name.as_bytes()) {
                let mut hasher = blake3::Hasher::new();
                std::io::copy(&mut file, &mut hasher)?;
                if *hasher.finalize().as_bytes() != content.digest {
                    return Ok(false);
                }
            }
            if metadata.modified()? != time(content.modified_ns) {
                file.set_modified(time(content.modified_ns))?;
            }
            Ok::<_, std::io::Error>(true)
        };
        check().unwrap_or(false)
    }
}

fn time(nanoseconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(nanoseconds.max(0).cast_unsigned())
}

#[cfg(test)]
mod tests;
