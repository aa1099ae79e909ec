//! A file that is being written to staging, and digested meanwhile.

use std::fmt;

use resourcesync::{Algorithm, DateTime, Digests, Hasher};

use super::{StagedName, StoreError};

/// A file that is complete but not yet committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Staged {
    /// Its name in staging.
    pub name: StagedName,
    /// The number of bytes.
    pub length: u64,
    /// The requested digests.
    pub digests: Digests,
}

/// The receiver of the bytes of a [`StagingFile`].
pub(super) trait StagingSink: fmt::Debug + Send {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError>;
    fn finish(&mut self, modified: Option<DateTime>) -> Result<(), StoreError>;
    fn keep_for(&mut self, uri: &str, validator: &str) -> Result<(), StoreError>;
}

/// A file that is being written. It is removed when this value is dropped, unless it is finished or kept to be resumed.
#[derive(Debug)]
pub(crate) struct StagingFile {
    sink: Box<dyn StagingSink>,
    hasher: Hasher,
    length: u64,
    name: StagedName,
}

impl StagingFile {
    pub(super) fn new(sink: Box<dyn StagingSink>, name: StagedName, algorithms: &[Algorithm]) -> Self {
        Self { sink, hasher: Hasher::new(algorithms), length: 0, name }
    }

    /// Returns a file that has bytes already.
    pub(super) fn resumed(sink: Box<dyn StagingSink>, name: StagedName, hasher: Hasher, length: u64) -> Self {
        Self { sink, hasher, length, name }
    }

    /// Writes the next bytes.
    ///
    /// # Errors
    /// If storage fails.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.sink.write(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Returns its name in staging, under which the bytes written so far can be read.
    pub(crate) fn name(&self) -> StagedName {
        self.name
    }

    /// Returns the number of bytes written so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Makes the bytes outlive this value and the run, so that [`StagingArea::resume`](super::StagingArea::resume)
    /// finds them. It is used for large files.
    ///
    /// # Errors
    /// If storage fails.
    pub(crate) fn keep_for(&mut self, uri: &str, validator: &str) -> Result<(), StoreError> {
        self.sink.keep_for(uri, validator)
    }

    /// Completes the file; its modification time becomes that of the resource.
    ///
    /// # Errors
    /// If storage fails.
    pub(crate) fn finish(mut self, modified: Option<DateTime>) -> Result<Staged, StoreError> {
        self.sink.finish(modified)?;
        Ok(Staged { name: self.name, length: self.length, digests: self.hasher.finish() })
    }
}
