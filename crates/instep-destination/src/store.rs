//! The bytes of a copy: a file is complete and verified before it gets its final name, and never has it otherwise.
//!
//! A [`Store`] implements the steps; the [`Committer`](crate::commit::Committer) defines their order.

mod backup;
mod bucket_names;
mod copy_store;
mod error;
mod folder;
mod folder_sink;
mod folding;
#[cfg(test)]
mod memory;
mod object_reader;
mod pack_store;
mod partial;
mod parts;
mod staging;

use std::{fmt, fs::File, io, io::Read};

use resourcesync::{Algorithm, Digests, Hasher};

pub(crate) use crate::options::Durability;
pub(crate) use bucket_names::BucketNames;
pub(crate) use copy_store::CopyStore;
pub(crate) use error::StoreError;
pub(crate) use folder::{FolderOptions, FolderStore};
pub(crate) use instep_store::{NameKind, Obstacle, StagedName};
#[cfg(test)]
pub(crate) use memory::MemoryStore;
use object_reader::ObjectReader;
pub(crate) use pack_store::{MOST_PACKED, ObjectsAtRest, PackStore, PlannedObject, random_name};
pub(crate) use parts::{PackSpans, is_pack};
pub(crate) use staging::{Staged, StagingFile};

use crate::map::CopyPath;

/// The staging of a copy: incoming bytes that are not committed yet, in a folder of this machine or in memory.
///
/// # Contract
/// Staged bytes are invisible until they are placed. Nothing is durable before its `sync_` call returns.
pub(crate) trait StagingArea: fmt::Debug + Send + Sync {
    /// Frees the copy for another run, although tasks of this one may still hold the store. They can only write to
    /// staging, which the next run empties.
    fn let_go(&self) {}

    /// Creates a file that is digested while it is written.
    ///
    /// # Errors
    /// If storage fails, or its free space is less than the reserve.
    fn stage(&self, algorithms: &[Algorithm]) -> Result<StagingFile, StoreError>;

    /// Opens the part of a resource that an earlier attempt left, and returns it with its validator. Its bytes are
    /// hashed again, and it is kept until it is complete. `None` if there is no part, or if it is from before the last
    /// start of the machine and no digest will verify the complete resource: a power failure may have replaced the last
    /// bytes by zeros (R1).
    ///
    /// # Errors
    /// If storage fails.
    fn resume(
        &self,
        uri: &str,
        algorithms: &[Algorithm],
        will_verify: bool,
    ) -> Result<Option<(StagingFile, String)>, StoreError>;

    /// Opens a staged file for reading. The handle stays valid when the file is discarded.
    ///
    /// # Errors
    /// If it is not there, or storage fails.
    fn open_staged(&self, name: StagedName) -> Result<File, StoreError>;

    /// Returns `true` if a file is staged.
    ///
    /// # Errors
    /// If storage fails.
    fn is_staged(&self, name: StagedName) -> Result<bool, StoreError>;

    /// Makes staged bytes durable.
    ///
    /// # Errors
    /// If storage fails.
    fn sync_staged(&self, names: &[StagedName]) -> Result<(), StoreError>;

    /// Removes staged files. A failure is ignored, because the next start removes them.
    fn discard(&self, names: &[StagedName]);

    /// Removes staged files whose bytes were put elsewhere and which nobody reads any more. They may be reused for new
    /// bytes.
    fn recycle(&self, names: &[StagedName]) {
        self.discard(names);
    }

    /// Removes everything staged except the parts that can be resumed.
    ///
    /// # Errors
    /// If storage fails.
    fn sweep(&self) -> Result<(), StoreError>;

    /// Returns a new name in staging.
    fn fresh_name(&self) -> StagedName;

    /// Returns the bytes that may be written before the reserve is touched; `None` if there is no limit.
    ///
    /// # Errors
    /// If storage fails.
    fn free_bytes(&self) -> Result<Option<u64>, StoreError>;
}

