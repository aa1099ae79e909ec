//! Resources as parts of objects: small ones packed as records of a web archive, large ones as separate objects.
//!
//! A key is never used twice: it has the identity of the copy, a random number of the run, and a number in the run.
//! For this reason no renames, conditional requests or listings are needed, and every service can be used. Objects
//! are found by rows of the state; nothing here searches for them.

use std::{
    fs::File,
    io::{self, Read},
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use instep_objects::{Bucket, NewObject, ObjectPlace};

use super::{
    ObjectReader, StagedName, StagingArea, StoreError,
    parts::{PACK, PackSpans, is_pack},
};
use crate::{map::CopyPath, state::HeldAt};

/// The size up to which a resource is packed, in bytes.
pub(crate) const MOST_PACKED: u64 = 1 << 20;

/// The number of keys that are looked up at a time.
const TOGETHER: usize = 1_000;

/// The objects of a copy, in a bucket.
#[derive(Debug)]
pub(crate) struct PackStore {
    staging: Arc<dyn StagingArea>,
    bucket: Arc<Bucket>,
    /// The identity of the copy.
    copy: String,
    /// A random number of this run.
    run: String,
    next: AtomicU64,
}

/// A staged file that is going to be an object.
#[derive(Clone, Debug)]
pub(crate) struct PlannedObject {
    pub(crate) key: Box<str>,
    pub(crate) staged: StagedName,
    pub(crate) media_type: Option<String>,
}

impl PackStore {
    /// Returns the objects of the copy that has this identity.
    pub(crate) fn new(staging: Arc<dyn StagingArea>, bucket: Arc<Bucket>, copy: String) -> Self {
        Self { staging, bucket, copy, run: random_name(), next: AtomicU64::new(0) }
    }

    /// Returns the staging.
    pub(crate) fn staging(&self) -> &Arc<dyn StagingArea> {
        &self.staging
    }

    /// Returns the identity of the copy.
    pub(crate) fn identity(&self) -> &str {
        &self.copy
    }

    /// Returns a new unique key for a pack.
    pub(crate) fn key_of_pack(&self) -> Box<str> {
        format!("packs/{}/{}-{:06}{PACK}", self.copy, self.run, self.next.fetch_add(1, Ordering::Relaxed))
            .into()
    }

    /// Returns a new unique key for a large resource.
    pub(crate) fn key_of_resource(&self) -> Box<str> {
        format!("objects/{}/{}-{:06}", self.copy, self.run, self.next.fetch_add(1, Ordering::Relaxed)).into()
    }

    /// Puts staged files, several at a time, each completely or not at all.
    ///
    /// # Errors
    /// If storage fails; some of them may then exist.
    pub(crate) fn put(&self, planned: &[PlannedObject]) -> Result<(), StoreError> {
        let object = |planned: &PlannedObject| {
            let mut object = NewObject::new(&*planned.key);
            object.media_type.clone_from(&planned.media_type);
            object
        };
        let objects: Vec<_> = planned.iter().map(object).collect();
        let open = |key: &str| -> io::Result<File> {
            let planned = planned.iter().find(|planned| *planned.key == *key);
            let staged = planned.ok_or(io::ErrorKind::NotFound)?.staged;
            self.staging.open_staged(staged).map_err(io::Error::other)
        };
        self.bucket
            .put(&objects, &open)
            .map_err(|error| StoreError::of_bucket("write", "", &self.bucket, error))?;
        Ok(())
    }

    /// Removes objects; one that is not there is removed already.
    ///
    /// # Errors
    /// If storage fails.
    pub(crate) fn remove(&self, keys: &[Box<str>]) -> Result<(), StoreError> {
        let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
        self.bucket
            .remove(&keys)
            .map_err(|error| StoreError::of_bucket("remove from", "", &self.bucket, error))
    }

    /// Reads a complete object into memory: a pack.
    ///
    /// # Errors
    /// If it does not exist, or storage fails.
    pub(crate) fn read_pack(&self, key: &str) -> Result<Bytes, StoreError> {
        self.bucket.read(key, None).map_err(|error| StoreError::of_bucket("read", key, &self.bucket, error))
    }

    /// Reads a part of an object together with adjacent ones.
    ///
    /// # Errors
    /// If it does not exist, its record is damaged, or storage fails.
    pub(crate) fn read_within(
        &self,
        spans: &mut PackSpans,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Box<dyn Read + Send>, StoreError> {
        spans.read(&self.bucket, key, offset, length)
    }

    /// Passes the keys of the objects of the copy that were put before a time, in microseconds since 1970, to `each`, many at
    /// a time, until it returns `false`.
    ///
    /// # Errors
    /// If storage fails, or `each` does.
    pub(crate) fn objects_before<E: From<StoreError> + Send>(
        &self,
        time: i64,
        each: &mut (dyn FnMut(&[String]) -> Result<bool, E> + Send),
    ) -> Result<(), E> {
        for folder in ["packs", "objects"] {
            let (mut keys, mut goes_on) = (Vec::new(), Ok(true));
            let listed = self.bucket.list_below(&format!("{folder}/{}", self.copy), &mut |object| {
                if object.modified < time {
                    keys.push(object.name);
                }
                if keys.len() == TOGETHER {
                    goes_on = each(&std::mem::take(&mut keys));
                }
                if let Ok(true) = goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            listed.map_err(|error| StoreError::of_bucket("list", "", &self.bucket, error))?;
            if !goes_on? || !each(&keys)? {
                break;
            }
        }
        Ok(())
    }

    /// Checks that the bucket has an object of the copy.
    ///
    /// # Errors
    /// If it has none, or storage fails.
    pub(crate) fn expect_objects(&self) -> Result<(), StoreError> {
        for folder in ["packs", "objects"] {
            let first = self.bucket.first_below(&format!("{folder}/{}", self.copy));
            let first = first.map_err(|error| StoreError::of_bucket("list", "", &self.bucket, error))?;
            if first.is_some() {
                return Ok(());
            }
        }
        Err(StoreError::NoObjects { place: self.bucket.place().to_string() })
    }
}

/// The objects of a copy that is only read.
#[derive(Debug)]
pub(crate) struct ObjectsAtRest(Arc<Bucket>);

impl ObjectsAtRest {
    /// Opens the place of a copy.
    ///
    /// # Errors
    /// If its settings cannot be used.
    pub(crate) fn open(place: &ObjectPlace) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Bucket { doing: "open", place: place.to_string(), source };
        Ok(Self(Arc::new(Bucket::open(place).map_err(failed)?)))
    }

    /// Reads the bytes of a held resource, together with adjacent ones.
    ///
    /// # Errors
    /// If they are missing or damaged, or storage fails.
    pub(crate) fn read(
        &self,
        spans: &mut PackSpans,
        path: &CopyPath,
        at: &HeldAt,
    ) -> Result<Box<dyn Read + Send>, StoreError> {
        match at {
            HeldAt::Object { key, offset, length } => spans.read(&self.0, key, *offset, *length),
            HeldAt::Path => Ok(Box::new(ObjectReader::open(&self.0, path.as_str(), None)?)),
        }
    }

    /// Reads the record of a pack that has the bytes of a resource; `None` if no pack has them.
    ///
    /// # Errors
    /// If it is not there, or storage fails.
    pub(crate) fn read_member(
        &self,
        spans: &mut PackSpans,
        at: &HeldAt,
    ) -> Result<Option<Bytes>, StoreError> {
        match at {
            HeldAt::Object { key, offset, length } if is_pack(key) => {
                spans.read_member(&self.0, key, *offset, *length).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Returns eight random bytes as text.
pub(crate) fn random_name() -> String {
    HEXLOWER.encode(&rand::random::<[u8; 8]>())
}
