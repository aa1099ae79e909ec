//! The options of a run, an audit and a following Destination.

mod access;
mod choices;
mod max_delete;
mod object_copy;
mod selection;

use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{ArchiveOptions, ChangeSink, Error, Shutdown, documents::DocumentObserver};
pub use access::{AccessOptions, Credential, Secret};
pub use choices::{Durability, LastmodTrust, Verify, Via};
pub use max_delete::MaxDelete;
pub use object_copy::{CopyPlace, ObjectLayout};
use resourcesync::DateTime;
pub use selection::SelectionOptions;

/// Options for making a copy and keeping it up to date.
#[derive(Clone)]
#[non_exhaustive]
pub struct SyncOptions {
    /// Any URL of the Source, as the operator typed it.
    pub url: String,
    /// The folder of the copy.
    pub dir: PathBuf,
    /// The object storage that has the bytes of the copy, whose folder has only its state then; `None` for the place that
    /// the copy has already, the folder for a new one.
    pub store: Option<CopyPlace>,
    /// The URL of the state in PostgreSQL, which the folder records; `None` keeps the present place, or the folder
    /// for a new state.
    pub state: Option<String>,
    /// `true` if the former writer of the state in PostgreSQL is known to have ended: the run does not wait until its
    /// heartbeat shows this. If it is still running, it can commit nothing more.
    pub former_writer_ended: bool,
    /// `true` if other workers of a fleet may take slices of a large plan, by `help`. The state is in PostgreSQL
    /// then, and the bytes in packs.
    pub shares_plan: bool,
    /// `true` if resources that the Source no longer has are deleted, within the limit of `max_delete` (DST-4).
    pub delete: bool,
    /// The largest number of deletions in one run, and in all runs of a day that have the same limit.
    pub max_delete: MaxDelete,
    /// `true` if an inventory without entries may empty the copy. Otherwise such a run is refused.
    pub allow_empty: bool,
    /// `true` if the run only reports its plan, and changes nothing.
    pub dry_run: bool,
    /// The digests that are verified.
    pub verify: Verify,
    /// The capability that provides the resources.
    pub via: Via,
    /// The weight of `lastmod` if nothing better shows that a resource changed.
    pub lastmod: LastmodTrust,
    /// The resources that are wanted.
    pub selection: SelectionOptions,
    /// `URI=PATH` pairs: resources below the URI are stored below the path, relative to the copy.
    pub maps: Vec<(String, String)>,
    /// The point at which committed files are written to the disk.
    pub durability: Durability,
    /// The folder that keeps replaced and deleted files; relative paths begin at the copy's own folder.
    pub backup_dir: Option<PathBuf>,
    /// The time after which the run commits and ends; `None` for no limit.
    pub max_duration: Option<Duration>,
    /// The number of bytes of resources after which the run commits and ends; `None` for no limit.
    pub max_transfer: Option<u64>,
    /// The greatest age of the Source's state: an older one is refused, because it may be a replay (D37). `None` for no
    /// limit.
    pub max_age: Option<Duration>,
    /// `true` if held files are hashed, and damaged ones are fetched again, even if the state says that they are
    /// current.
    pub repair: bool,
    /// `true` if files that are already at the path of a resource are hashed, and kept instead of being fetched if they
    /// match.
    pub adopt: bool,
    /// `true` if a first run may put the copy between files that the folder holds. They stay as they are: a resource
    /// whose place one of them has is pending.
    pub into_existing: bool,
    /// `true` if a copy of one Source may take up resources of another.
    pub add_source: bool,
    /// The time whose state of the Source is wanted; `None` for the present state.
    pub as_of: Option<DateTime>,
    /// `true` if each observed version of a resource is kept beside the copy.
    pub all_versions: bool,
    /// `true` if the run continues after the first synchronization, and applies changes until it is shut down.
    pub follow: bool,
    /// The shortest and the longest pause between two rounds while following; at least 10 ms.
    pub poll: (Duration, Duration),
    /// The receiver of each change of the copy. Changes are recorded only in runs that have one.
    pub changes: Option<Arc<dyn ChangeSink>>,
    /// The address at which hubs reach this Destination while it follows; it subscribes to no hub if `None`.
    pub callbacks: Option<CallbackOptions>,
    /// The archive in which each exchange is also stored as WARC; `None` if there is none.
    pub archive: Option<ArchiveOptions>,
    /// The receiver of each document that the run fetches; `None` if there is none.
    pub document_observer: Option<Arc<dyn DocumentObserver>>,
    /// Options of access to the network.
    pub access: AccessOptions,
    /// The signal by which the caller ends the run. Complete transfers are committed first.
    pub shutdown: Shutdown,
}

