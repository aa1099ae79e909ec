//! Content in object storage. A listing says what may have changed; only that is asked after, and read where the service keeps
//! no digest of it.
//!
//! The index beside the catalogue has the validator, length and time of each object with the digests of its bytes.

mod digests;
mod index;

use std::{
    fs::File,
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use instep_objects::{Bucket, ListedObject, ObjectPlace};
use instep_store::error_chain;
use resourcesync::{Algorithm, MediaType};

use super::{Supplied, Supplier, filter::is_left_out};
use crate::{PublishMonitor, PublishProblem, ResourceState};
use digests::{LookFault, fetched};
use index::{IndexedObject, ObjectIndex};

/// Objects of a listing that are compared with the index at a time.
const TOGETHER: usize = 1_000;

/// Objects that are asked after, or read, at once.
const AT_ONCE: usize = 8;

/// The objects below a prefix of a bucket, as the content of a Source.
#[derive(Debug)]
pub struct BucketContent {
    place: ObjectPlace,
    folder: PathBuf,
    /// The digests that are published.
    hash: Vec<Algorithm>,
    bucket: OnceLock<Bucket>,
    index: Mutex<Option<ObjectIndex>>,
}

impl BucketContent {
    /// Returns the content of a place. What is known of its objects is kept below a folder, which must exist.
    pub fn new(place: ObjectPlace, folder: impl Into<PathBuf>, hash: Vec<Algorithm>) -> Self {
        Self { place, folder: folder.into(), hash, bucket: OnceLock::new(), index: Mutex::default() }
    }

    fn bucket(&self) -> io::Result<&Bucket> {
        if let Some(bucket) = self.bucket.get() {
            return Ok(bucket);
        }
        let opened = Bucket::open(&self.place).map_err(|error| self.failed(&error))?;
        Ok(self.bucket.get_or_init(|| opened))
    }

    fn failed(&self, error: &instep_objects::BucketError) -> io::Error {
        io::Error::other(format!("{}: {error}", self.place))
    }

    fn index(&self) -> MutexGuard<'_, Option<ObjectIndex>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs work with the index, which is opened now if it is not.
    fn with_index<T>(&self, work: impl FnOnce(&mut ObjectIndex) -> io::Result<T>) -> io::Result<T> {
        let mut index = self.index();
        if index.is_none() {
            *index = Some(ObjectIndex::open(&self.folder, &self.place)?);
        }
        index.as_mut().map_or_else(|| Err(io::Error::other("no index")), work)
    }

    fn supplied(object: IndexedObject) -> Supplied {
        let mut state = ResourceState::new();
        state.length = Some(object.length);
        state.digests = object.digests;
        state.media_type = object.media_type.as_deref().map(MediaType::new);
        Supplied::new(object.path, state)
    }

    /// Takes the objects of a listing into the index. Returns the number of those that cannot be had.
    fn take(
        &self,
        bucket: &Bucket,
        listed: &Receiver<ListedObject>,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
    ) -> io::Result<Option<u64>> {
        let mut faults = 0;
        loop {
            let part: Vec<ListedObject> = listed.iter().take(TOGETHER).collect();
            if ends() {
                return Ok(None);
            }
            if part.is_empty() {
                return Ok(Some(faults));
            }
            let changed = self.with_index(|index| index.meet(&part, &self.hash))?;
            for (object, found) in fetched(bucket, changed, &self.hash, AT_ONCE, ends) {
                match found {
                    Ok(indexed) => self.with_index(|index| index.put(&indexed))?,
                    // The next listing says what became of it.
                    Err(LookFault::Gone) => {}
                    Err(LookFault::Changed) => {
                        faults += 1;
                        let what = "was replaced while it was read; the next publication has it";
                        monitor.problem(&PublishProblem::skipped(self.uri(&object), what));
                    }
                    Err(LookFault::Unreadable(what)) => {
                        faults += 1;
                        let what = format!("cannot be read: {what}; what is known of it stays published");
                        monitor.problem(&PublishProblem::skipped(self.uri(&object), what));
                    }
                }
            }
        }
    }

    fn uri(&self, object: &ListedObject) -> String {
        format!("{}/{}", self.place, object.name)
    }
}

/// Returns `true` if an object can be a resource: no folder's marker, and nothing that is left out of folders too.
fn is_resource(name: &str) -> bool {
    !name.is_empty() && !name.split('/').any(|part| part.is_empty() || is_left_out(part.as_bytes()))
}

impl Supplier for BucketContent {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn refresh(&self, monitor: &dyn PublishMonitor, ends: &dyn Fn() -> bool) -> io::Result<u64> {
        let bucket = self.bucket()?;
        self.with_index(ObjectIndex::begin)?;
        let (sender, listed) = sync_channel(TOGETHER);
        let (taken, listing) = thread::scope(|scope| {
            let listing = scope.spawn(move || {
                bucket.list(&mut |object| match is_resource(&object.name) && sender.send(object).is_err() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                })
            });
            let taken = self.take(bucket, &listed, monitor, ends);
            // Nobody receives the rest.
            drop(listed);
            (taken, listing.join())
        });
        let listing = listing.map_err(|_| io::Error::other("the listing ended unexpectedly"))?;
        // A listing that broke off says nothing of what it does not have.
        listing.map_err(|error| self.failed(&error))?;
        let Some(faults) = taken? else { return Ok(0) };
        self.with_index(ObjectIndex::finish)?;
        Ok(faults)
    }

    fn each(&self, take: &mut dyn FnMut(Supplied) -> ControlFlow<()>) -> io::Result<()> {
        let mut after = String::new();
        loop {
            // Whoever takes them may ask for others meanwhile.
            let page = self.with_index(|index| index.after(&after, TOGETHER))?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(&last.path);
            for object in page {
                if take(Self::supplied(object)).is_break() {
                    return Ok(());
                }
            }
        }
    }

    fn at(&self, path: &[u8]) -> io::Result<Option<Supplied>> {
        let Ok(path) = std::str::from_utf8(path) else { return Ok(None) };
        Ok(self.with_index(|index| index.at(path))?.map(Self::supplied))
    }

    fn open(&self, path: &[u8]) -> Option<io::Result<File>> {
        let open = || {
            let path = std::str::from_utf8(path).map_err(io::Error::other)?;
            digests::to_file(self.bucket()?, path).map_err(|error| match error.is_missing() {
                true => io::Error::new(io::ErrorKind::NotFound, error_chain(&error)),
                false => self.failed(&error),
            })?
        };
        Some(open())
    }

    fn has_bytes(&self, path: &[u8]) -> Option<bool> {
        Some(self.at(path).is_ok_and(|found| found.is_some()))
    }
}
