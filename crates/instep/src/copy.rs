//! A synced copy as the content of a Source. Only this module uses the types of a resource of both libraries, the
//! Destination's and the Source's.

mod provenance;

use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use anyhow::{Context, bail};
use instep_destination::{self as destination, Contents, Event, HeldResource, Monitor, Phase};
use instep_source::{ChangeReporter, Content, ResourceState, Supplied, Supplier, Supply};
use tokio::sync::Notify;

/// The most changes of one round that are passed on one by one. With more, a scan of everything is cheaper.
const MOST_CHANGES: usize = 10_000;

/// A copy that a Source publishes again.
#[derive(Debug)]
pub(crate) struct CopyContent {
    folder: PathBuf,
    /// The state of the copy. It is opened on first use, because a run may only be about to make the copy.
    contents: OnceLock<Mutex<Contents>>,
    /// Reports changed paths to the Source, once that watches the copy.
    touched: OnceLock<ChangeReporter>,
    /// Changes committed since the last round ended.
    changes: Mutex<CopyChanges>,
    /// Notified at the end of each round.
    round: Notify,
}

/// The paths that a round has changed.
#[derive(Debug, Default)]
struct CopyChanges {
    paths: Vec<String>,
    /// `true` if there were more than [`MOST_CHANGES`], so that the paths do not count.
    too_many: bool,
}

impl CopyContent {
    /// Opens the copy in a folder.
    ///
    /// Errors: the folder holds no copy, its state cannot be read, or its bytes are in object storage.
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let copy = Self::planned(folder)?;
        if let Some(place) = lock(copy.contents()?).place() {
            bail!(
                "The bytes of {} are in {place}, and cannot be published from there; export them first",
                folder.display()
            );
        }
        Ok(copy)
    }

    /// Returns the copy that a run is going to make in a folder.
    ///
    /// Errors: the folder cannot be read.
    pub(crate) fn planned(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.canonicalize().with_context(|| format!("Cannot read {}", folder.display()))?;
        let (contents, touched, changes) = (OnceLock::new(), OnceLock::new(), Mutex::default());
        Ok(Self { folder, contents, touched, changes, round: Notify::new() })
    }

    /// Returns the name of the folder of the copy.
    pub(crate) fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns `true` if a run has once completed the copy.
    ///
    /// Errors: its state cannot be read.
    pub(crate) fn is_complete(&self) -> anyhow::Result<bool> {
        Ok(Contents::are_at(&self.folder) && lock(self.contents()?).are_complete()?)
    }

    /// Returns the copy as the content of a set, below a prefix or at the base URL.
    pub(crate) fn into_content(self: Arc<Self>, prefix: Option<String>) -> Content {
        Content::Supplied { supply: Supply(self), prefix }
    }

    fn contents(&self) -> Result<&Mutex<Contents>, destination::Error> {
        if let Some(contents) = self.contents.get() {
            return Ok(contents);
        }
        let opened = Mutex::new(Contents::open(&self.folder)?);
        Ok(self.contents.get_or_init(|| opened))
    }

    /// Passes the changes of a round that has ended to the Source, which publishes them.
    fn round_ended(&self) {
        let changes = std::mem::take(&mut *lock(&self.changes));
        self.round.notify_one();
        let Some(touched) = self.touched.get() else { return };
        if changes.too_many {
            return touched.everything();
        }
        changes.paths.iter().for_each(|path| touched.path(path.as_bytes()));
    }

    fn committed(&self, path: &str) {
        let mut changes = lock(&self.changes);
        if changes.paths.len() < MOST_CHANGES {
            changes.paths.push(path.to_owned());
        } else {
            (changes.too_many, changes.paths) = (true, Vec::new());
        }
    }

    /// Waits for the end of a round.
    pub(crate) async fn round(&self) {
        self.round.notified().await;
    }

    fn supplied(contents: &Contents, held: HeldResource) -> io::Result<Supplied> {
        let (links, siblings) = provenance::links(&held, contents)?;
        let mut state = ResourceState::new();
        state.length = held.metadata.length;
        state.digests = held.metadata.digests;
        state.media_type = held.metadata.media_type;
        state.links = links;
        let mut supplied = Supplied::new(held.path.as_str(), state);
        supplied.siblings = siblings;
        Ok(supplied)
    }
}

impl Supplier for CopyContent {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn each(&self, take: &mut dyn FnMut(Supplied) -> ControlFlow<()>) -> io::Result<()> {
        let contents = lock(self.contents().map_err(io::Error::other)?);
        let siblings = Contents::open(&self.folder).map_err(io::Error::other)?;
        let mut failed = Ok(());
        let read = contents.by_path(&mut |held| match Self::supplied(&siblings, held) {
            Ok(supplied) => take(supplied).is_continue(),
            Err(error) => {
                failed = Err(error);
                false
            }
        });
        read.map_err(io::Error::other)?;
        failed
    }

    fn at(&self, path: &[u8]) -> io::Result<Option<Supplied>> {
        let Ok(path) = std::str::from_utf8(path) else { return Ok(None) };
        let contents = lock(self.contents().map_err(io::Error::other)?);
        let held = contents.at(path).map_err(io::Error::other)?;
        held.map(|held| Self::supplied(&contents, held)).transpose()
    }

    fn watch(&self, touched: ChangeReporter) {
        // The value is set once, because one Source publishes a copy.
        let _ = self.touched.set(touched);
    }
}

/// A monitor of a run that also passes committed changes to the Source of the copy.
pub(crate) struct Relaying<'a> {
    pub(crate) copy: &'a CopyContent,
    pub(crate) monitor: &'a dyn Monitor,
}

impl Monitor for Relaying<'_> {
    fn event(&self, event: Event<'_>) {
        match &event {
            Event::Committed(item) => {
                if let Some(path) = item.path {
                    self.copy.committed(path);
                }
            }
            Event::Noted { path, .. } => self.copy.committed(path),
            Event::Phase(Phase::Waiting) => self.copy.round_ended(),
            _ => {}
        }
        self.monitor.event(event);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
