//! The places of bitstreams: folders, manifests, and suppliers of an application.

mod deletions;
mod describe;
mod filter;
mod look;
mod manifest;
mod media_type;
mod pattern;
mod root;
mod spool;
mod stat;
mod supplier;
mod uri;
mod walk;

use std::{
    fs::File,
    io, iter,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use instep_store::RootFolder;
use resourcesync::Change;

use crate::{
    Content, Error, PublishMonitor, PublishOptions, PublishProblem,
    catalogue::{Catalogue, ChangeRecord, NamedValue, Resource, Snapshot},
    records::CONTENT,
    render::SourcePlace,
};

pub(crate) use deletions::DeletionWindow;
use describe::Describer;
use filter::Filter;
pub(crate) use look::{Look, look};
#[cfg(feature = "serve")]
pub(crate) use manifest::listed;
pub(crate) use manifest::{Listed, Manifest};
pub(crate) use media_type::MediaTypes;
pub(crate) use pattern::Pattern;
pub(crate) use root::Root;
pub use spool::SpoolUsage;
pub(crate) use spool::StateSpool;
pub(crate) use stat::stamp;
#[cfg(feature = "serve")]
pub(crate) use supplier::ReportedPath;
pub use supplier::{ChangeReporter, Supplied, Supplier, Supply};
#[cfg(feature = "serve")]
pub(crate) use uri::escape_path;
pub(crate) use uri::{MOST_BYTES, MOST_CHARACTERS, is_publishable};
pub(crate) use walk::{FolderWalk, Skipped, Skips, WalkStep};

/// The first byte of the key of a resource that an application has named: its URI follows.
const NAMED: u8 = 0;

/// The folders and manifests of a Source, with the keys of their resources in the catalogue and their URIs.
/// Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Holdings(Arc<HoldingsShared>);

#[derive(Debug)]
struct HoldingsShared {
    roots: Vec<Root>,
    manifests: Vec<Manifest>,
    /// By the number of the set.
    describers: Vec<Describer>,
    looking: Mutex<()>,
    deletions: Mutex<DeletionWindow>,
}

impl Holdings {
    /// Takes the content of all sets. The catalogue remembers the number of each prefix and manifest, so that another
    /// order in the configuration changes nothing.
    ///
    /// # Errors
    /// If two folders claim the same URIs, a glob or prefix is wrong, or a folder cannot be read.
    pub(crate) fn new(options: &PublishOptions, catalogue: &Catalogue) -> Result<Self, Error> {
        let place = SourcePlace::new(&options.base_url)?;
        let (mut folders, mut manifests) = (Vec::new(), Vec::new());
        for (set, set_options) in (0u8..).zip(&options.sets) {
            let filter = Filter::new(&set_options.include, &set_options.exclude)?;
            for content in &set_options.content {
                match content {
                    Content::Folder { root, prefix } => {
                        let prefix = root::prefix(prefix.as_deref(), place.base())?;
                        folders.push((prefix, root.as_path(), None, set, filter.clone()));
                    }
                    Content::Supplied { supply, prefix } => {
                        let prefix = root::prefix(prefix.as_deref(), place.base())?;
                        folders.push((prefix, supply.0.folder(), Some(supply), set, filter.clone()));
                    }
                    Content::Manifest { path, root } => {
                        add_manifest(&mut manifests, path, root, place.base(), set, filter.clone());
                    }
                }
            }
        }
        // Files below another folder of the Source are found there.
        folders.sort_by_key(|(prefix, ..)| prefix.len());
        let mut roots = Vec::new();
        for (prefix, folder, supply, set, filter) in folders {
            add_root(&mut roots, folder, supply, prefix, set, filter)?;
        }
        number(&mut roots, &mut manifests, catalogue)?;
        for root in &mut roots {
            root.leave_out(&options.out, &options.state);
        }
        leave_out_nested(&mut roots);
        let describers: Result<Vec<_>, _> =
            options.sets.iter().map(|set| Describer::new(set, place.base())).collect();
        Ok(Self(Arc::new(HoldingsShared {
            roots,
            manifests,
            describers: describers?,
            looking: Mutex::default(),
            deletions: Mutex::default(),
        })))
    }

    /// Returns the folders that can be watched, and how often each was replaced by another one.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        let roots = self.0.roots.iter().filter(|root| root.supply.is_none());
        roots.map(|root| (root.folder(), root.replaced()))
    }

    /// Opens each folder again by its name: somebody may have put another one in its place.
    pub(crate) fn refresh(&self, monitor: &dyn PublishMonitor) -> Result<(), Error> {
        for root in self.0.roots.iter().filter(|root| root.supply.is_none()) {
            if root.refresh().map_err(Error::read(root.folder()))? {
                let what = "was replaced by another folder, which is published now";
                monitor.problem(&PublishProblem::warning(root.folder().display().to_string(), what));
            }
        }
        Ok(())
    }

    /// Returns the folder with a number, held open; `None` if there is none.
    pub(crate) fn handle(&self, number: u8) -> Option<Arc<RootFolder>> {
        self.0.roots.iter().find(|root| root.number == number).map(Root::handle)
    }

    /// Brings each supplier in step with what it supplies from; returns the number of resources left out for a fault.
    pub(crate) fn refresh_supplies(
        &self,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
    ) -> Result<u64, Error> {
        let supplied = self.0.roots.iter().filter_map(|root| Some((root, root.supply.as_ref()?)));
        let refresh = |(root, supply): (&Root, &Supply)| {
            supply.0.refresh(monitor, ends).map_err(Error::read(root.folder()))
        };
        supplied.map(refresh).sum()
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

    /// The resource with this URI.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn find(&self, snapshot: &Snapshot, uri: &str) -> Result<Option<Resource>, Error> {
        for key in self.keys_of(uri) {
            if let Some(resource) = snapshot.resource(&key)? {
                return Ok(Some(resource));
            }
        }
        Ok(None)
    }

    /// Adds to a resource's state what the rules of a set say of it: links (§14) and its change frequency.
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

    /// Says of the file of a resource in which coding it is stored.
    pub(crate) fn describe_coding(&self, resource: &mut Resource) {
        for (number, describer) in self.0.describers.iter().enumerate() {
            if resource.sets >> number & 1 == 1 {
                describer.coding(&resource.uri, &mut resource.state);
            }
        }
    }

    fn exists(&self, snapshot: &Snapshot, uri: &str) -> Result<bool, Error> {
        Ok(self.find(snapshot, uri)?.is_some())
    }

    /// Opens the file of a resource: below its root, and through no link.
    ///
    /// # Errors
    /// If it has none, or it cannot be opened.
    pub(crate) fn open(&self, resource: &Resource) -> io::Result<File> {
        let file = match (&resource.file, self.root_of(&resource.key)) {
            (Some(file), _) => File::open(file),
            (None, Some((root, path))) => root.open(path),
            (None, None) => Err(io::Error::new(io::ErrorKind::NotFound, "the resource has no file")),
        }?;
        // A folder that took its place is no state of the resource: the file is gone.
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "the resource is no file any more")),
        }
    }

    /// Returns `true` if a resource has a file here, or a supplier stands in for it.
    pub(crate) fn has_file(&self, resource: &Resource) -> bool {
        resource.file.is_some() || self.root_of(&resource.key).is_some()
    }

    pub(crate) fn roots(&self) -> &[Root] {
        &self.0.roots
    }

    pub(crate) fn manifests(&self) -> &[Manifest] {
        &self.0.manifests
    }

    /// The first bytes of the keys of all its resources.
    pub(crate) fn numbers(&self) -> Vec<u8> {
        let roots = self.0.roots.iter().map(|root| root.number);
        roots.chain(self.0.manifests.iter().map(|manifest| manifest.number)).collect()
    }

    /// The root whose URIs the given one is among, and the path there; the longest prefix has it.
    pub(crate) fn root_of_uri(&self, uri: &str) -> Option<(&Root, Vec<u8>)> {
        let claiming = self.0.roots.iter().filter(|root| uri.starts_with(&root.prefix));
        let root = claiming.max_by_key(|root| root.prefix.len())?;
        Some((root, root.path_of_uri(uri)?))
    }

    /// One looks at a time: what two saw at once could be recorded in the wrong order.
    pub(crate) fn look_alone(&self) -> MutexGuard<'_, ()> {
        self.0.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the prefixes of the keys below a folder, given by its URI with a final slash; `true` if what follows a prefix is
    /// written as in URIs.
    pub(crate) fn prefixes_of(&self, folder: &str) -> Vec<(Vec<u8>, bool)> {
        let claiming = self.0.roots.iter().filter(|root| folder.starts_with(&root.prefix));
        let root = claiming.max_by_key(|root| root.prefix.len());
        let in_root = root.and_then(|root| match folder.len() == root.prefix.len() {
            true => Some(root.key(b"")),
            false => Some([&root.key(&root.path_of_uri(folder)?)[..], b"/"].concat()),
        });
        let by_uri = iter::once(NAMED).chain(self.0.manifests.iter().map(|manifest| manifest.number));
        let by_uri = by_uri.map(|number| ([&[number], folder.as_bytes()].concat(), true));
        in_root.map(|prefix| (prefix, false)).into_iter().chain(by_uri).collect()
    }

    /// Returns the names, as they stand in URIs, of the folders directly below one that lead to roots served further down.
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

