//! Content in object storage. A listing shows the objects that may have changed. Only these are requested, and read
//! if the service stores no digest of them.
//!
//! The index beside the catalogue has the validator, length and time of each object with the digests of its bytes.

mod digests;
mod index;
mod inventory;
mod name;

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

use super::{Supplied, Supplier};
use crate::{PublishMonitor, PublishProblem, ResourceState, error::StorageFailure};
use digests::{InspectionFault, fetched, together};
use index::{IndexedObject, ListingTime, ObjectIndex};
use inventory::BucketInventory;
use name::UnusableNames;

/// Objects of a listing that are compared with the index at a time.
const TOGETHER: usize = 1_000;

/// Objects that are asked after, or read, at once.
const AT_ONCE: usize = 8;

/// The objects below a prefix of a bucket, as the content of a Source.
#[derive(Debug)]
pub struct BucketContent {
    place: ObjectPlace,
    /// The place of inventories of the bucket; `None` if the bucket itself is listed.
    inventory: Option<ObjectPlace>,
    folder: PathBuf,
    /// `true` if the documents of the Source lie among the objects.
    has_documents: bool,
    /// The digests that are published.
    hash: Vec<Algorithm>,
    bucket: OnceLock<Bucket>,
    index: Mutex<Option<ObjectIndex>>,
    /// Single objects are inspected one caller after the other: results of two parallel ones could be recorded in the
    /// wrong order.
    looking: Mutex<()>,
}

impl BucketContent {
    /// Returns the content of a place. The metadata of its objects is kept below a folder, which must exist.
    pub fn new(place: ObjectPlace, folder: impl Into<PathBuf>, hash: Vec<Algorithm>) -> Self {
        let (bucket, index, looking) = (OnceLock::new(), Mutex::default(), Mutex::default());
        let (folder, inventory, has_documents) = (folder.into(), None, false);
        Self { place, inventory, folder, has_documents, hash, bucket, index, looking }
    }

    /// Reads the objects from an inventory that the service writes, instead of a listing: a manifest, or a folder of
    /// inventories, of which the newest is used. Objects put later are found by events and by the next inventory.
    #[must_use]
    pub fn with_inventory(self, inventory: ObjectPlace) -> Self {
        Self { inventory: Some(inventory), ..self }
    }

    /// Sets the place that the documents are delivered to. If it is that of the objects, those at the names of documents
    /// are expected, and not reported.
    #[must_use]
    pub fn with_documents_at(self, documents: &ObjectPlace) -> Self {
        let has_documents = documents.to_string() == self.place.to_string();
        Self { has_documents, ..self }
    }

    fn bucket(&self) -> io::Result<&Bucket> {
        if let Some(bucket) = self.bucket.get() {
            return Ok(bucket);
        }
        let opened = Bucket::open(&self.place).map_err(|error| StorageFailure::at(&self.place, error))?;
        Ok(self.bucket.get_or_init(|| opened))
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

    /// Records the objects of a listing in the index. Returns the number of those that cannot be read.
    fn take(
        &self,
        bucket: &Bucket,
        listed: &Receiver<ListedObject>,
        time: ListingTime,
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
            faults += self.look_at(bucket, &part, time, monitor, ends)?;
        }
    }

    /// Inspects those of some objects that may have changed. Returns the number of those that cannot be read.
    fn look_at(
        &self,
        bucket: &Bucket,
        listed: &[ListedObject],
        time: ListingTime,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
    ) -> io::Result<u64> {
        let changed = self.with_index(|index| index.meet(listed, &self.hash, time))?;
        let (mut faults, mut denied, looked_at) = (0, 0, changed.len());
        let mut last_denial = None;
        for (object, found) in fetched(bucket, changed, &self.hash, AT_ONCE, ends) {
            let what = match found {
                Ok(indexed) => {
                    self.with_index(|index| index.put(&indexed))?;
                    continue;
                }
                // The next listing shows the result.
                Err(InspectionFault::Gone) => continue,
                Err(InspectionFault::Changed) => {
                    "was replaced while it was read; the next publication has it".to_owned()
                }
                Err(InspectionFault::Unreadable(error)) => {
                    denied += usize::from(error.is_denied());
                    let what = format!("cannot be read: {error}; its published entry stays");
                    last_denial = Some(error);
                    what
                }
            };
            faults += 1;
            monitor.problem(&PublishProblem::skipped(self.uri(&object.name), what));
            // One line for all of them is enough if the credentials allow no reading at all.
            if let Some(error) = last_denial.take().filter(|_| denied == looked_at && denied >= AT_ONCE) {
                return Err(StorageFailure::at(&self.place, error));
            }
        }
        Ok(faults)
    }

