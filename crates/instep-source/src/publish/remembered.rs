//! What a Source was opened with last, kept in its catalogue: who records or checks beside it need not be told again.

use std::path::{Path, PathBuf};

use resourcesync::Algorithm;
use serde::{Deserialize, Serialize};

use crate::{
    Content, Error, PatchOptions, PublishOptions, SetOptions, VersionOptions,
    catalogue::{Catalogue, Snapshot},
};

const NAME: &str = "opened-with";

/// The part of the options that says which resources there are, and which of their states are kept.
#[derive(PartialEq, Serialize, Deserialize)]
struct Remembered {
    base_url: String,
    out: PathBuf,
    hash: Vec<String>,
    keep_states: bool,
    keep_bytes: u64,
    #[serde(default)]
    change_dump: bool,
    #[serde(default)]
    patches: Option<PatchOptions>,
    #[serde(default)]
    versions: Option<VersionOptions>,
    sets: Vec<RememberedSet>,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct RememberedSet {
    name: String,
    content: Vec<RememberedContent>,
    include: Vec<String>,
    exclude: Vec<String>,
}

#[derive(PartialEq, Serialize, Deserialize)]
enum RememberedContent {
    Folder { root: PathBuf, prefix: Option<String> },
    Manifest { path: PathBuf, root: PathBuf },
}

/// Keeps what the options say of the resources, if it is news.
pub(super) fn keep(options: &PublishOptions, catalogue: &Catalogue) -> Result<(), Error> {
    let Some(remembered) = Remembered::of(options) else { return Ok(()) };
    // Text and plain values: nothing that JSON cannot hold.
    let value = serde_json::to_vec(&remembered).unwrap_or_default();
    if catalogue.snapshot()?.meta(NAME)?.as_ref() != Some(&value) {
        catalogue.set_meta(vec![(NAME.to_owned(), Some(value))])?;
    }
    Ok(())
}

/// The options as far as they are kept; none where the Source was never opened.
pub(super) fn load(snapshot: &Snapshot, state: &Path) -> Result<Option<PublishOptions>, Error> {
    let value = snapshot.meta(NAME)?.unwrap_or_default();
    Ok(serde_json::from_slice::<Remembered>(&value).ok().map(|remembered| remembered.options(state)))
}

/// Nothing is kept there.
pub(super) fn unknown(state: &Path) -> Error {
    let what = format!("no Source was published from {}: publish or serve it first", state.display());
    Error::option("state", what)
}

impl Remembered {
    /// None where somebody supplies resources: nobody else can ask them.
    fn of(options: &PublishOptions) -> Option<Self> {
        let set = |set: &SetOptions| {
            Some(RememberedSet {
                name: set.name.clone(),
                content: set.content.iter().map(RememberedContent::of).collect::<Option<_>>()?,
                include: set.include.clone(),
                exclude: set.exclude.clone(),
            })
        };
        Some(Self {
            base_url: options.base_url.clone(),
            out: absolute(&options.out),
            hash: options.hash.iter().map(|algorithm| algorithm.as_str().to_owned()).collect(),
            keep_states: options.keep_states,
            keep_bytes: options.keep_bytes,
            change_dump: options.dumps.changes,
            patches: options.patches,
            versions: options.versions,
            sets: options.sets.iter().map(set).collect::<Option<_>>()?,
        })
    }

    fn options(self, state: &Path) -> PublishOptions {
        let mut options = PublishOptions::new("", self.base_url);
        (options.state, options.out) = (state.to_owned(), self.out);
        options.hash = self.hash.iter().map(|name| Algorithm::parse(name)).collect();
        (options.keep_states, options.keep_bytes) = (self.keep_states, self.keep_bytes);
        options.dumps.changes = self.change_dump;
        (options.patches, options.versions) = (self.patches, self.versions);
        let set = |kept: RememberedSet| {
            let content = kept.content.into_iter().map(RememberedContent::content).collect();
            let RememberedSet { name, include, exclude, .. } = kept;
            SetOptions { name, content, include, exclude, ..SetOptions::new() }
        };
        options.sets = self.sets.into_iter().map(set).collect();
        options
    }
}

impl RememberedContent {
    fn of(content: &Content) -> Option<Self> {
        Some(match content {
            Content::Folder { root, prefix } => Self::Folder { root: absolute(root), prefix: prefix.clone() },
            Content::Manifest { path, root } => Self::Manifest { path: absolute(path), root: absolute(root) },
            Content::Supplied { .. } => return None,
        })
    }

    fn content(self) -> Content {
        match self {
            Self::Folder { root, prefix } => Content::Folder { root, prefix },
            Self::Manifest { path, root } => Content::Manifest { path, root },
        }
    }
}

/// The same place from wherever the next call is made; standard input has none.
fn absolute(path: &Path) -> PathBuf {
    let kept = || path.to_owned();
    if path == Path::new("-") { kept() } else { std::path::absolute(path).unwrap_or_else(|_| kept()) }
}
