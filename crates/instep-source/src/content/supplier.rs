//! Resources that another part of the program holds and describes: a synced copy, a generator. Their descriptions are
//! published without reading the bytes.

use std::{
    ffi::OsStr,
    fmt,
    fs::File,
    io,
    ops::ControlFlow,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use instep_objects::ObjectPlace;
use resourcesync::Link;

use crate::{PublishMonitor, catalogue::ResourceState};

/// A holder of resources that knows their digests.
///
/// # Contract
/// The states that [`each`](Self::each) and [`at`](Self::at) return are published as they are: the digests must have
/// been verified. A Destination refuses bytes that differ from their digest; they are never published under another
/// digest.
pub trait Supplier: fmt::Debug + Send + Sync {
    /// Returns the folder that paths start from.
    fn folder(&self) -> &Path;

    /// Updates the supplier from its origin, such as a repository or an archive, and returns the number of resources
    /// that are left out for a fault. Called before each complete scan, on the thread that publishes, and not before
    /// a preview. It returns early once `ends` returns `true`, because the publication is no longer needed.
    ///
    /// Faults are reported to the monitor. A supplier that still has its earlier resources reports them and returns.
    ///
    /// # Errors
    /// If there is nothing to supply; nothing is published then.
    fn refresh(&self, _monitor: &dyn PublishMonitor, _ends: &dyn Fn() -> bool) -> io::Result<u64> {
        Ok(0)
    }

    /// Checks before a preview, in place of [`refresh`](Self::refresh), that the origin can be read, and writes nothing.
    /// Returns the number of faults, which are reported to the monitor.
    ///
    /// # Errors
    /// If the first publication would fail.
    fn probe(&self, _monitor: &dyn PublishMonitor) -> io::Result<u64> {
        Ok(0)
    }

    /// Passes all resources to `take`, in the order of the bytes of their paths, until `take` breaks.
    ///
    /// # Errors
    /// If they cannot be listed; the scan then ignores what was passed until then.
    fn each(&self, take: &mut dyn FnMut(Supplied) -> ControlFlow<()>) -> io::Result<()>;

    /// Returns the resource at a path; `None` if there is none.
    ///
    /// # Errors
    /// If this is unknown.
    fn at(&self, path: &[u8]) -> io::Result<Option<Supplied>>;

    /// Opens the bytes at a path; `None` if they are those of the file in the folder.
    fn open(&self, _path: &[u8]) -> Option<io::Result<File>> {
        None
    }

    /// Returns `true` if there are bytes at a path; `None` if only opening them can show it.
    fn has_bytes(&self, _path: &[u8]) -> Option<bool> {
        None
    }

    /// Inspects paths again that were reported as changed. Called before [`at`](Self::at). A supplier that notices
    /// its changes itself has nothing to do.
    ///
    /// # Errors
    /// If the present state is unknown.
    fn look(&self, _paths: &[Vec<u8>], _monitor: &dyn PublishMonitor) -> io::Result<()> {
        Ok(())
    }

    /// Returns the place in object storage of the resources, if a process can supply them again from this place and
    /// the state alone. Its [`folder`](Self::folder) has the metadata of the objects.
    fn object_place(&self) -> Option<&ObjectPlace> {
        None
    }

    /// Keeps a reporter, and reports each change to it from now on.
    fn watch(&self, _changes: ChangeReporter) {}
}

/// Reports changes of a [`Supplier`]'s resources to the Source that publishes them. Clones report to the same Source.
#[derive(Clone)]
pub struct ChangeReporter {
    folder: PathBuf,
    report: Arc<dyn Fn(ReportedPath) + Send + Sync>,
}

/// The part of the content that a supplier reports as changed.
pub(crate) enum ReportedPath {
    One(PathBuf),
    Everything,
}

impl ChangeReporter {
    pub(crate) fn new(folder: &Path, report: impl Fn(ReportedPath) + Send + Sync + 'static) -> Self {
        Self { folder: folder.to_owned(), report: Arc::new(report) }
    }

    /// Reports a change at a path.
    pub fn path(&self, path: &[u8]) {
        (self.report)(ReportedPath::One(self.folder.join(OsStr::from_bytes(path))));
    }

    /// Reports that everything must be scanned, because there are too many changes. Blocks while the publishing
    /// thread is busy.
    pub fn everything(&self) {
        (self.report)(ReportedPath::Everything);
    }
}

impl fmt::Debug for ChangeReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeReporter").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// One resource of a [`Supplier`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Supplied {
    /// Its path; with the prefix of its content, its URI.
    pub path: Vec<u8>,
    /// Its description. `lastmod` is ignored: the time of a resource here is that of its arrival.
    pub state: ResourceState,
    /// Links to other resources of the same supplier, each with the path of its target, from which its `href` follows.
    pub siblings: Vec<(Link, Vec<u8>)>,
}

impl Supplied {
    /// Creates a resource without links to siblings.
    pub fn new(path: impl Into<Vec<u8>>, state: ResourceState) -> Self {
        Self { path: path.into(), state, siblings: Vec::new() }
    }
}

/// A shared supplier; two are equal if they are the same one.
#[derive(Clone, Debug)]
pub struct Supply(pub Arc<dyn Supplier>);

impl PartialEq for Supply {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Supply {}
