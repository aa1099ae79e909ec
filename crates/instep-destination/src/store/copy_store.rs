//! The bytes of a copy in either layout: under names, or as parts of objects.

use std::{io::Read, sync::Arc};

use super::{CopyNames, PackSpans, PackStore, StagingArea, Store, StoreError};
use crate::{map::CopyPath, state::HeldAt};

/// The bytes of a copy, and the staging of incoming ones.
#[derive(Clone, Debug)]
pub(crate) enum CopyStore {
    /// Each resource has a name: in a folder, in memory, or in a bucket with an object for each.
    Names {
        /// Receives incoming bytes.
        staging: Arc<dyn StagingArea>,
        /// Has the committed bytes.
        names: Arc<dyn CopyNames>,
    },
    /// Resources are parts of objects, and only rows of the state lead to them.
    Packs(Arc<PackStore>),
}

impl CopyStore {
    /// Returns the staging.
    pub(crate) fn staging(&self) -> &Arc<dyn StagingArea> {
        match self {
            Self::Names { staging, .. } => staging,
            Self::Packs(packs) => packs.staging(),
        }
    }

    /// Reads the bytes of a held resource.
    ///
    /// # Errors
    /// If they are not there, they are damaged so that nothing can be read, or storage fails.
    pub(crate) fn read(&self, path: &CopyPath, at: &HeldAt) -> Result<Box<dyn Read + Send>, StoreError> {
        self.read_within(&mut PackSpans::default(), path, at)
    }

    /// Reads the bytes of a held resource, together with adjacent ones that will be read.
    ///
    /// # Errors
    /// As for [`CopyStore::read`].
    pub(crate) fn read_within(
        &self,
        spans: &mut PackSpans,
        path: &CopyPath,
        at: &HeldAt,
    ) -> Result<Box<dyn Read + Send>, StoreError> {
        match (self, at) {
            (Self::Packs(packs), HeldAt::Object { key, offset, length }) => {
                packs.read_within(spans, key, *offset, *length)
            }
            (Self::Names { names, .. }, _) => names.read(path),
            (Self::Packs(_), HeldAt::Path) => {
                Err(StoreError::io("read", path.as_str(), std::io::ErrorKind::NotFound))
            }
        }
    }

    /// Returns `true` if names that differ only in case or composition are one name here (D7).
    pub(crate) fn folds_names(&self) -> bool {
        match self {
            Self::Names { names, .. } => names.folds_names(),
            Self::Packs(_) => false,
        }
    }

    /// Checks that a file or object of the copy is there.
    ///
    /// # Errors
    /// If there is none, or storage fails.
    pub(crate) fn expect_bytes(&self) -> Result<(), StoreError> {
        match self {
            Self::Names { names, .. } => names.expect_files(),
            Self::Packs(packs) => packs.expect_objects(),
        }
    }

    /// Returns the number of bytes that can still be stored; `None` if it is not known.
    ///
    /// # Errors
    /// If storage fails.
    pub(crate) fn room(&self) -> Result<Option<u64>, StoreError> {
        match self {
            Self::Names { staging, names } if !names.are_rows() => staging.free_bytes(),
            _ => Ok(None),
        }
    }

    /// Returns the names, if resources have names.
    pub(crate) fn names(&self) -> Option<&Arc<dyn CopyNames>> {
        match self {
            Self::Names { names, .. } => Some(names),
            Self::Packs(_) => None,
        }
    }

    /// Returns the objects, if resources are parts of objects.
    pub(crate) fn packs(&self) -> Option<&Arc<PackStore>> {
        match self {
            Self::Names { .. } => None,
            Self::Packs(packs) => Some(packs),
        }
    }
}

impl From<Arc<dyn Store>> for CopyStore {
    fn from(store: Arc<dyn Store>) -> Self {
        Self::Names { staging: Arc::clone(&store) as Arc<dyn StagingArea>, names: store }
    }
}
