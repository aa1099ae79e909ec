//! The options of a publication.

mod guard;
mod lists;
mod packages;
mod patches;
mod set;
mod versions;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use resourcesync::{Algorithm, Uri, xml::SpecVersion};

use instep_objects::ObjectPlace;

pub use guard::{DeletionGuard, MaxDeletions, Unreadable};
pub use lists::{Archives, ListOptions, Rotation};
pub use packages::{DumpOptions, DumpPolicy};
pub use patches::PatchOptions;
pub use set::{CodingRule, Content, FrequencyRule, GenericRule, LinkRule, SetOptions};
pub use versions::VersionOptions;

/// The options of a Source: its content, its places and its documents.
#[derive(Clone)]
#[non_exhaustive]
pub struct PublishOptions {
    /// The URI that `out` is served at, with or without a final slash, with or without a path.
    pub base_url: String,
    /// The sets of resources; each has its own Capability List (CAP-10).
    pub sets: Vec<SetOptions>,
    /// The folder for documents: `resourcesync/`, `.well-known/resourcesync` and `robots.txt` are written below it.
    pub out: PathBuf,
    /// The object storage that the documents are delivered to once they are in `out`; `None` if readers find them there.
    pub deliver_to: Option<ObjectPlace>,
    /// The folder of the catalogue and the lock; created with mode 0700.
    pub state: PathBuf,
    /// The URL of the database of PostgreSQL that has the catalogue; `None` keeps it where it is, a new one in a file in
    /// `state`.
    pub catalogue: Option<String>,
    /// The digests to compute.
    pub hash: Vec<Algorithm>,
    /// A description of the Source (SD-5); without it a small page is written.
    pub described_by: Option<Uri>,
    /// The version of the standard in which documents are written (DIA-8).
    pub spec_version: SpecVersion,
    /// Options for Resource Lists and Change Lists.
    pub lists: ListOptions,
    /// Options for Resource Dumps and Change Dumps.
    pub dumps: DumpOptions,
    /// Keeps and advertises closed and superseded documents (Archives §2); `None` if they are not kept.
    pub archives: Option<Archives>,
    /// Writes a `.xml.gz` twin beside each document.
    pub gzip_twins: bool,
    /// Writes a Sitemap without ResourceSync elements, and names it in `robots.txt` after the Resource List.
    pub sitemap_twin: bool,
    /// Replaces files at the names of documents that no earlier publication wrote; without it they are refused.
    pub overwrite_documents: bool,
    /// Writes `Sitemap:` lines to `robots.txt` (DISC-5).
    pub robots: bool,
    /// Keeps past states, for Change Dumps, patches and versions; their bytes are stored in `state`.
    pub keep_states: bool,
    /// The most bytes of past states that are kept; 1 GiB. The oldest are removed first.
    pub keep_bytes: u64,
    /// Offers patches for changed resources (§14.4); `None` if there are none.
    #[cfg(feature = "patch")]
    pub patches: Option<PatchOptions>,
    /// Keeps prior versions and links to them (§14.6); only [`crate::serve`] can serve them.
    pub versions: Option<VersionOptions>,
    /// The text of an XSL stylesheet that is published beside the documents and named in each of them; `None` if there is
    /// none.
    pub stylesheet: Option<Arc<str>>,
    /// The guard against accidental deletions.
    pub guard: DeletionGuard,
    /// The treatment of files that cannot be published because of their mode.
    pub unreadable: Unreadable,
    /// The base URL that the Source is moved from; `None` if it does not move. A Source whose base URL differs from
    /// the published one is refused, because readers would treat all its resources as deleted.
    pub rebase_from: Option<String>,
    /// Files that are read in the place of manifests, by the paths of those: a preview shows what would be published
    /// once a manifest has their content.
    pub manifest_drafts: BTreeMap<PathBuf, PathBuf>,
}

impl PublishOptions {
    /// Returns options for one set of resources: the files of a folder. The documents are written to the same folder, and
    /// the state to its folder `.instep`.
    pub fn new(folder: impl AsRef<Path>, base_url: impl Into<String>) -> Self {
        let folder = folder.as_ref();
        Self {
            base_url: base_url.into(),
            sets: vec![SetOptions::folder(folder)],
            out: folder.to_owned(),
            deliver_to: None,
            state: folder.join(".instep"),
            catalogue: None,
            hash: vec![Algorithm::Sha256],
            described_by: None,
            spec_version: SpecVersion::default(),
            lists: ListOptions::default(),
            dumps: DumpOptions::default(),
            archives: None,
            gzip_twins: false,
            sitemap_twin: false,
            overwrite_documents: false,
            robots: true,
            keep_states: false,
            keep_bytes: 1 << 30,
            #[cfg(feature = "patch")]
            patches: None,
            versions: None,
            stylesheet: None,
            guard: DeletionGuard::default(),
            unreadable: Unreadable::default(),
            rebase_from: None,
            manifest_drafts: BTreeMap::new(),
        }
    }

    /// Returns the options for patches; `None` if none are made.
    pub(crate) fn patches(&self) -> Option<PatchOptions> {
        #[cfg(feature = "patch")]
        return self.patches;
        #[cfg(not(feature = "patch"))]
        None
    }

    /// Returns `true` if the bytes of present states are kept: a patch or a version needs them once they are past.
    pub(crate) fn needs_present_states(&self) -> bool {
        self.patches().is_some() || self.versions.is_some()
    }
}

/// Shows which Source the options are for: the URL of a catalogue may contain a password.
impl fmt::Debug for PublishOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishOptions")
            .field("base_url", &self.base_url)
            .field("sets", &self.sets)
            .field("out", &self.out)
            .field("deliver_to", &self.deliver_to)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o910_the_password_of_a_catalogue_is_not_shown() {
        let mut options = PublishOptions::new("data", "https://example.org/");
        options.catalogue = Some("postgres://source:hunter2@db.example.org/sources".to_owned());
        let shown = format!("{options:?}");
        assert!(shown.contains("https://example.org/") && !shown.contains("hunter2"), "{shown}");
    }
}