    /// Records all existing objects in the index. Returns the number of those that cannot be read; `None` if it was
    /// ended early.
    fn take_listing(
        &self,
        bucket: &Bucket,
        inventory: Option<&BucketInventory>,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
    ) -> io::Result<Option<u64>> {
        let time = inventory.map_or(ListingTime::Now, |inventory| ListingTime::At(inventory.created));
        let (sender, listed) = sync_channel(TOGETHER);
        let mut unusable = UnusableNames::default();
        let (taken, listing) = thread::scope(|scope| {
            let unusable = &mut unusable;
            let listing = scope.spawn(move || {
                let each = &mut |object: ListedObject| {
                    let is_over =
                        unusable.resource(object).is_some_and(|object| sender.send(object).is_err());
                    if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                match inventory {
                    Some(inventory) => inventory.list(&self.place, each),
                    None => bucket.list(each).map_err(|error| StorageFailure::at(&self.place, error)),
                }
            });
            let taken = self.take(bucket, &listed, time, monitor, ends);
            // The rest has no receiver.
            drop(listed);
            (taken, listing.join())
        });
        let listing = listing.map_err(|_| io::Error::other("the listing ended unexpectedly"))?;
        let Some(faults) = taken? else { return Ok(None) };
        // An incomplete listing shows nothing about objects that it does not have.
        listing?;
        unusable.report(&self.place, self.has_documents, monitor);
        Ok(Some(faults + unusable.count))
    }

    fn uri(&self, name: &str) -> String {
        format!("{}/{name}", self.place)
    }
}

impl Supplier for BucketContent {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn refresh(&self, monitor: &dyn PublishMonitor, ends: &dyn Fn() -> bool) -> io::Result<u64> {
        let bucket = self.bucket()?;
        let inventory = match &self.inventory {
            Some(place) => Some(BucketInventory::open(place, &self.place)?),
            None => None,
        };
        let taken = inventory.as_ref().map(|inventory| inventory.identity(&self.hash));
        if taken.is_some() && self.with_index(|index| index.inventory())? == taken {
            return Ok(0);
        }
        self.with_index(ObjectIndex::begin)?;
        let Some(faults) = self.take_listing(bucket, inventory.as_ref(), monitor, ends)? else {
            return Ok(0);
        };
        let time = inventory.map_or(ListingTime::Now, |inventory| ListingTime::At(inventory.created));
        // An inventory with faults is not recorded as taken, so that it is read again.
        self.with_index(|index| index.finish(time, taken.filter(|_| faults == 0)))?;
        Ok(faults)
    }

    fn look(&self, paths: &[Vec<u8>], monitor: &dyn PublishMonitor) -> io::Result<()> {
        let names = name::of_resources(paths);
        if names.is_empty() {
            return Ok(());
        }
        let bucket = self.bucket()?;
        let never = || false;
        let _one_at_a_time = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut listed = Vec::new();
        for (name, found) in together(names, AT_ONCE, &never, |name| bucket.listed(name)) {
            match found.map_err(|error| StorageFailure::at(&self.place, error))? {
                Some(object) => listed.push(object),
                None => self.with_index(|index| index.forget(&name))?,
            }
        }
        self.look_at(bucket, &listed, ListingTime::Now, monitor, &never).map(drop)
    }

    fn object_place(&self) -> Option<&ObjectPlace> {
        Some(&self.place).filter(|place| place.leads_back())
    }

    fn each(&self, take: &mut dyn FnMut(Supplied) -> ControlFlow<()>) -> io::Result<()> {
        let mut after = String::new();
        loop {
            // The receiver may request other objects meanwhile.
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
            digests::to_file(self.bucket()?, path).map_err(|error| {
                if error.is_missing() {
                    io::Error::new(io::ErrorKind::NotFound, error_chain(&error))
                } else {
                    StorageFailure::at(&self.place, error)
                }
            })?
        };
        Some(open())
    }

    fn has_bytes(&self, path: &[u8]) -> Option<bool> {
        Some(self.at(path).is_ok_and(|found| found.is_some()))
    }
}
