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
/// been verified. Bytes that differ from their digest are refused by whoever compares them, and are never published
/// under a digest of their own.
pub trait Supplier: fmt::Debug + Send + Sync {
    /// Returns the folder that paths start from.
    fn folder(&self) -> &Path;

    /// Brings the supplier in step with what it supplies from, such as a repository or an archive, and returns the number
    /// of resources that are left out for a fault. Called before each scan of everything, on the thread that publishes,
    /// and not before a preview. It returns early once `ends` does: nobody waits for the publication any more.
    ///
    /// Faults go to the monitor. A supplier that still has what it supplied before reports them and returns.
    ///
    /// # Errors
    /// If there is nothing to supply; nothing is published then.
    fn refresh(&self, _monitor: &dyn PublishMonitor, _ends: &dyn Fn() -> bool) -> io::Result<u64> {
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
    /// If it is not known whether there is one.
    fn at(&self, path: &[u8]) -> io::Result<Option<Supplied>>;

    /// Opens the bytes at a path; `None` if they are those of the file in the folder.
    fn open(&self, _path: &[u8]) -> Option<io::Result<File>> {
        None
    }

    /// Returns `true` if there are bytes at a path; `None` if opening them tells.
    fn has_bytes(&self, _path: &[u8]) -> Option<bool> {
        None
    }

    /// Looks again at paths that somebody reports as changed. Called before [`at`](Self::at) is asked for them. A supplier
    /// that learns of its changes itself has nothing to do.
    ///
    /// # Errors
    /// If it is not known what is there now.
    fn look(&self, _paths: &[Vec<u8>], _monitor: &dyn PublishMonitor) -> io::Result<()> {
        Ok(())
    }

    /// Returns the place in object storage that it supplies from, if that is all that leads to it: a process that is given
    /// the state only supplies from there again. Its [`folder`](Self::folder) has what is known of the objects.
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

    /// Reports so many changes that everything is to be scanned. Blocks while the publishing thread is busy.
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
    /// Its description. `lastmod` is ignored: the time of a resource here is when it came here.
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