/// The names of a copy: a folder, memory, or a bucket with an object for each name.
///
/// # Contract
/// Placing and removing are atomic: each name has the old bytes or the new ones at every instant. Nothing is durable
/// before its `sync_` call returns. No step leads out of the copy, whatever links were placed in it.
pub(crate) trait CopyNames: fmt::Debug + Send + Sync {
    /// Returns `true` if only this program gives names here: the rows of the state then show which names exist, without
    /// a request for each. A staged file may still exist after its object was put, so it does not show which steps were
    /// done.
    fn are_rows(&self) -> bool {
        false
    }

    /// Reads a committed file.
    ///
    /// # Errors
    /// If it is not there, is no plain file, or storage fails.
    fn read(&self, path: &CopyPath) -> Result<Box<dyn Read + Send>, StoreError>;

    /// Returns the kind of a name, without following its last step; `None` if there is nothing, or if an earlier step
    /// is missing.
    ///
    /// # Errors
    /// If storage fails, or a step before the last is not a folder.
    fn kind(&self, path: &str) -> Result<Option<NameKind>, StoreError>;

    /// Creates a folder and those above it.
    ///
    /// # Errors
    /// If something that is not a folder blocks it, or storage fails.
    fn make_folder(&self, folder: &str) -> Result<(), StoreError>;

    /// Checks that the copy has anything beside its own folder.
    ///
    /// # Errors
    /// If it has nothing, or storage fails.
    fn expect_files(&self) -> Result<(), StoreError>;

    /// Gives a staged file its final name, replacing an existing file. The folder must exist.
    ///
    /// # Errors
    /// If a folder has the name, or storage fails.
    fn place(&self, name: StagedName, path: &CopyPath) -> Result<(), StoreError>;

    /// Gives a staged file its final name, and its media type if the store has types.
    ///
    /// # Errors
    /// As for [`CopyNames::place`].
    fn place_as(
        &self,
        name: StagedName,
        path: &CopyPath,
        _media_type: Option<&str>,
    ) -> Result<(), StoreError> {
        self.place(name, path)
    }

    /// Moves a file out of the copy, into staging or the place of backups, and removes the folders that become empty.
    /// A missing file is not an error.
    ///
    /// # Errors
    /// If something that is not a file has its name, which stays as it is, or storage fails.
    fn remove(&self, path: &CopyPath, into: StagedName) -> Result<(), StoreError>;

    /// Gives a file another name. If that is below its old name, a folder replaces the file.
    ///
    /// # Errors
    /// If storage fails.
    fn move_within(&self, from: &CopyPath, to: &CopyPath, by: StagedName) -> Result<(), StoreError>;

    /// Makes every name durable that was given or taken since the last call.
    ///
    /// # Errors
    /// If storage fails.
    fn sync_names(&self) -> Result<(), StoreError>;

    /// Makes everything durable, including the steps of an earlier process.
    ///
    /// # Errors
    /// If storage fails.
    fn sync_all(&self) -> Result<(), StoreError>;

    /// Returns `true` if two names that differ in case or composition only are one name here (D7).
    fn folds_names(&self) -> bool;
}

/// A place for a copy in which each resource has a name, and the staging of its bytes.
pub(crate) trait Store: StagingArea + CopyNames {}

impl<T: StagingArea + CopyNames> Store for T {}

/// Returns the length and digests of a committed file; `None` if there is no such file. Blocks for as long as reading
/// takes.
///
/// # Errors
/// If something other than a file has its name, or storage fails.
pub(crate) fn digest_file(
    store: &dyn CopyNames,
    path: &CopyPath,
    algorithms: &[Algorithm],
) -> Result<Option<(u64, Digests)>, StoreError> {
    let mut file = match store.read(path) {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut hasher = Hasher::new(algorithms);
    let length = hasher
        .take_all(&mut *file, &mut vec![0; 1 << 16])
        .map_err(|error| StoreError::io("read", path.as_str(), error))?;
    Ok(Some((length, hasher.finish())))
}
