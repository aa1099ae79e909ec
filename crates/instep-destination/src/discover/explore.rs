//! The whole tree of documents below a URL, without resources and packages.

use std::{collections::BTreeSet, pin::Pin};

use resourcesync::{Capability, DateTime, Form, Metadata, Uri};

use super::{DiscoverError, discover, found::capability};
use crate::{
    documents::{Document, DocumentError, Documents},
    error::BesideUrl as _,
};

/// A document of a Source and the documents that it leads to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// The URI of the document.
    pub uri: Uri,
    /// Its capability, or the one that the document above states.
    pub capability: Option<Capability>,
    /// Its form, list or index; `None` if it was not read.
    pub form: Option<Form>,
    /// Its times, or those that the document above states if it was not read.
    pub times: Times,
    /// The number of its entries; `None` if it was not read to its end.
    pub entries: Option<u64>,
    /// The sum of the lengths that its entries state (ATT-15): of resources, or of packages.
    pub bytes: Option<u64>,
    /// The faults that were found; `None` if there are none.
    pub trouble: Option<String>,
    /// The documents that it leads to.
    pub children: Vec<Self>,
}

/// The times of a document (TIME-3 to TIME-6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// The start of the snapshot.
    pub at: Option<DateTime>,
    /// The end of the snapshot.
    pub completed: Option<DateTime>,
    /// The start of the interval of changes.
    pub from: Option<DateTime>,
    /// The end of the interval of changes.
    pub until: Option<DateTime>,
}

impl Times {
    fn of(metadata: &Metadata) -> Self {
        let Metadata { at, completed, from, until, .. } = metadata;
        Self { at: *at, completed: *completed, from: *from, until: *until }
    }
}

/// The most documents that one exploration reads (D15).
const MOST_DOCUMENTS: usize = 100_000;
/// The most levels of documents. From an index of Source Descriptions down to a list in an archive there are fewer.
const MOST_LEVELS: usize = 12;

/// Reads all documents that a URL leads to, down to the lists. Resources and packages are not fetched.
///
/// ```no_run
/// use instep_destination::{AccessOptions, Client, discover::explore, documents::Documents};
/// use resourcesync::Uri;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(AccessOptions::default().http_options("https://example.org/")?)?;
/// let documents = Documents::new(client, std::env::temp_dir());
/// let root = explore(&Uri::parse("https://example.org/")?, &documents).await?;
/// println!("{} leads to {} documents", root.uri, root.children.len());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`discover`]. A fault further down is part of its node.
pub async fn explore(url: &Uri, documents: &Documents) -> Result<Node, DiscoverError> {
    let mut walk = Walk { documents, seen: BTreeSet::new() };
    let found = match discover(url, &[], documents).await {
        // Documents are walked one after the other, so their number does not matter here.
        Err(DiscoverError::TooManySets { uri, .. }) => return Ok(walk.visit(uri, &[], None).await),
        found => found?,
    };
    let mut root = match found.source_description.clone() {
        Some(description) => walk.visit(description, &[], None).await,
        None => walk.node(url.clone(), None),
    };
    for set in &found.sets {
        let alone = || Some(&set.capabilities.values().next()?.uri);
        let Some(top) = set.capability_list.as_ref().or_else(alone) else { continue };
        if !walk.seen.contains(top) {
            root.children.push(walk.visit(top.clone(), &[], None).await);
        }
    }
    if found.source_description.is_none() && root.children.len() == 1 {
        root = root.children.remove(0);
    }
    let troubles: Vec<_> = found.troubles.iter().map(ToString::to_string).collect();
    root.trouble = root.trouble.or_else(|| (!troubles.is_empty()).then(|| troubles.join("; ")));
    Ok(root)
}

struct Walk<'a> {
    documents: &'a Documents,
    seen: BTreeSet<Uri>,
}

/// An entry that leads to a further document.
struct ChildEntry {
    uri: Uri,
    metadata: Metadata,
}

impl Walk<'_> {
    /// Returns the node of a document that has not been read, with what the document above it states.
    fn node(&self, uri: Uri, promised: Option<&Metadata>) -> Node {
        Node {
            capability: promised.and_then(|metadata| metadata.capability.clone()),
            times: promised.map(Times::of).unwrap_or_default(),
            uri,
            form: None,
            entries: None,
            bytes: None,
            trouble: None,
            children: Vec::new(),
        }
    }

    fn visit<'w>(
        &'w mut self,
        uri: Uri,
        above: &'w [Document],
        promised: Option<Metadata>,
    ) -> Pin<Box<dyn Future<Output = Node> + Send + 'w>> {
        Box::pin(async move {
            let mut node = self.node(uri.clone(), promised.as_ref());
            // A channel is not a document: its content is the last message.
            if node.capability.as_ref().is_some_and(Capability::is_channel) {
                return node;
            }
            let refused = if !self.seen.insert(uri) {
                Some("it is elsewhere in this tree")
            } else if self.seen.len() > MOST_DOCUMENTS {
                Some("more documents than are read")
            } else if above.len() > MOST_LEVELS {
                Some("deeper than any Source is")
            } else {
                None
            };
            if let Some(why) = refused {
                node.trouble = Some(why.to_owned());
                return node;
            }
            if let Err(error) = self.read(&mut node, above).await {
                node.trouble = Some(error.beside(node.uri.as_str()));
            }
            node
        })
    }

    async fn read(&mut self, node: &mut Node, above: &[Document]) -> Result<(), DocumentError> {
        let speaker = above.last().and_then(Document::origin);
        let document = self.documents.open(&node.uri, speaker.as_ref()).await?;
        let kind = capability(&document.header);
        node.capability = Some(kind.clone());
        node.form = Some(document.header.form);
        node.times = document.header.metadata.as_ref().map(Times::of).unwrap_or_default();
        let leads_on = document.header.form == Form::Index || leads_to_documents(&kind);
        let (mut leads, mut bytes) = (Vec::new(), None);
        let entries = document.for_each(|entry| {
            if let Some(length) = entry.metadata.length {
                bytes = Some(bytes.unwrap_or(0_u64).saturating_add(length));
            }
            if leads_on && leads.len() < MOST_DOCUMENTS {
                leads.push(ChildEntry { uri: entry.loc.clone(), metadata: entry.metadata.clone() });
            }
        })?;
        (node.entries, node.bytes) = (Some(entries), bytes);
        let path: Vec<_> = above.iter().cloned().chain([document]).collect();
        for ChildEntry { uri, metadata } in leads {
            node.children.push(self.visit(uri, &path, Some(metadata)).await);
        }
        Ok(())
    }
}

/// Returns `true` if the entries of a list are documents: for a Source Description, a Capability List and the archives.
fn leads_to_documents(kind: &Capability) -> bool {
    matches!(
        kind,
        Capability::Description
            | Capability::CapabilityList
            | Capability::ResourceListArchive
            | Capability::ResourceDumpArchive
            | Capability::ChangeListArchive
            | Capability::ChangeDumpArchive
    )
}