fn add_root(
    roots: &mut Vec<Root>,
    folder: &Path,
    supply: Option<&Supply>,
    prefix: String,
    set: u8,
    filter: Filter,
) -> Result<(), Error> {
    let named = std::path::absolute(folder).map_err(Error::read(folder))?;
    let folder = folder.canonicalize().map_err(Error::read(folder))?;
    let below = |root: &Root| root.leads_to(&folder, &prefix).filter(|_| supply.is_none());
    if let Some((index, below)) = roots.iter().enumerate().find_map(|(at, root)| Some((at, below(root)?))) {
        roots[index].add_set(set, filter.below(below));
        return Ok(());
    }
    match roots.iter_mut().find(|root| root.prefix == prefix) {
        Some(root) if root.folder() == folder && root.supply.as_ref() == supply => root.add_set(set, filter),
        Some(root) => return Err(root::claimed_twice(&prefix, &root.folder(), &folder)),
        None => roots.push(Root::new(named, folder, supply.cloned(), prefix, set, filter)?),
    }
    Ok(())
}

fn add_manifest(
    manifests: &mut Vec<Manifest>,
    path: &Path,
    folder: &Path,
    base: &str,
    set: u8,
    filter: Filter,
) {
    match manifests.iter_mut().find(|manifest| manifest.path == path) {
        Some(manifest) => manifest.add_set(set, filter),
        None => manifests.push(Manifest::new(path, folder, base, set, filter)),
    }
}

