//! The web archive of a run: every exchange as it was sent and received, and the members of packages, stored as WARC
//! files beside the copy.
//!
//! A separate thread writes, in the order in which bodies end. A group of the copy is committed only when its
//! exchanges are on disk here, so that after a crash the archive has everything that the copy has.

mod capture;
mod captured;
mod folder;
mod index;
mod known;
mod options;
mod orders;
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
use orders::{ArchiveOrder, ArchivedMember, Orders};
use writing::RecordWriter;
pub(crate) use writing::record_id;

/// The archive of a run. It ends when it is dropped or closed.
pub(crate) struct WebArchive {
    dir: PathBuf,
    orders: Arc<Orders>,
    writer: Mutex<Option<JoinHandle<io::Result<()>>>>,
}

impl WebArchive {
    /// Opens the folder, repairs the remains of a killed run, and begins to write.
    ///
    /// # Errors
    /// If the folder cannot be used, or another run writes there.
    pub(crate) fn open(options: &ArchiveOptions) -> Result<Self, StoreError> {
        let folder = ArchiveFolder::open(options)?;
        let mut writer = RecordWriter::new(folder);
        let orders = Arc::new(Orders::of(&options.dir));
        let way = Arc::clone(&orders);
        let work = move || {
            let _abandoned = AbandonedAtEnd(&way);
            // After a failure nothing more is written, and each caller that waits for its exchanges gets the error.
            let mut result = Ok(());
            for order in std::iter::repeat_with(|| way.take()).take_while(|some| !some.is_empty()).flatten() {
                match order {
                    ArchiveOrder::Exchange(captured) if result.is_ok() => result = writer.exchange(*captured),
                    ArchiveOrder::Member(member) if result.is_ok() => result = writer.member(member),
                    ArchiveOrder::Keep(kept) => {
                        let now = std::mem::replace(&mut result, Ok(())).and_then(|()| writer.keep());
                        result = now.as_ref().map(drop).map_err(again);
                        let _ = kept.send(now);
                    }
                    ArchiveOrder::Failed(error) if result.is_ok() => result = Err(error),
                    ArchiveOrder::Exchange(_) | ArchiveOrder::Member(_) | ArchiveOrder::Failed(_) => {}
                }
            }
            result.and_then(|()| writer.close())
        };
        // Otherwise an error would name it as a folder of the copy.
        let dir = std::path::absolute(&options.dir).unwrap_or_else(|_| options.dir.clone());
        let io = |error| StoreError::io("write to", dir.display().to_string(), error);
        let thread = std::thread::Builder::new().name("warc".to_owned()).spawn(work).map_err(io)?;
        Ok(Self { dir, orders, writer: Mutex::new(Some(thread)) })
    }

    /// Adds a member of a package, or another resource that no single exchange has, from a file that holds its bytes. If
    /// the file could not be opened the archive fails, so that the copy does not get what the archive lacks.
    pub(crate) fn member(&self, uri: &str, media_type: Option<&str>, file: Result<File, StoreError>) {
        let (uri, media_type) = (uri.to_owned(), media_type.map(str::to_owned));
        self.orders.send(match file {
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
        self.orders.send(ArchiveOrder::Keep(sender));
        let ended = || Err(io::Error::other("the thread that writes has ended"));
        kept.recv().unwrap_or_else(|_| ended()).map_err(|error| self.failed(error))
    }

    /// Writes the remaining orders and the index of the last file, and ends the thread. Blocks.
    ///
    /// # Errors
    /// If something could not be written.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        self.orders.close();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let result = writer.map_or(Ok(Ok(())), JoinHandle::join);
        let panicked = |_| Err(io::Error::other("the thread that writes has panicked"));
        result.unwrap_or_else(panicked).map_err(|error| self.failed(error))
    }

    /// Returns the observer for the exchanges of a client.
    pub(crate) fn observer(&self) -> ArchiveObserver {
        ArchiveObserver::new(Arc::clone(&self.orders))
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::io("write to", self.dir.display().to_string(), error)
    }
}

/// Abandons the orders when the thread that processes them ends, also by a panic, so that no caller waits for it.
struct AbandonedAtEnd<'o>(&'o Orders);

impl Drop for AbandonedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Returns an error of the same kind and text.
fn again(error: &io::Error) -> io::Error {
    error
        .raw_os_error()
        .map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
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
