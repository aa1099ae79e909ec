//! A set of resources: its content, capabilities, links and rules.

use std::path::{Path, PathBuf};

use resourcesync::{ChangeFreq, Entry, Link, MediaType, Relation, Uri};

use crate::{Error, content::Supply};

/// A set of resources (§6.3.2): its content and its metadata.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SetOptions {
    /// Its name, a folder below `resourcesync/`; empty for the only set of a Source, whose documents lie in
    /// `resourcesync/` itself.
    pub name: String,
    /// The origins of its resources; empty if an application reports each change itself.
    pub content: Vec<Content>,
    /// Globs over paths relative to the root; without any, everything is included.
    pub include: Vec<String>,
    /// Globs over paths relative to the root; stronger than `include`.
    pub exclude: Vec<String>,
    /// A description of the set (SD-9, CAP-4); without it a small page is written.
    pub described_by: Option<Uri>,
    /// Publishes a Resource List (§10).
    pub resource_list: bool,
    /// Publishes a Change List (§12).
    pub change_list: bool,
    /// Links of resources to related ones (§14).
    pub links: Vec<LinkRule>,
    /// Rules for the change frequency of resources.
    pub frequencies: Vec<FrequencyRule>,
    /// Files that are stored compressed, and served so.
    pub codings: Vec<CodingRule>,
    /// URIs that represent several resources (§14.3).
    pub generics: Vec<GenericRule>,
    /// Further entries of its Capability List: channels (CN-3).
    pub channels: Vec<Entry>,
    /// Further links of its Capability List.
    pub capability_links: Vec<Link>,
}

impl SetOptions {
    /// Returns a set without a name and without content.
    pub fn new() -> Self {
        Self {
            name: String::new(),
            content: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            described_by: None,
            resource_list: true,
            change_list: true,
            links: Vec::new(),
            frequencies: Vec::new(),
            codings: Vec::new(),
            generics: Vec::new(),
            channels: Vec::new(),
            capability_links: Vec::new(),
        }
    }

    /// Checks the name.
    ///
    /// # Errors
    /// If it cannot be the name of a folder in any place where documents are served.
    pub fn check_name(&self) -> Result<(), Error> {
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if self.name.bytes().all(is_legal) && self.name.len() <= 64 {
            return Ok(());
        }
        let what = format!("{:?} is not a name: up to 64 ASCII letters, digits, '-' and '_'", self.name);
        Err(Error::option("set", what))
    }

    /// Returns a set without a name whose content is a folder, served at the base URL.
    pub fn folder(root: impl AsRef<Path>) -> Self {
        let content = vec![Content::Folder { root: root.as_ref().to_owned(), prefix: None }];
        Self { content, ..Self::new() }
    }
}

impl Default for SetOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// An origin of the resources of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// The files below a folder.
    Folder {
        /// The folder.
        root: PathBuf,
        /// The URI the folder is served at; `None` for the base URL.
        prefix: Option<String>,
    },
    /// The resources that a CSV or JSON Lines file names; `-` for standard input.
    Manifest {
        /// The file.
        path: PathBuf,
        /// The folder that its relative paths start from.
        root: PathBuf,
    },
    /// Resources that another program keeps and describes.
    Supplied {
        /// The supplier.
        supply: Supply,
        /// The URI that its paths are served below; `None` for the base URL.
        prefix: Option<String>,
    },
}

/// A link that each matching resource has: `*.pdf` `describedby` `*.xml`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkRule {
    /// The path below the base URL, with at most one `*`.
    pub resource: String,
    /// The relation of the target to the resource.
    pub rel: Relation,
    /// The target: a path below the base URL or a URI; its `*` is replaced by the text that the resource's `*`
    /// matches.
    pub target: String,
    /// Media type of the target.
    pub media_type: Option<MediaType>,
    /// Preference among links of the same relation (ATT-20).
    pub pri: Option<u32>,
}

impl LinkRule {
    /// Returns a rule without further attributes.
    pub fn new(resource: impl Into<String>, rel: Relation, target: impl Into<String>) -> Self {
        Self { resource: resource.into(), rel, target: target.into(), media_type: None, pri: None }
    }
}

/// A rule for the change frequency of matching resources (GEN-16).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrequencyRule {
    /// The path below the base URL, with at most one `*`.
    pub resource: String,
    /// The frequency; `None` if it follows from the changes in the catalogue.
    pub frequency: Option<ChangeFreq>,
}

impl FrequencyRule {
    /// Creates a rule with a fixed frequency.
    pub fn new(resource: impl Into<String>, frequency: ChangeFreq) -> Self {
        Self { resource: resource.into(), frequency: Some(frequency) }
    }

    /// Returns a rule that gives each resource the frequency computed from the catalogue.
    pub fn auto(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), frequency: None }
    }
}

/// Files that are stored in a content coding: their resources are served with it, and `length` is the coded length
/// (AMB-B38).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodingRule {
    /// The path below the base URL, with at most one `*`.
    pub resource: String,
    /// The content coding: `gzip`.
    pub coding: String,
}

impl CodingRule {
    /// Creates a rule.
    pub fn new(resource: impl Into<String>, coding: impl Into<String>) -> Self {
        Self { resource: resource.into(), coding: coding.into() }
    }
}

/// A URI without its own file, which answers with one of several resources: `res1` with `res1.html` or `res1.pdf`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GenericRule {
    /// The path below the base URL, with at most one `*`.
    pub generic: String,
    /// The paths of the resources, whose `*` is replaced by the text that the generic path matches; the preferred one
    /// first.
    pub specific: Vec<String>,
    /// Serves the first one to a client that accepts none of them, instead of 406.
    pub default: bool,
}

impl GenericRule {
    /// Creates a rule without a default.
    pub fn new(generic: impl Into<String>, specific: impl IntoIterator<Item = String>) -> Self {
        Self { generic: generic.into(), specific: specific.into_iter().collect(), default: false }
    }

    /// Returns the links that the rule implies: `canonical` from each resource to the generic URI (LN-8), and `alternate`
    /// from the generic URI and from each resource to every other resource (LN-6).
    pub(crate) fn links(&self) -> Vec<LinkRule> {
        let canonical = |one: &String| LinkRule::new(one, Relation::Canonical, &self.generic);
        let alternate = |from: &String, to: &String| LinkRule::new(from, Relation::Alternate, to);
        let all = || [&self.generic].into_iter().chain(&self.specific);
        let pairs = all().flat_map(|from| self.specific.iter().map(move |to| (from, to)));
        let alternates = pairs.filter(|(from, to)| from != to).map(|(from, to)| alternate(from, to));
        self.specific.iter().map(canonical).chain(alternates).collect()
    }
}