/// Returns the numbers of folders and manifests as they are kept once the Source has another base URL.
pub(crate) fn rebased_numbers(catalogue: &Catalogue, from: &str, to: &str) -> Result<Vec<NamedValue>, Error> {
    let numbers = CONTENT.read(&catalogue.snapshot()?)?.unwrap_or_default();
    let rebase = |name: String| match name.strip_prefix(from) {
        Some(rest) => format!("{to}{rest}"),
        None => name,
    };
    let numbers = numbers.into_iter().map(|(name, number)| (rebase(name), number)).collect();
    Ok(vec![CONTENT.write(&numbers)])
}

/// Gives each root and manifest the number it has always had, and a new one the next number; sorts by number.
fn number(roots: &mut [Root], manifests: &mut [Manifest], catalogue: &Catalogue) -> Result<(), Error> {
    let mut numbers = CONTENT.read(&catalogue.snapshot()?)?.unwrap_or_default();
    let known = numbers.len();
    let mut number = |name: String| {
        let next = u8::try_from(numbers.len() + 1).ok().filter(|next| *next < u8::MAX);
        match (numbers.get(&name).copied(), next) {
            (Some(number), _) => Ok(number),
            (None, Some(next)) => Ok(*numbers.entry(name).or_insert(next)),
            (None, None) => Err(Error::option("content", "more than 254 folders and manifests over time")),
        }
    };
    for root in &mut *roots {
        root.number = number(root.prefix.clone())?;
    }
    for manifest in &mut *manifests {
        manifest.number = number(manifest.name())?;
    }
    if numbers.len() > known && !catalogue.is_beside() {
        catalogue.set_meta(vec![CONTENT.write(&numbers)])?;
    }
    roots.sort_unstable_by_key(|root| root.number);
    manifests.sort_unstable_by_key(|manifest| manifest.number);
    Ok(())
}

/// A folder whose URIs lie within those of another hides what lies there.
fn leave_out_nested(roots: &mut [Root]) {
    let prefixes: Vec<String> = roots.iter().map(|root| root.prefix.clone()).collect();
    for root in roots {
        let inner = |prefix: &String| prefix.strip_prefix(&root.prefix).and_then(uri::decode);
        let hidden: Vec<Vec<u8>> = prefixes.iter().filter_map(inner).collect();
        hidden.into_iter().for_each(|path| root.leave_out_path(path));
    }
}
