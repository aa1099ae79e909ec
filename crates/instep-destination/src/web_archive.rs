//! The web archive of a run: every exchange as it was sent and received, and the members of packages, stored as WARC
//! files beside the copy.
//!
//! A group of the copy is committed only when its exchanges are on disk here, so that after a crash the archive has
//! everything that the copy has.

mod capture;
mod captured;
mod folder;
mod index;
mod known;
mod options;
mod orders;
mod records;
mod torn;
mod writing;

use std::{
    fs::File,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
    time::SystemTime,
};

use crate::store::StoreError;
pub(crate) use capture::ArchiveObserver;
use folder::ArchiveFolder;
pub(crate) use index::capture_of;
pub use options::ArchiveOptions;
use orders::{ArchiveOrder, ArchivedMember};
use records::ArchiveRecords;
pub(crate) use writing::record_id;

/// The archive of a run. It ends when it is dropped or closed.
pub(crate) struct WebArchive {
    dir: PathBuf,
    records: Arc<ArchiveRecords>,
    writer: Mutex<Option<JoinHandle<io::Result<()>>>>,
}

impl WebArchive {
    /// Opens the folder, repairs the remains of a killed run, and begins to write.
    ///
    /// # Errors
    /// If the folder cannot be used, or another run writes there.
    pub(crate) fn open(options: &ArchiveOptions) -> Result<Self, StoreError> {
        let records = Arc::new(ArchiveRecords::new(&options.dir, ArchiveFolder::open(options)?));
        let processed = Arc::clone(&records);
        // Otherwise an error would name it as a folder of the copy.
        let dir = std::path::absolute(&options.dir).unwrap_or_else(|_| options.dir.clone());
        let io = |error| StoreError::io("write to", dir.display().to_string(), error);
        let thread = std::thread::Builder::new().name("warc".to_owned());
        let thread = thread.spawn(move || processed.process()).map_err(io)?;
        Ok(Self { dir, records, writer: Mutex::new(Some(thread)) })
    }

    /// Adds a member of a package, or another resource that no single exchange has, from a file that holds its bytes. If
    /// the file could not be opened the archive fails, so that the copy does not get what the archive lacks.
    pub(crate) fn member(&self, uri: &str, media_type: Option<&str>, file: Result<File, StoreError>) {
        let (uri, media_type) = (uri.to_owned(), media_type.map(str::to_owned));
        self.records.orders.send(match file {
            Ok(file) => ArchiveOrder::Member(ArchivedMember { uri, media_type, file, at: SystemTime::now() }),
            Err(error) => ArchiveOrder::Failed(io::Error::other(instep_store::error_chain(&error))),
        });
    }

    /// Waits until everything received so far is on disk. Blocks.
    ///
    /// # Errors
    /// If a part of it could not be written.
    pub(crate) fn keep(&self) -> Result<(), StoreError> {
        let (sender, kept) = mpsc::sync_channel(1);
        self.records.orders.send(ArchiveOrder::Keep(sender));
        let ended = || Err(io::Error::other("the thread that writes has ended"));
        kept.recv().unwrap_or_else(|_| ended()).map_err(|error| self.failed(error))
    }

    /// Writes the remaining orders and the index of the last file, and ends the thread. Blocks.
    ///
    /// # Errors
    /// If something could not be written.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        self.records.orders.close();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let result = writer.map_or(Ok(Ok(())), JoinHandle::join);
        let panicked = |_| Err(io::Error::other("the thread that writes has panicked"));
        result.unwrap_or_else(panicked).map_err(|error| self.failed(error))
    }

    /// Returns the observer for the exchanges of a client.
    pub(crate) fn observer(&self) -> ArchiveObserver {
        ArchiveObserver::new(Arc::clone(&self.records))
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::io("write to", self.dir.display().to_string(), error)
    }
}

impl Drop for WebArchive {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "the archive is incomplete");
        }
    }
}

impl std::fmt::Debug for WebArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebArchive").field("dir", &self.dir).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
