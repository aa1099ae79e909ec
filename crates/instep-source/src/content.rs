//! The places of bitstreams: folders, manifests, and suppliers of an application.

mod arrangement;
mod bucket;
mod deletions;
mod describe;
mod filter;
mod look;
mod manifest;
mod media_type;
mod pattern;
mod root;
mod skips;
mod spool;
mod stat;
mod supplier;
mod uri;
mod walk;

use std::{
    fs::File,
    io, iter,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use instep_store::RootFolder;
use resourcesync::Change;

use crate::{
    Error, PublishMonitor, PublishProblem,
    catalogue::{ChangeRecord, Resource, Snapshot},
};

pub(crate) use arrangement::rebased_numbers;
pub use bucket::BucketContent;
pub(crate) use deletions::DeletionWindow;
use describe::Describer;
pub(crate) use look::{PathContent, look};
#[cfg(feature = "serve")]
pub(crate) use manifest::listed;
pub(crate) use manifest::{Listed, Listing, Manifest, leave_standard_input};
pub(crate) use media_type::MediaTypes;
pub(crate) use pattern::Pattern;
pub(crate) use root::Root;
pub(crate) use skips::{Skipped, Skips};
pub use spool::SpoolUsage;
pub(crate) use spool::StateSpool;
#[cfg(feature = "serve")]
pub(crate) use stat::is_private;
pub(crate) use stat::stamp;
#[cfg(feature = "serve")]
pub(crate) use supplier::ReportedPath;
pub use supplier::{ChangeReporter, Supplied, Supplier, Supply};
#[cfg(feature = "serve")]
pub(crate) use uri::escape_path;
pub(crate) use uri::{MOST_BYTES, MOST_CHARACTERS, has_login, is_publishable};
pub(crate) use walk::{FolderWalk, WalkStep};

/// The first byte of the key of a resource that an application has named: its URI follows.
pub(crate) const NAMED: u8 = 0;

/// The folders and manifests of a Source, with the keys of their resources in the catalogue and their URIs.
/// Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Holdings(Arc<HoldingsShared>);

#[derive(Debug)]
struct HoldingsShared {
    roots: Vec<Root>,
    manifests: Vec<Manifest>,
    /// The rules of each set, by the number of the set.
    describers: Vec<Describer>,
    looking: Mutex<()>,
    deletions: Mutex<DeletionWindow>,
}

impl Holdings {
    /// Returns the folders that can be watched, and how often each was replaced by another one.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        let roots = self.0.roots.iter().filter(|root| root.supply.is_none());
        roots.map(|root| (root.folder(), root.replaced()))
    }

    /// Opens each folder again by its name, because it may have been replaced by another one.
    pub(crate) fn refresh(&self, monitor: &dyn PublishMonitor) -> Result<(), Error> {
        for root in self.0.roots.iter().filter(|root| root.supply.is_none()) {
            if root.refresh().map_err(Error::read(root.folder()))? {
                let what = "was replaced by another folder, which is published now";
                monitor.problem(&PublishProblem::warning(root.folder().display().to_string(), what));
            }
        }
        Ok(())
    }

    /// Returns the open folder with a number; `None` if there is none.
    pub(crate) fn handle(&self, number: u8) -> Option<Arc<RootFolder>> {
        self.0.roots.iter().find(|root| root.number == number).map(Root::handle)
    }

    /// Updates each supplier from its origin; returns the number of resources left out for a fault.
    pub(crate) fn refresh_supplies(
        &self,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
    ) -> Result<u64, Error> {
        let supplied = self.0.roots.iter().filter_map(|root| Some((root, root.supply.as_ref()?)));
        let refresh = |(root, supply): (&Root, &Supply)| {
            supply.0.refresh(monitor, ends).map_err(Error::supplied(root.folder()))
        };
        supplied.map(refresh).sum()
    }

    /// Checks the origin of each supplier; returns the number of faults.
    pub(crate) fn probe_supplies(&self, monitor: &dyn PublishMonitor) -> Result<u64, Error> {
        let supplied = self.0.roots.iter().filter_map(|root| Some((root, root.supply.as_ref()?)));
        supplied.map(|(root, supply)| supply.0.probe(monitor).map_err(Error::supplied(root.folder()))).sum()
    }

    /// Returns the deletions of the last hour.
    pub(crate) fn recent_deletions(&self) -> MutexGuard<'_, DeletionWindow> {
        self.0.deletions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the key in the catalogue that the resource with this URI has, or would have, unless a manifest names it.
    pub(crate) fn key_of(&self, uri: &str) -> Vec<u8> {
        let in_root = self.root_of_uri(uri).map(|(root, path)| root.key(&path));
        in_root.unwrap_or_else(|| [&[NAMED], uri.as_bytes()].concat())
    }

    /// Returns the keys that the resource with this URI may have, the likeliest first.
    pub(crate) fn keys_of(&self, uri: &str) -> impl Iterator<Item = Vec<u8>> {
        iter::once(self.key_of(uri)).chain(self.0.manifests.iter().map(|manifest| manifest.key(uri)))
    }

    /// Returns the resource with this URI in one of the sets of the mask. Two manifests may name it, each for its own sets.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn find(&self, snapshot: &Snapshot, uri: &str, sets: u64) -> Result<Option<Resource>, Error> {
        for key in self.keys_of(uri) {
            let found = snapshot.resource(&key)?.filter(|resource| resource.sets & sets != 0);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Adds the effects of a set's rules to the state of a resource: links (§14) and its change frequency.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn describe(
        &self,
        set: u8,
        snapshot: &Snapshot,
        resource: &mut Resource,
    ) -> Result<(), Error> {
        let Some(describer) = self.0.describers.get(usize::from(set)) else { return Ok(()) };
        describer.frequency(&resource.uri, &mut resource.state, resource.history, snapshot.at());
        describer.coding(&resource.uri, &mut resource.state);
        describer.links(&resource.uri, &mut resource.state, |target| self.exists(snapshot, target))
    }

    /// Describes a state in the change log, which has no frequency but the recorded one.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn describe_change(
        &self,
        set: u8,
        snapshot: &Snapshot,
        change: &mut ChangeRecord,
    ) -> Result<(), Error> {
        match self.0.describers.get(usize::from(set)) {
            Some(describer) if change.change != Change::Deleted => {
                describer.coding(&change.uri, &mut change.state);
                describer.links(&change.uri, &mut change.state, |target| self.exists(snapshot, target))
            }
            _ => Ok(()),
        }
    }

    /// Sets the content coding in which the file of a resource is stored.
    pub(crate) fn describe_coding(&self, resource: &mut Resource) {
        for (number, describer) in self.0.describers.iter().enumerate() {
            if resource.sets >> number & 1 == 1 {
                describer.coding(&resource.uri, &mut resource.state);
            }
        }
    }

    fn exists(&self, snapshot: &Snapshot, uri: &str) -> Result<bool, Error> {
        Ok(self.find(snapshot, uri, u64::MAX)?.is_some())
    }

    /// Opens the file of a resource: below its root, and through no link.
    ///
    /// # Errors
    /// If it has none, it cannot be opened, or not everybody may read it.
    pub(crate) fn open(&self, resource: &Resource) -> io::Result<File> {
        let file = match (&resource.file, self.root_of(&resource.key)) {
            (Some(file), _) => File::open(file),
            (None, Some((root, path))) => root.open_for_all(path),
            (None, None) => Err(io::Error::new(io::ErrorKind::NotFound, "the resource has no file")),
        }?;
        // A folder that took its place is no state of the resource: the file is gone.
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::NotFound, "the resource is no longer a file"))
        }
    }

    /// Returns `true` if a resource has a file here, or a supplier for it.
    pub(crate) fn has_file(&self, resource: &Resource) -> bool {
        resource.file.is_some() || self.root_of(&resource.key).is_some()
    }

    pub(crate) fn roots(&self) -> &[Root] {
        &self.0.roots
    }

    pub(crate) fn manifests(&self) -> &[Manifest] {
        &self.0.manifests
    }

    /// Returns the numbers of all folders and manifests: the first bytes of the keys of their resources.
    pub(crate) fn numbers(&self) -> Vec<u8> {
        let roots = self.0.roots.iter().map(|root| root.number);
        roots.chain(self.0.manifests.iter().map(|manifest| manifest.number)).collect()
    }

    /// Returns the root that serves a URI, and the path of the URI in it. If several prefixes match, the longest decides.
    pub(crate) fn root_of_uri(&self, uri: &str) -> Option<(&Root, Vec<u8>)> {
        let claiming = self.0.roots.iter().filter(|root| uri.starts_with(&root.prefix));
        let root = claiming.max_by_key(|root| root.prefix.len())?;
        Some((root, root.path_of_uri(uri)?))
    }

    /// Returns the paths that an object has in the roots that are supplied with it.
    pub(crate) fn of_object(&self, bucket: &str, key: &str) -> Vec<(&Root, Vec<u8>)> {
        let path = |root: &Root| {
            let place = root.supply.as_ref()?.0.object_place()?;
            let rest = key.strip_prefix(place.prefix()).filter(|_| place.bucket() == bucket)?;
            let path = if place.prefix().is_empty() { rest } else { rest.strip_prefix('/')? };
            // Such an object, as one that marks a folder, is no resource, and its path would name another one.
            if path.split('/').any(str::is_empty) {
                return None;
            }
            (root.sets_taking(path.as_bytes()) != 0).then(|| path.as_bytes().to_vec())
        };
        self.0.roots.iter().filter_map(|root| Some((root, path(root)?))).collect()
    }

    /// Locks inspections of single paths, one at a time: results of two parallel ones could be recorded in the wrong order.
    pub(crate) fn look_alone(&self) -> MutexGuard<'_, ()> {
        self.0.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the prefixes of the keys below a folder, given by its URI with a final slash; `true` if the rest after
    /// a prefix is written as in URIs.
    pub(crate) fn prefixes_of(&self, folder: &str) -> Vec<(Vec<u8>, bool)> {
        let claiming = self.0.roots.iter().filter(|root| folder.starts_with(&root.prefix));
        let root = claiming.max_by_key(|root| root.prefix.len());
        let in_root = root.and_then(|root| {
            if folder.len() == root.prefix.len() {
                Some(root.key(b""))
            } else {
                Some([&root.key(&root.path_of_uri(folder)?)[..], b"/"].concat())
            }
        });
        let by_uri = iter::once(NAMED).chain(self.0.manifests.iter().map(|manifest| manifest.number));
        let by_uri = by_uri.map(|number| ([&[number], folder.as_bytes()].concat(), true));
        in_root.map(|prefix| (prefix, false)).into_iter().chain(by_uri).collect()
    }

    /// Returns the names, as written in URIs, of the folders directly below one that lead to roots served further
    /// down.
    pub(crate) fn folders_served_below(&self, folder: &str) -> Vec<String> {
        let below = self.0.roots.iter().filter_map(|root| root.prefix.strip_prefix(folder));
        let names = below.filter_map(|rest| rest.split('/').next()).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    /// Returns `true` if another program supplies the bytes of a resource.
    pub(crate) fn is_supplied(&self, resource: &Resource) -> bool {
        resource.file.is_some() || self.root_of(&resource.key).is_some_and(|(root, _)| root.supply.is_some())
    }

    fn root_of<'k>(&self, key: &'k [u8]) -> Option<(&Root, &'k [u8])> {
        let (number, path) = key.split_first()?;
        Some((self.0.roots.iter().find(|root| root.number == *number)?, path))
    }
}
