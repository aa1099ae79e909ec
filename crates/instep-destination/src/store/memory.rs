//! A copy in memory, for tests: it can fold names as some file systems do, and lose power.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Cursor, Read, Seek as _, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use resourcesync::{Algorithm, DateTime, Hasher};

use super::{
    CopyNames, NameKind, Obstacle, StagedName, StagingArea, StagingFile, StoreError, staging::StagingSink,
};
use crate::map::CopyPath;

/// A copy in memory, for tests: it can ignore case like some file systems, and lose unsynced data.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryStore {
    inner: Arc<Mutex<Inner>>,
    folds_names: bool,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    now: Disk,
    durable: Disk,
    next: u64,
}

/// The content of a disk: files by the key of their path, each with the path as written.
#[derive(Clone, Debug, Default)]
struct Disk {
    files: BTreeMap<String, (String, Arc<Vec<u8>>)>,
    folders: BTreeSet<String>,
    staged: BTreeMap<u64, Arc<Vec<u8>>>,
    parts: BTreeMap<String, (String, Arc<Vec<u8>>)>,
}

impl MemoryStore {
    /// Returns an empty copy.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Returns an empty copy in which names that differ only in case or composition are one.
    pub(crate) fn folding() -> Self {
        Self { folds_names: true, ..Self::default() }
    }

    /// Returns the copy after a power loss, without unsynced data.
    #[must_use]
    pub(crate) fn after_power_loss(&self) -> Self {
        let mut inner = self.inner().clone();
        inner.now = inner.durable.clone();
        Self { inner: Arc::new(Mutex::new(inner)), folds_names: self.folds_names }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, path: &str) -> String {
        if self.folds_names { crate::map::folded(path) } else { path.to_owned() }
    }
}

impl StagingArea for MemoryStore {
    fn stage(&self, algorithms: &[Algorithm]) -> Result<StagingFile, StoreError> {
        let name = self.fresh_name();
        let sink = MemoryStagingSink { bytes: Vec::new(), name, inner: Arc::clone(&self.inner), part: None };
        Ok(StagingFile::new(Box::new(sink), name, algorithms))
    }

    fn resume(
        &self,
        uri: &str,
        algorithms: &[Algorithm],
        _will_verify: bool,
    ) -> Result<Option<(StagingFile, String)>, StoreError> {
        let Some((validator, bytes)) = self.inner().now.parts.remove(uri) else { return Ok(None) };
        let name = self.fresh_name();
        let mut hasher = Hasher::new(algorithms);
        hasher.update(&bytes);
        let length = bytes.len() as u64;
        let part = Some((uri.to_owned(), validator.clone()));
        let sink = MemoryStagingSink { bytes: bytes.to_vec(), name, inner: Arc::clone(&self.inner), part };
        Ok(Some((StagingFile::resumed(Box::new(sink), name, hasher, length), validator)))
    }

    fn open_staged(&self, name: StagedName) -> Result<File, StoreError> {
        let failed = |error| StoreError::io("open", name.to_string(), error);
        let bytes = self.inner().now.staged.get(&name.get()).cloned();
        let bytes = bytes.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let mut file = tempfile::tempfile().map_err(failed)?;
        file.write_all(&bytes).and_then(|()| file.rewind()).map_err(failed)?;
        Ok(file)
    }

    fn is_staged(&self, name: StagedName) -> Result<bool, StoreError> {
        Ok(self.inner().now.staged.contains_key(&name.get()))
    }

    fn sync_staged(&self, names: &[StagedName]) -> Result<(), StoreError> {
        let inner = &mut *self.inner();
        for name in names {
            let bytes =
                inner.now.staged.get(&name.get()).ok_or_else(|| missing("sync", &name.to_string()))?;
            inner.durable.staged.insert(name.get(), Arc::clone(bytes));
        }
        Ok(())
    }

    fn discard(&self, names: &[StagedName]) {
        let mut inner = self.inner();
        for name in names {
            inner.now.staged.remove(&name.get());
        }
    }

    fn sweep(&self) -> Result<(), StoreError> {
        self.inner().now.staged.clear();
        Ok(())
    }

    fn fresh_name(&self) -> StagedName {
        let mut inner = self.inner();
        inner.next += 1;
        StagedName::from(inner.next)
    }

    fn free_bytes(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
}

impl CopyNames for MemoryStore {
    fn read(&self, path: &CopyPath) -> Result<Box<dyn Read + Send>, StoreError> {
        match self.inner().now.files.get(&self.key(path.as_str())) {
            Some((_, bytes)) => Ok(Box::new(Cursor::new(bytes.to_vec()))),
            None => Err(missing("open", path.as_str())),
        }
    }

    fn kind(&self, path: &str) -> Result<Option<NameKind>, StoreError> {
        let key = self.key(path);
        let inner = self.inner();
        for (end, _) in key.match_indices('/') {
            if inner.now.files.contains_key(&key[..end]) {
                return Err(StoreError::Blocked { path: path.to_owned(), by: Obstacle::NotAFolder });
            }
        }
        Ok(match (inner.now.files.contains_key(&key), inner.now.folders.contains(&key)) {
            (true, _) => Some(NameKind::File),
            (_, true) => Some(NameKind::Folder),
            _ => None,
        })
    }

