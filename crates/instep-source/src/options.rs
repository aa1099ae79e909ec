//! What the operator decides.

mod guard;
mod lists;
mod packages;
mod patches;
mod set;
mod versions;

use std::path::{Path, PathBuf};

use resourcesync::{Algorithm, Uri, xml::SpecVersion};

pub use guard::{DeletionGuard, MaxDeletions, Unreadable};
pub use lists::{Archives, ListOptions, Rotation};
pub use packages::{DumpOptions, DumpPolicy};
pub use patches::PatchOptions;
pub use set::{CodingRule, Content, FrequencyRule, GenericRule, LinkRule, SetOptions};
pub use versions::VersionOptions;

/// A Source: what it publishes, where, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PublishOptions {
    /// The URI that `out` is served at, with or without a final slash, with or without a path.
    pub base_url: String,
    /// The sets of resources; each has its own Capability List (CAP-10).
    pub sets: Vec<SetOptions>,
    /// Where documents go: `resourcesync/`, `.well-known/resourcesync` and `robots.txt` below it.
    pub out: PathBuf,
    /// Where the catalogue and the lock are; created with mode 0700.
    pub state: PathBuf,
    /// The digests to compute.
    pub hash: Vec<Algorithm>,
    /// A description of the Source (SD-5); without it a small page is written.
    pub described_by: Option<Uri>,
    /// For readers of which version the documents are (DIA-8).
    pub spec_version: SpecVersion,
    /// How lists are made and renewed.
    pub lists: ListOptions,
    /// How packages are made.
    pub dumps: DumpOptions,
    /// Whether closed and superseded documents are kept and advertised (Archives §2); none: they are not.
    pub archives: Option<Archives>,
    /// Whether a `.xml.gz` twin lies beside each document.
    pub gzip_twins: bool,
    /// Whether a Sitemap without ResourceSync elements is written, and named in `robots.txt` instead of the Resource
    /// List.
    pub sitemap_twin: bool,
    /// Whether `robots.txt` gets `Sitemap:` lines (DISC-5).
    pub robots: bool,
    /// Whether past states are kept, for change dumps, patches and versions; their bytes lie in `state`.
    pub keep_states: bool,
    /// How many bytes of past states are kept at most; 1 GiB. The oldest go first.
    pub keep_bytes: u64,
    /// Whether changed resources are offered as patches too (§14.4); none: they are not.
    pub patches: Option<PatchOptions>,
    /// Whether prior versions are kept and linked to (§14.6); only [`crate::serve`] answers for them.
    pub versions: Option<VersionOptions>,
    /// The guard against deletions that nobody meant.
    pub guard: DeletionGuard,
    /// What is done with files that cannot be published because of their mode.
    pub unreadable: Unreadable,
    /// The base URL that the Source is moved from; `None` if it stays where it is. A Source with another base URL than
    /// the one it was published with is refused: readers would take all its resources for deleted.
    pub rebase_from: Option<String>,
}

impl PublishOptions {
    /// One set: the files of a folder, with the documents in the folder itself.
    pub fn new(folder: impl AsRef<Path>, base_url: impl Into<String>) -> Self {
        let folder = folder.as_ref();
        Self {
            base_url: base_url.into(),
            sets: vec![SetOptions::folder(folder)],
            out: folder.to_owned(),
            state: folder.join(".instep"),
            hash: vec![Algorithm::Sha256],
            described_by: None,
            spec_version: SpecVersion::default(),
            lists: ListOptions::default(),
            dumps: DumpOptions::default(),
            archives: None,
            gzip_twins: false,
            sitemap_twin: false,
            robots: true,
            keep_states: false,
            keep_bytes: 1 << 30,
            patches: None,
            versions: None,
            guard: DeletionGuard::default(),
            unreadable: Unreadable::default(),
            rebase_from: None,
        }
    }
}
