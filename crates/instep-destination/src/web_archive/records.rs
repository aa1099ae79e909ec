//! The records of an archive, which are written wherever that costs least.
//!
//! The task that received a small body writes its records at once. To hand them to another thread would wake it, and move
//! their memory from one core to the other, which costs more than writing them. The thread of the archive writes the
//! rest: large bodies, members of packages, the beginning and the end of a file, and each record that finds another one
//! being written. It also makes them durable. Records come in no particular order.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
};

use super::{
    captured::ArrivedExchange,
    folder::ArchiveFolder,
    orders::{ArchiveOrder, Orders},
    writing::RecordWriter,
};

/// The most bytes of an answer that the task that received it writes: compressing them takes less than a millisecond.
const AT_ONCE: u64 = 64 << 10;

/// The most buffers that wait for further exchanges, and the most bytes of each. The allocator takes longer for a buffer
/// of more than 1 KiB than the writer for its record.
const SPARE: (usize, usize) = (128, 16 << 10);

/// The records of an archive and the orders that wait for its thread.
pub(super) struct ArchiveRecords {
    /// The folder for large bodies while they wait: that of the archive, because the system's temporary folder may be in
    /// memory.
    folder: PathBuf,
    pub(super) orders: Orders,
    writing: Mutex<OpenArchive>,
    /// Empty buffers of exchanges that are written.
    spare: Mutex<Vec<Vec<u8>>>,
}

/// The writer, which is there until the archive is closed.
struct OpenArchive {
    writer: Option<RecordWriter>,
    failure: Option<io::Error>,
}

impl OpenArchive {
    fn is_ready(&self) -> bool {
        self.writer.as_ref().is_some_and(RecordWriter::is_ready)
    }

    /// Does a part of the work. After a failure nothing more is written, and each caller that waits for its records gets
    /// the error.
    fn go_on<T>(&mut self, work: impl FnOnce(&mut RecordWriter) -> io::Result<T>) -> io::Result<T> {
        if let Some(error) = &self.failure {
            return Err(again(error));
        }
        let closed = || io::Error::other("the archive is closed");
        let done = self.writer.as_mut().ok_or_else(closed).and_then(work);
        done.inspect_err(|error| self.failure = Some(again(error)))
    }
}

impl ArchiveRecords {
    pub(super) fn new(dir: &Path, folder: ArchiveFolder) -> Self {
        let writing = Mutex::new(OpenArchive { writer: Some(RecordWriter::new(folder)), failure: None });
        Self { folder: dir.to_owned(), orders: Orders::default(), writing, spare: Mutex::default() }
    }

    /// Returns the folder for large bodies while they wait.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns an empty buffer for an exchange.
    pub(super) fn buffer(&self) -> Vec<u8> {
        self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_else(|| Vec::with_capacity(4_096))
    }

    /// Adds an exchange.
    pub(super) fn exchange(&self, arrived: ArrivedExchange) {
        let is_small = !arrived.captured.is_large() && arrived.captured.in_memory() <= AT_ONCE;
        if is_small
            && let Ok(mut writing) = self.writing.try_lock()
            && writing.is_ready()
        {
            // The error is kept for the callers that wait for their records.
            let _ = writing.go_on(|writer| writer.exchange(&arrived));
            drop(writing);
            return self.reuse(arrived);
        }
        self.orders.send(ArchiveOrder::Exchange(Box::new(arrived)));
    }

    /// Keeps the buffer of an exchange for another one.
    fn reuse(&self, arrived: ArrivedExchange) {
        let mut buffer = arrived.captured.into_buffer();
        let (most, largest) = SPARE;
        if buffer.capacity() <= largest
            && let Ok(mut spare) = self.spare.lock()
            && spare.len() < most
        {
            buffer.clear();
            spare.push(buffer);
        }
    }

    /// Fails the archive: a part of it could not be stored.
    pub(super) fn fail(&self, error: io::Error) {
        self.orders.send(ArchiveOrder::Failed(error));
    }

    /// Processes the orders until the archive is closed, then ends the last file and lets another run write.
    pub(super) fn process(&self) -> io::Result<()> {
        let _abandoned = AbandonedAtEnd(&self.orders);
        for order in
            std::iter::repeat_with(|| self.orders.take()).take_while(|some| !some.is_empty()).flatten()
        {
            // The error of a record is kept.
            let _ = match order {
                ArchiveOrder::Exchange(arrived) => self.lock().go_on(|writer| writer.exchange(&arrived)),
                ArchiveOrder::Member(member) => self.lock().go_on(|writer| writer.member(member)),
                ArchiveOrder::Failed(error) => self.lock().go_on(|_| Err(error)),
                ArchiveOrder::Keep(kept) => {
                    let _ = kept.send(self.keep());
                    Ok(())
                }
            };
        }
        let mut writing = self.lock();
        let closed = writing.go_on(RecordWriter::close);
        writing.writer = None;
        closed
    }

    /// Makes everything that was written durable. Meanwhile further records can be written.
    fn keep(&self) -> io::Result<()> {
        let file = self.lock().go_on(RecordWriter::flush)?;
        let kept = file.as_ref().map_or(Ok(()), File::sync_data);
        kept.or_else(|error| self.lock().go_on(|_| Err(error)))
    }

    /// Returns the writer. If a thread panicked while it wrote, the archive fails.
    fn lock(&self) -> MutexGuard<'_, OpenArchive> {
        self.writing.lock().unwrap_or_else(|poisoned| {
            let mut writing = poisoned.into_inner();
            let panicked = || io::Error::other("a thread that writes has panicked");
            writing.failure.get_or_insert_with(panicked);
            writing
        })
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

impl std::fmt::Debug for ArchiveRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArchiveRecords").field("folder", &self.folder).finish_non_exhaustive()
    }
}
