//! One folder of the Source: its place in the catalogue and its URIs.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use instep_store::RootFolder;
use resourcesync::Uri;

use super::{
    filter::{self, Filter},
    stat,
    supplier::Supply,
    uri,
};
use crate::{Error, catalogue::FileStamp};

/// The names in a root that belong to documents and to the configuration of the program.
pub(super) const OWN_NAMES: [&str; 4] = ["resourcesync", ".well-known", "robots.txt", "instep.toml"];

/// A folder, the URI it is served at, and the sets that use its files. If a supplier provides its resources, it is
/// not walked.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) number: u8,
    /// The path that the operator gave; it may lead over links.
    named: PathBuf,
    place: RwLock<RootPlace>,
    pub(crate) supply: Option<Supply>,
    pub(super) prefix: String,
    sets: Vec<(u8, Filter)>,
    left_out: Vec<Vec<u8>>,
}

/// The folder at the path of a root.
#[derive(Debug)]
struct RootPlace {
    /// Its path without links.
    folder: PathBuf,
    /// The folder, held open: beneath it no link is followed (S1).
    handle: Arc<RootFolder>,
    /// The number of times that another folder has taken the path.
    replaced: u64,
}

impl Root {
    pub(super) fn new(
        named: PathBuf,
        folder: PathBuf,
        supply: Option<Supply>,
        prefix: String,
        set: u8,
        filter: Filter,
    ) -> Result<Self, Error> {
        let handle = Arc::new(RootFolder::open(&folder).map_err(Error::read(&folder))?);
        let place = RwLock::new(RootPlace { folder, handle, replaced: 0 });
        let sets = vec![(set, filter)];
        Ok(Self { number: 0, named, place, supply, prefix, sets, left_out: Vec::new() })
    }

    fn place(&self) -> RwLockReadGuard<'_, RootPlace> {
        self.place.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the path of the folder, without links.
    pub(crate) fn folder(&self) -> PathBuf {
        self.place().folder.clone()
    }

    /// Returns the folder, held open.
    pub(crate) fn handle(&self) -> Arc<RootFolder> {
        Arc::clone(&self.place().handle)
    }

    /// Returns how often another folder has taken the place of this one.
    pub(super) fn replaced(&self) -> u64 {
        self.place().replaced
    }

    /// Opens the folder again by its name; returns `true` if it is another one. A folder that is held open stays
    /// readable after it was renamed or removed, so without this the old tree would be published for ever.
    pub(super) fn refresh(&self) -> io::Result<bool> {
        let folder = self.named.canonicalize()?;
        let handle = RootFolder::open(&folder)?;
        let identity = |root: &RootFolder| io::Result::Ok(rustix::fs::fstat(root.folder(b"")?)?);
        let (old, new) = (identity(&self.handle())?, identity(&handle)?);
        let mut place = self.place.write().unwrap_or_else(PoisonError::into_inner);
        if (old.st_dev, old.st_ino) == (new.st_dev, new.st_ino) && place.folder == folder {
            return Ok(false);
        }
        *place = RootPlace { folder, handle: Arc::new(handle), replaced: place.replaced + 1 };
        Ok(true)
    }

    /// Returns the path below this root of a folder that is served there too, with its final slash.
    pub(super) fn leads_to(&self, folder: &Path, prefix: &str) -> Option<Vec<u8>> {
        let below = folder
            .strip_prefix(&self.place().folder)
            .ok()
            .map(Path::to_owned)
            .filter(|_| self.supply.is_none())?;
        let path = below.as_os_str().as_bytes();
        let is_walked = !path.split(|byte| *byte == b'/').any(filter::is_left_out);
        let is_there = !path.is_empty() && self.path_of_uri(prefix).as_deref() == Some(path);
        (is_there && is_walked).then(|| [path, b"/"].concat())
    }

    /// Adds a set that takes files from this folder.
    pub(super) fn add_set(&mut self, set: u8, filter: Filter) {
        self.sets.push((set, filter));
    }

    /// Leaves out the Source's own output, the output of an earlier publication in the folder itself (both have URIs
    /// of documents), and the configuration of the program.
    pub(super) fn leave_out(&mut self, out: &Path, state: &Path) {
        let folders = [out.to_owned(), self.folder()];
        let documents = folders.iter().flat_map(|folder| OWN_NAMES.map(|name| folder.join(name)));
        for path in documents.chain([state.to_owned()]) {
            if let Some(path) = self.relative(&path) {
                self.leave_out_path(path);
            }
        }
    }

    pub(super) fn leave_out_path(&mut self, path: Vec<u8>) {
        self.left_out.push(path);
    }

    /// Returns `true` if a path is the Source's own or another root's.
    pub(super) fn is_left_out(&self, path: &[u8]) -> bool {
        self.left_out.iter().any(|left_out| left_out == path)
    }

