//! What an application says of its resources, instead of being looked at.

use std::path::PathBuf;

use resourcesync::Uri;

use super::{ScanOptions, scan_paths};
use crate::{
    Error, Monitor,
    catalogue::{Catalogue, Observation, Recorded, Resource, State},
    content::Holdings,
};

/// What an application says of one resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Said {
    /// It is new, or has changed. Of a file below a folder of the Source, the file itself tells the rest.
    Add {
        /// The resource.
        uri: Uri,
        /// What is known of its state.
        state: State,
    },
    /// It is gone; a file that is still there is not.
    Remove {
        /// The resource.
        uri: Uri,
    },
}

impl Said {
    /// A resource that is new or has changed.
    pub fn add(uri: Uri) -> Self {
        Self::Add { uri, state: State::new() }
    }

    /// A resource that is gone.
    pub fn remove(uri: Uri) -> Self {
        Self::Remove { uri }
    }

    fn uri(&self) -> &Uri {
        let (Self::Add { uri, .. } | Self::Remove { uri }) = self;
        uri
    }

    fn observation(self, key: Vec<u8>, sets: u64) -> Observation {
        match self {
            Self::Remove { .. } => Observation::Gone { key },
            Self::Add { uri, state } => {
                let mut resource = Resource::new(key, uri);
                (resource.state, resource.sets) = (state, sets);
                Observation::Changed(resource)
            }
        }
    }
}

/// Records what an application says, durably when this returns; callers that wait at the same time share a commit.
///
/// Each resource that the application names belongs to all sets of the Source. Adding one that is known is an update.
///
/// # Errors
/// When the catalogue fails, or a folder of the Source cannot be read.
pub fn record_said(
    holdings: &Holdings,
    catalogue: &Catalogue,
    said: Vec<Said>,
    options: &ScanOptions,
    monitor: &dyn Monitor,
) -> Result<Recorded, Error> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut named = Vec::with_capacity(said.len());
    for said in said {
        match holdings.root_of_uri(said.uri().as_str()) {
            Some((root, path)) => paths.push(root.path(&path)),
            None => {
                let key = holdings.key_of(said.uri().as_str());
                named.push(said.observation(key, options.sets));
            }
        }
    }
    let mut recorded = Recorded::default();
    if !named.is_empty() {
        recorded.add(&catalogue.record(named)?);
    }
    if !paths.is_empty() {
        recorded.add(&scan_paths(holdings, catalogue, &paths, options, monitor)?.recorded);
    }
    Ok(recorded)
}