    fn make_folder(&self, folder: &str) -> Result<(), StoreError> {
        let key = self.key(folder);
        let mut inner = self.inner();
        for end in key.match_indices('/').map(|(end, _)| end).chain([key.len()]) {
            if inner.now.files.contains_key(&key[..end]) {
                return Err(StoreError::Blocked { path: folder.to_owned(), by: Obstacle::NotAFolder });
            }
            inner.now.folders.insert(key[..end].to_owned());
        }
        Ok(())
    }

    fn expect_files(&self) -> Result<(), StoreError> {
        if self.inner().now.files.is_empty() {
            return Err(StoreError::NotTheCopy { path: "memory".into() });
        }
        Ok(())
    }

    fn place(&self, name: StagedName, path: &CopyPath) -> Result<(), StoreError> {
        let key = self.key(path.as_str());
        let inner = &mut *self.inner();
        if inner.now.folders.contains(&key) {
            return Err(StoreError::Blocked { path: path.to_string(), by: Obstacle::Folder });
        }
        if !path.folder().is_empty() && !inner.now.folders.contains(&self.key(path.folder())) {
            return Err(missing("place", path.as_str()));
        }
        let bytes =
            inner.now.staged.remove(&name.get()).ok_or_else(|| missing("place", &name.to_string()))?;
        let written =
            inner.now.files.get(&key).map_or_else(|| path.to_string(), |(written, _)| written.clone());
        inner.now.files.insert(key, (written, bytes));
        Ok(())
    }

    fn remove(&self, path: &CopyPath, into: StagedName) -> Result<(), StoreError> {
        let key = self.key(path.as_str());
        let inner = &mut *self.inner();
        if inner.now.folders.contains(&key) {
            return Err(StoreError::Blocked { path: path.to_string(), by: Obstacle::Folder });
        }
        let Some((_, bytes)) = inner.now.files.remove(&key) else { return Ok(()) };
        inner.now.staged.insert(into.get(), bytes);
        let disk = &mut inner.now;
        for (end, _) in key.rmatch_indices('/') {
            let folder = &key[..end];
            let within = |other: &str| other.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            if disk.files.keys().any(|file| within(file)) || disk.folders.iter().any(|other| within(other)) {
                break;
            }
            disk.folders.remove(folder);
        }
        Ok(())
    }

    fn move_within(&self, from: &CopyPath, to: &CopyPath, _by: StagedName) -> Result<(), StoreError> {
        // As in a folder: only the folder that takes the place of the file may have its name.
        if from.as_str() != to.folder() {
            self.make_folder(to.folder())?;
        }
        let moved = self.inner().now.files.remove(&self.key(from.as_str()));
        let (_, bytes) = moved.ok_or_else(|| missing("move", from.as_str()))?;
        self.make_folder(to.folder())?;
        self.inner().now.files.insert(self.key(to.as_str()), (to.to_string(), bytes));
        Ok(())
    }

    fn sync_names(&self) -> Result<(), StoreError> {
        let inner = &mut *self.inner();
        let staged = std::mem::take(&mut inner.durable.staged);
        inner.durable = inner.now.clone();
        // Names are durable now, but staged bytes only if they were synced.
        inner.durable.staged =
            staged.into_iter().filter(|(name, _)| inner.now.staged.contains_key(name)).collect();
        Ok(())
    }

    fn sync_all(&self) -> Result<(), StoreError> {
        let inner = &mut *self.inner();
        inner.durable = inner.now.clone();
        Ok(())
    }

    fn folds_names(&self) -> bool {
        self.folds_names
    }
}

fn missing(doing: &'static str, path: &str) -> StoreError {
    StoreError::io(doing, path, io::Error::from(io::ErrorKind::NotFound))
}

#[derive(Debug)]
struct MemoryStagingSink {
    bytes: Vec<u8>,
    name: StagedName,
    inner: Arc<Mutex<Inner>>,
    part: Option<(String, String)>,
}

impl MemoryStagingSink {
    fn disk(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StagingSink for MemoryStagingSink {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self, _modified: Option<DateTime>) -> Result<(), StoreError> {
        self.part = None;
        let bytes = Arc::new(std::mem::take(&mut self.bytes));
        self.disk().now.staged.insert(self.name.get(), bytes);
        Ok(())
    }

    fn keep_for(&mut self, uri: &str, validator: &str) -> Result<(), StoreError> {
        self.part = Some((uri.to_owned(), validator.to_owned()));
        Ok(())
    }
}

impl Drop for MemoryStagingSink {
    fn drop(&mut self) {
        if let Some((uri, validator)) = self.part.take() {
            let bytes = Arc::new(std::mem::take(&mut self.bytes));
            self.disk().now.parts.insert(uri, (validator, bytes));
        }
    }
}
