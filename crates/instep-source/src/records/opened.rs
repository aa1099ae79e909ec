//! The options that a Source was last opened with: processes that record or check beside it need not be given them
//! again.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use resourcesync::Algorithm;
use serde::{Deserialize, Serialize};

use crate::{
    BucketContent, Content, ObjectPlace, PublishOptions, SetOptions, Supply, VersionOptions,
    options::PatchOptions,
};

/// The options that define the resources, and which of their states are kept.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenedWith {
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
    sets: Vec<OpenedSet>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct OpenedSet {
    name: String,
    content: Vec<OpenedContent>,
    include: Vec<String>,
    exclude: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum OpenedContent {
    Folder { root: PathBuf, prefix: Option<String> },
    Manifest { path: PathBuf, root: PathBuf },
    Objects { place: String, folder: PathBuf, prefix: Option<String> },
}

impl OpenedWith {
    /// Returns the record of options; `None` if an application supplies resources, because no other process can use
    /// it.
    pub(crate) fn of(options: &PublishOptions) -> Option<Self> {
        let set = |set: &SetOptions| {
            Some(OpenedSet {
                name: set.name.clone(),
                content: set.content.iter().map(OpenedContent::of).collect::<Option<_>>()?,
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
            patches: options.patches(),
            versions: options.versions,
            sets: options.sets.iter().map(set).collect::<Option<_>>()?,
        })
    }

    /// Returns the options, as far as they are kept; `None` if they lead to no content.
    pub(crate) fn options(self, state: &Path) -> Option<PublishOptions> {
        let mut options = PublishOptions::new("", self.base_url);
        (options.state, options.out) = (state.to_owned(), self.out);
        options.hash = self.hash.iter().map(|name| Algorithm::parse(name)).collect();
        (options.keep_states, options.keep_bytes) = (self.keep_states, self.keep_bytes);
        options.dumps.changes = self.change_dump;
        #[cfg(feature = "patch")]
        options.patches.clone_from(&self.patches);
        options.versions = self.versions;
        let set = |kept: OpenedSet| {
            let OpenedSet { name, content, include, exclude } = kept;
            let content = content.into_iter().map(|content| content.content(&options.hash));
            let content = content.collect::<Option<_>>()?;
            Some(SetOptions { name, content, include, exclude, ..SetOptions::new() })
        };
        options.sets = self.sets.into_iter().map(set).collect::<Option<_>>()?;
        Some(options)
    }
}

impl OpenedContent {
    fn of(content: &Content) -> Option<Self> {
        Some(match content {
            Content::Folder { root, prefix } => Self::Folder { root: absolute(root), prefix: prefix.clone() },
            Content::Manifest { path, root } => Self::Manifest { path: absolute(path), root: absolute(root) },
            Content::Supplied { supply, prefix } => Self::Objects {
                place: supply.0.object_place()?.to_string(),
                folder: absolute(supply.0.folder()),
                prefix: prefix.clone(),
            },
        })
    }

    /// Returns the content; `None` if its place in object storage is invalid.
    fn content(self, hash: &[Algorithm]) -> Option<Content> {
        Some(match self {
            Self::Folder { root, prefix } => Content::Folder { root, prefix },
            Self::Manifest { path, root } => Content::Manifest { path, root },
            Self::Objects { place, folder, prefix } => {
                let objects = BucketContent::new(ObjectPlace::parse(&place).ok()?, folder, hash.to_vec());
                Content::Supplied { supply: Supply(Arc::new(objects)), prefix }
            }
        })
    }
}

/// Returns the same place for a process with another current folder; `None` for standard input.
fn absolute(path: &Path) -> PathBuf {
    let kept = || path.to_owned();
    if path == Path::new("-") { kept() } else { std::path::absolute(path).unwrap_or_else(|_| kept()) }
}