    /// Returns the sets that a path belongs to.
    pub(crate) fn sets_of(&self, path: &[u8]) -> u64 {
        self.sets.iter().filter(|(_, filter)| filter.takes(path)).fold(0, |mask, (set, _)| mask | 1 << set)
    }

    /// Returns `true` if no set takes anything below a folder.
    pub(super) fn prunes(&self, folder: &[u8]) -> bool {
        self.sets.iter().all(|(_, filter)| filter.prunes(folder))
    }

    /// Returns the sets of a path outside a walk: none if it is left out, or a folder above it is.
    pub(crate) fn sets_taking(&self, path: &[u8]) -> u64 {
        let names = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        let left_out = names.chain([path.len()]).any(|end| self.is_left_out(&path[..end]));
        if left_out { 0 } else { self.sets_of(path) }
    }

    /// Returns the key of a path in the catalogue.
    pub(crate) fn key(&self, path: &[u8]) -> Vec<u8> {
        [&[self.number], path].concat()
    }

    /// Returns the URI of a path.
    pub(crate) fn uri(&self, path: &[u8]) -> Uri {
        // The prefix was checked and the rest is escaped: together they are a URI.
        Uri::parse(&uri::encode(&self.prefix, path)).unwrap_or_default()
    }

    /// Returns `true` unless the URI of a path is too long for every document.
    pub(crate) fn is_publishable(&self, path: &[u8]) -> bool {
        // Each byte takes three characters at most, so the URI of nearly every path need not be made for this.
        self.prefix.len() + 3 * path.len() <= uri::MOST_CHARACTERS
            || uri::is_publishable(&uri::encode(&self.prefix, path))
    }

    /// Returns the path for a URI.
    pub(super) fn path_of_uri(&self, uri: &str) -> Option<Vec<u8>> {
        uri::decode(uri.strip_prefix(&self.prefix)?)
    }

    /// Returns the place of a path in the file system.
    pub(crate) fn path(&self, path: &[u8]) -> PathBuf {
        self.place().folder.join(OsStr::from_bytes(path))
    }

    /// Returns a file's path relative to this root; `None` outside of it. The last name need not exist.
    pub(crate) fn relative(&self, path: &Path) -> Option<Vec<u8>> {
        let within = |path: &Path| path.strip_prefix(self.folder()).ok().map(Path::to_owned);
        let resolved = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let path = within(path).or_else(|| within(&resolved()?))?;
        Some(path.as_os_str().as_bytes().to_vec())
    }

    /// Opens a file below the folder, following no link, or the supplier's bytes for it.
    pub(crate) fn open(&self, path: &[u8]) -> io::Result<File> {
        let supplied = self.supply.as_ref().and_then(|supply| supply.0.open(path));
        supplied.unwrap_or_else(|| self.handle().entry(path))
    }

    /// Opens a file as [`Root::open`] does, if everybody may read it. A supplier decides by itself.
    pub(crate) fn open_for_all(&self, path: &[u8]) -> io::Result<File> {
        let file = self.open(path)?;
        if self.supply.is_none() && stat::is_private(&self.handle(), path, &file)? {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not everybody may read it"));
        }
        Ok(file)
    }

    /// Returns `true` if there are bytes at a path, from a file or from the supplier.
    pub(crate) fn has_bytes(&self, path: &[u8]) -> bool {
        let known = self.supply.as_ref().and_then(|supply| supply.0.has_bytes(path));
        known.unwrap_or_else(|| self.open(path).is_ok())
    }

    /// Returns the stamp of a file below the folder.
    pub(crate) fn stamp(&self, path: &[u8]) -> io::Result<FileStamp> {
        let stat = rustix::fs::fstat(self.handle().entry(path)?)?;
        Ok(stat::stamp(&stat))
    }

    /// Opens a folder below the folder, through no link.
    pub(super) fn open_folder(&self, path: &[u8]) -> io::Result<OwnedFd> {
        self.handle().folder(path)
    }
}

/// Returns a prefix with its final slash; a relative one starts from the base URL.
pub(super) fn prefix(given: Option<&str>, base: &str) -> Result<String, Error> {
    let Some(given) = given else { return Ok(base.to_owned()) };
    let wrong = |error| Error::option("prefix", format!("{given:?}: {error}"));
    let mut prefix = Uri::parse(base).and_then(|base| base.resolve(given)).map_err(wrong)?.into_string();
    if uri::has_login(&prefix) {
        return Err(Error::option("prefix", "must not have a login before its host"));
    }
    if prefix.contains(['?', '#']) {
        return Err(Error::option("prefix", format!("{given:?} must not have a query or a fragment")));
    }
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    Ok(prefix)
}

pub(super) fn claimed_twice(prefix: &str, one: &Path, other: &Path) -> Error {
    let what = format!("{} and {} both have the URIs below {prefix}", one.display(), other.display());
    Error::option("content", what)
}
