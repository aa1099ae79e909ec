//! Requested packages, on disk within a quota: one build serves all equal requests (S9).

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

/// Builds under way at a time.
const BUILDS: usize = 2;

/// Packages by their keys.
#[derive(Debug)]
pub(crate) struct PackageSpool {
    folder: PathBuf,
    quota_bytes: u64,
    packages: Mutex<PackageTable>,
}

#[derive(Debug, Default)]
struct PackageTable {
    by_key: BTreeMap<String, Slot>,
    clock: u64,
}

#[derive(Debug)]
struct Slot {
    package: watch::Receiver<BuildState>,
    bytes: u64,
    last_asked: u64,
}

/// The progress of a package.
#[derive(Clone, Debug)]
pub(crate) enum BuildState {
    Building,
    Ready(Arc<File>),
    Failed(Arc<str>),
}

/// The decision about a request for a package.
pub(crate) enum PackageClaim {
    /// The package exists, or another request has it built: the caller waits for that.
    Shared(watch::Receiver<BuildState>),
    /// No other request has it built: the caller builds it, into this file.
    Build(Building),
    /// There is no room for another package at the moment: the client has to come again.
    Full,
}

/// A package that is being built. It is removed if this value is dropped before the package is finished.
#[derive(Debug)]
pub(crate) struct Building {
    spool: Arc<PackageSpool>,
    key: String,
    progress: watch::Sender<BuildState>,
}

impl PackageSpool {
    /// Returns a spool in a folder, which is created if it does not exist.
    pub(crate) fn new(folder: &Path, quota_bytes: u64) -> io::Result<Arc<Self>> {
        std::fs::create_dir_all(folder)?;
        Ok(Arc::new(Self { folder: folder.to_owned(), quota_bytes, packages: Mutex::default() }))
    }

    /// Requests the package with a key, which will take about this many bytes.
    pub(crate) fn claim(self: &Arc<Self>, key: &str, bytes: u64) -> PackageClaim {
        let mut packages = self.packages.lock().unwrap_or_else(PoisonError::into_inner);
        packages.clock += 1;
        let now = packages.clock;
        if let Some(slot) = packages.by_key.get_mut(key) {
            slot.last_asked = now;
            return PackageClaim::Shared(slot.package.clone());
        }
        if packages.building() >= BUILDS || !packages.make_room(bytes, self.quota_bytes) {
            return PackageClaim::Full;
        }
        let (progress, package) = watch::channel(BuildState::Building);
        packages.by_key.insert(key.to_owned(), Slot { package, bytes, last_asked: now });
        PackageClaim::Build(Building { spool: Arc::clone(self), key: key.to_owned(), progress })
    }
}

impl PackageTable {
    fn building(&self) -> usize {
        self.by_key.values().filter(|slot| matches!(*slot.package.borrow(), BuildState::Building)).count()
    }

    /// Drops the packages that were unused longest, until there is room. A package that is being read stays readable.
    fn make_room(&mut self, bytes: u64, quota_bytes: u64) -> bool {
        loop {
            let held: u64 = self.by_key.values().map(|slot| slot.bytes).sum();
            if held + bytes <= quota_bytes {
                return true;
            }
            let finished = self
                .by_key
                .iter()
                .filter(|(_, slot)| !matches!(*slot.package.borrow(), BuildState::Building));
            let Some((oldest, _)) = finished.min_by_key(|(_, slot)| slot.last_asked) else { return false };
            let oldest = oldest.clone();
            self.by_key.remove(&oldest);
        }
    }
}

impl Building {
    /// Returns a file without a name: its space is freed as soon as it is closed.
    pub(crate) fn file(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.spool.folder)
    }

    pub(crate) fn package(&self) -> watch::Receiver<BuildState> {
        self.progress.subscribe()
    }

    pub(crate) fn finish(self, file: File) {
        if let Ok(metadata) = file.metadata()
            && let Some(slot) = self.packages().by_key.get_mut(&self.key)
        {
            slot.bytes = metadata.len();
        }
        self.progress.send_replace(BuildState::Ready(Arc::new(file)));
    }

    pub(crate) fn fail(self, why: &str) {
        self.progress.send_replace(BuildState::Failed(why.into()));
    }

    fn packages(&self) -> std::sync::MutexGuard<'_, PackageTable> {
        self.spool.packages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if !matches!(*self.progress.borrow(), BuildState::Ready(_)) {
            self.packages().by_key.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(claim: PackageClaim) -> Building {
        let PackageClaim::Build(building) = claim else { panic!("not to be built") };
        building
    }

    #[test]
    fn s9_a_hundred_requests_for_the_same_are_one_build() {
        let folder = tempfile::tempdir().unwrap();
        let spool = PackageSpool::new(folder.path(), 1_000).unwrap();
        let building = build(spool.claim("a", 100));
        for _ in 0..100 {
            assert!(matches!(spool.claim("a", 100), PackageClaim::Shared(_)));
        }
        let file = building.file().unwrap();
        building.finish(file);
        let PackageClaim::Shared(package) = spool.claim("a", 100) else { panic!("built again") };
        assert!(matches!(*package.borrow(), BuildState::Ready(_)));
    }

    #[test]
    fn s9_builds_and_bytes_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let spool = PackageSpool::new(folder.path(), 1_000).unwrap();
        assert!(matches!(spool.claim("too large", 1_001), PackageClaim::Full));
        let (a, _b) = (build(spool.claim("a", 400)), build(spool.claim("b", 400)));
        assert!(matches!(spool.claim("c", 1), PackageClaim::Full), "two are being built");
        let file = a.file().unwrap();
        file.set_len(400).unwrap();
        a.finish(file);
        let c = build(spool.claim("c", 600));
        assert!(matches!(spool.claim("a", 400), PackageClaim::Full), "it made room for another one");
        c.fail("out of luck");
        assert!(matches!(spool.claim("a", 400), PackageClaim::Build(_)));
    }
}