impl SyncOptions {
    /// Returns the defaults of the program: 64 transfers, 8 to one host, nothing deleted, the strongest digest
    /// verified.
    pub fn new(url: impl Into<String>, dir: impl Into<PathBuf>) -> Self {
        Self {
            url: url.into(),
            dir: dir.into(),
            store: None,
            state: None,
            former_writer_ended: false,
            shares_plan: false,
            delete: false,
            max_delete: MaxDelete::default(),
            allow_empty: false,
            dry_run: false,
            verify: Verify::default(),
            via: Via::default(),
            lastmod: LastmodTrust::default(),
            selection: SelectionOptions::default(),
            maps: Vec::new(),
            durability: Durability::default(),
            backup_dir: None,
            max_duration: None,
            max_transfer: None,
            max_age: None,
            repair: false,
            adopt: false,
            into_existing: false,
            add_source: false,
            as_of: None,
            all_versions: false,
            follow: false,
            poll: (Duration::from_secs(1), Duration::from_secs(300)),
            changes: None,
            callbacks: None,
            archive: None,
            document_observer: None,
            access: AccessOptions::default(),
            shutdown: Shutdown::new(),
        }
    }

    /// Refuses options that contradict each other, before anything is done.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.as_of.is_some() && self.follow {
            let what = "the state of one moment cannot be followed: choose one of the two".to_owned();
            return Err(Error::Usage { what });
        }
        if let Cow::Owned(url) = without_login(&self.url) {
            let what =
                format!("the login in the URL of {url} would not be sent: give a credential for its origin");
            return Err(Error::Usage { what });
        }
        if let Some(archive) = &self.archive
            && absolute(&archive.dir).starts_with(absolute(&self.dir))
        {
            let what = format!("{} is inside the copy: choose a folder outside it", archive.dir.display());
            return Err(Error::Usage { what });
        }
        Ok(())
    }
}

/// Shows which copy of which Source the options are for: the URL of either may contain a password.
impl fmt::Debug for SyncOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = without_login(&self.url);
        f.debug_struct("SyncOptions").field("url", &url).field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// Returns a URL without the login before its host, which no request carries (O853).
fn without_login(url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = url.split_once("://") else { return url.into() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rfind('@') {
        Some(end) => format!("{scheme}://{}", &rest[end + 1..]).into(),
        None => url.into(),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Callbacks by which hubs reach a following Destination (WebSub).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallbackOptions {
    /// The URL that hubs call, as they see it; an unguessable segment is appended for each subscription.
    pub url: String,
    /// The address and port to listen on; `None` for those of the URL.
    pub listen: Option<String>,
    /// `true` if deliveries that are signed with SHA-1 are accepted. Others must be signed with a stronger digest.
    pub sha1: bool,
    /// The lease to request from hubs; each may grant another one (CN-11).
    pub lease: Duration,
}

impl CallbackOptions {
    /// Returns options for callbacks at a URL; the server listens at its host and port, and leases last ten days.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), listen: None, sha1: false, lease: Duration::from_secs(10 * 24 * 3_600) }
    }
}

/// Options for comparing a copy with its Source.
#[derive(Clone)]
#[non_exhaustive]
pub struct AuditOptions {
    /// Any URL of the Source; `None` compares with the copy's own state.
    pub url: Option<String>,
    /// `true` if the copy is compared with all its Sources, each at the URL of its last run, instead of one.
    pub every_source: bool,
    /// The folder of the copy.
    pub dir: PathBuf,
    /// `true` if each resource is compared under the URI that its `via` link names, with the original Source (LN-21).
    pub compares_originals: bool,
    /// The part of the held resources that is hashed, in (0, 1].
    pub sample: f64,
    /// The digests that are verified.
    pub verify: Verify,
    /// The resources that are compared.
    pub selection: SelectionOptions,
    /// Options of access to the network.
    pub access: AccessOptions,
    /// The signal that ends the audit.
    pub shutdown: Shutdown,
}

impl AuditOptions {
    /// Returns the defaults: every held file is hashed, and compared with the strongest digest.
    pub fn new(url: Option<String>, dir: impl Into<PathBuf>) -> Self {
        Self {
            url,
            every_source: false,
            dir: dir.into(),
            compares_originals: false,
            sample: 1.0,
            verify: Verify::default(),
            selection: SelectionOptions::default(),
            access: AccessOptions::default(),
            shutdown: Shutdown::new(),
        }
    }
}

/// Shows which copy is compared with which Source: the URL may contain a password.
impl fmt::Debug for AuditOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_deref().map(without_login);
        f.debug_struct("AuditOptions").field("url", &url).field("dir", &self.dir).finish_non_exhaustive()
    }
}
