//! What an application says of its resources, instead of being looked at.

use std::path::PathBuf;

use resourcesync::Uri;

use super::{
    ScanOptions,
    candidate::Candidate,
    hasher::{FileHasher, await_tick},
    hashing, scan_paths,
};
use crate::{
    Error, Monitor,
    catalogue::{Catalogue, CatalogueError, Observation, Recorded, Resource, State},
    content::{Holdings, Look, Root, look},
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
    let mut files = Vec::new();
    let mut named = Vec::with_capacity(said.len());
    for said in said {
        match holdings.root_of_uri(said.uri().as_str()) {
            Some((root, path)) => files.push((root, path)),
            None => named.push(named_one(holdings, catalogue, said, options.sets)?),
        }
    }
    if files.is_empty() {
        return Ok(catalogue.record(named)?);
    }
    record_files(holdings, catalogue, (files, named), options, monitor)
}

/// A resource that is no file. One that a manifest names stays the manifest's, in its sets.
fn named_one(
    holdings: &Holdings,
    catalogue: &Catalogue,
    said: Said,
    sets: u64,
) -> Result<Observation, CatalogueError> {
    let uri = said.uri().as_str();
    for key in holdings.manifests().iter().map(|manifest| manifest.key(uri)) {
        if let Some(held) = catalogue.resource(&key)? {
            return Ok(said.observation(key, held.sets));
        }
    }
    let key = holdings.key_of(uri);
    Ok(said.observation(key, sets))
}

/// Files are looked at one caller after the other and recorded in that order; nobody waits for the disk meanwhile.
fn record_files<'a>(
    holdings: &'a Holdings,
    catalogue: &'a Catalogue,
    (files, mut observed): (Vec<(&'a Root, Vec<u8>)>, Vec<Observation>),
    options: &ScanOptions,
    monitor: &dyn Monitor,
) -> Result<Recorded, Error> {
    let stands = |(root, path): &(&Root, Vec<u8>)| look(root, path, options.private_too);
    let newest = files.iter().filter_map(|file| match stands(file) {
        Look::File(stamp, _) => Some(stamp.mtime_ns),
        _ => None,
    });
    newest.max().map(await_tick);
    let hashing = hashing(catalogue, options)?;
    let mut hasher = FileHasher::new(catalogue, &hashing, monitor);
    let mut folders: Vec<PathBuf> = Vec::new();
    let alone = holdings.look_alone();
    for (root, path) in files {
        if root.supply.is_some() || knows_below(catalogue, root, &path)? {
            folders.push(root.path(&path));
            continue;
        }
        match look(root, &path, options.private_too) {
            Look::File(stamp, sets) => {
                let file = Candidate::Walked { root, path, length: stamp.length, sets };
                observed.extend(hasher.observe(file));
            }
            // Also when it is not known: it may be on its way into the catalogue.
            Look::Nothing => observed.push(Observation::Gone { key: root.key(&path) }),
            Look::Folder => folders.push(root.path(&path)),
            Look::Unknown => {}
        }
    }
    let recording = catalogue.begin_to_record(observed)?;
    drop(alone);
    let mut recorded = recording.wait()?;
    if !folders.is_empty() {
        recorded.add(&scan_paths(holdings, catalogue, &folders, options, monitor)?.recorded);
    }
    if let Some(spool) = hashing.spool.as_ref().filter(|_| hasher.done.kept > 0) {
        spool.trim().map_err(Error::write(spool.folder()))?;
    }
    Ok(recorded)
}

/// Whether a path is known as that of a folder.
fn knows_below(catalogue: &Catalogue, root: &Root, path: &[u8]) -> Result<bool, Error> {
    let key = root.key(path);
    let below = catalogue.stamps([&key, &b"/"[..]].concat(), [&key, &b"0"[..]].concat())?;
    Ok(below.peek().is_some())
}
