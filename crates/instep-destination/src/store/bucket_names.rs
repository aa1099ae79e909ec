//! A copy in a bucket with an object for each resource, under its path.
//!
//! Consecutive names are put together, and so are removals; steps that depend on them wait until they are done. A
//! replacement is one PUT, which services do atomically.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use instep_objects::{Bucket, NewObject};

use super::{CopyNames, NameKind, ObjectReader, Obstacle, StagedName, StagingArea, StoreError};
use crate::map::CopyPath;

/// The most bytes of a key.
const LONGEST_KEY: usize = 1_024;

/// The most names that are put or removed together.
const TOGETHER: usize = 256;

/// A copy in a bucket, under the names of its resources.
#[derive(Debug)]
pub(crate) struct BucketNames {
    staging: Arc<dyn StagingArea>,
    bucket: Arc<Bucket>,
    waiting: Mutex<UnsettledNames>,
}

/// Steps that are requested but not done yet. There are never both kinds.
#[derive(Debug, Default)]
struct UnsettledNames {
    puts: Vec<NamedPut>,
    removals: Vec<String>,
}

/// A staged file that gets a name.
#[derive(Debug)]
struct NamedPut {
    staged: StagedName,
    path: String,
    media_type: Option<String>,
}

impl BucketNames {
    /// Returns the names below the place of a bucket.
    pub(crate) fn new(staging: Arc<dyn StagingArea>, bucket: Arc<Bucket>) -> Self {
        Self { staging, bucket, waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, UnsettledNames> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out the waiting steps.
    fn settle(&self, waiting: &mut UnsettledNames) -> Result<(), StoreError> {
        let failed = |doing, error| StoreError::of_bucket(doing, "", &self.bucket, error);
        let removals = std::mem::take(&mut waiting.removals);
        let removals: Vec<&str> = removals.iter().map(String::as_str).collect();
        if !removals.is_empty() {
            self.bucket.remove(&removals).map_err(|error| failed("remove from", error))?;
        }
        let puts = std::mem::take(&mut waiting.puts);
        if puts.is_empty() {
            return Ok(());
        }
        let object = |put: &NamedPut| {
            let mut object = NewObject::new(&put.path);
            object.media_type.clone_from(&put.media_type);
            object
        };
        let objects: Vec<_> = puts.iter().map(object).collect();
        let open = |name: &str| {
            let staged = puts.iter().find(|put| put.path == name).ok_or(io::ErrorKind::NotFound)?.staged;
            self.staging.open_staged(staged).map_err(io::Error::other)
        };
        self.bucket.put(&objects, &open).map_err(|error| failed("write", error))?;
        let staged: Vec<_> = puts.iter().map(|put| put.staged).collect();
        self.staging.discard(&staged);
        Ok(())
    }

    fn settled(&self) -> Result<(), StoreError> {
        self.settle(&mut self.waiting())
    }
}

impl CopyNames for BucketNames {
    fn are_rows(&self) -> bool {
        true
    }

    fn read(&self, path: &CopyPath) -> Result<Box<dyn Read + Send>, StoreError> {
        self.settled()?;
        Ok(Box::new(ObjectReader::open(&self.bucket, path.as_str(), None)?))
    }

    fn kind(&self, path: &str) -> Result<Option<NameKind>, StoreError> {
        self.settled()?;
        let failed = |error| StoreError::of_bucket("look at", path, &self.bucket, error);
        if self.bucket.length(path).map_err(failed)?.is_some() {
            return Ok(Some(NameKind::File));
        }
        Ok(self.bucket.first_below(path).map_err(failed)?.map(|_| NameKind::Folder))
    }

    fn make_folder(&self, _folder: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn expect_files(&self) -> Result<(), StoreError> {
        let first = self.bucket.first_below("");
        match first.map_err(|error| StoreError::of_bucket("list", "", &self.bucket, error))? {
            Some(_) => Ok(()),
            None => Err(StoreError::NoObjects { place: self.bucket.place().to_string() }),
        }
    }

    fn place(&self, name: StagedName, path: &CopyPath) -> Result<(), StoreError> {
        self.place_as(name, path, None)
    }

    fn place_as(
        &self,
        staged: StagedName,
        path: &CopyPath,
        media_type: Option<&str>,
    ) -> Result<(), StoreError> {
        if self.bucket.place().prefix().len() + 1 + path.as_str().len() > LONGEST_KEY {
            return Err(StoreError::Blocked { path: path.as_str().to_owned(), by: Obstacle::NameTooLong });
        }
        let waiting = &mut *self.waiting();
        if !waiting.removals.is_empty() || waiting.puts.len() >= TOGETHER {
            self.settle(waiting)?;
        }
        let media_type = media_type.map(str::to_owned);
        waiting.puts.push(NamedPut { staged, path: path.as_str().to_owned(), media_type });
        Ok(())
    }

    fn remove(&self, path: &CopyPath, _into: StagedName) -> Result<(), StoreError> {
        let waiting = &mut *self.waiting();
        if !waiting.puts.is_empty() || waiting.removals.len() >= TOGETHER {
            self.settle(waiting)?;
        }
        waiting.removals.push(path.as_str().to_owned());
        Ok(())
    }

    fn move_within(&self, from: &CopyPath, to: &CopyPath, _by: StagedName) -> Result<(), StoreError> {
        self.settled()?;
        let failed = |error| StoreError::of_bucket("move", from.as_str(), &self.bucket, error);
        self.bucket.copy(from.as_str(), to.as_str()).map_err(failed)?;
        self.bucket.remove(&[from.as_str()]).map_err(failed)
    }

    fn sync_names(&self) -> Result<(), StoreError> {
        self.settled()
    }

    fn sync_all(&self) -> Result<(), StoreError> {
        self.settled()
    }

    fn folds_names(&self) -> bool {
        false
    }
}
