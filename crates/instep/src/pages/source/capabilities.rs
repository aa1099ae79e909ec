//! The graph of a Source: Source Description, Capability Lists, and the documents of each set with their sizes.

use std::{
    collections::BTreeMap,
    io::BufReader,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use anyhow::Result;
use maud::{Markup, html};
use resourcesync::{Capability, DocumentReader, Entry, Form, Header, ReadOptions, Relation};

use super::site::PageContext;
use crate::{
    pages::design::outside_link,
    ui::format::{capability_name, count, counted, entry_noun},
};

/// The most documents whose sizes are kept.
const MOST_KEPT: usize = 1_000;
/// The most entries read of a document whose entries are all shown.
const MOST_SHOWN: usize = 1_000;

/// The most bytes of all parts of an index whose entries are counted. Larger ones would take too long for a page.
const MOST_COUNTED: u64 = 16 << 20;

/// The numbers of entries of documents, kept as long as the files stay the same.
#[derive(Debug, Default)]
pub(super) struct DocumentSizes(Mutex<BTreeMap<String, (FileState, DocumentSize)>>);

/// The length and the modification time of a file: if they are the same, it is not read again.
type FileState = (u64, Option<SystemTime>);

/// The size of a document.
#[derive(Clone, Debug, Default)]
struct DocumentSize {
    entries: u64,
    /// The parts of an index; `None` if the document is not an index.
    parts: Option<Vec<String>>,
}

impl DocumentSizes {
    /// Returns the size of a document; `None` if it is not in place or cannot be read.
    fn of(&self, site: &PageContext<'_>, name: &str) -> Option<DocumentSize> {
        let file = site.view.document(name).ok().flatten()?;
        let metadata = file.metadata().ok()?;
        let state = (metadata.len(), metadata.modified().ok());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, size)) = kept.get(name).filter(|(known, _)| *known == state) {
            return Some(size.clone());
        }
        let mut reader = DocumentReader::new(BufReader::new(file), ReadOptions::new()).ok()?;
        let is_index = reader.header().form == Form::Index;
        let mut size = DocumentSize { entries: 0, parts: is_index.then(Vec::new) };
        for entry in reader.entries().filter_map(Result::ok) {
            size.entries += 1;
            let part = site.view.place().name(entry.loc.as_str());
            if let (Some(parts), Some(part)) = (&mut size.parts, part) {
                parts.push(part.to_owned());
            }
        }
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(name.to_owned(), (state, size.clone()));
        Some(size)
    }

    /// Returns the number of entries in all parts of an index; `None` if a part is not in place, or if they are too
    /// large to count.
    fn of_parts(&self, site: &PageContext<'_>, parts: &[String]) -> Option<u64> {
        let length = |part: &String| Some(site.view.document(part).ok()??.metadata().ok()?.len());
        let bytes = parts.iter().map(length).sum::<Option<u64>>()?;
        let entries = |part: &String| Some(self.of(site, part)?.entries);
        (bytes <= MOST_COUNTED).then(|| parts.iter().map(entries).sum())?
    }
}

/// Reads the header of a document and up to `most` of its entries after the first `skip`. Returns `None` if it is not
/// in place.
///
/// Errors: the document cannot be read.
pub(super) fn read(
    site: &PageContext<'_>,
    name: &str,
    skip: usize,
    most: usize,
) -> Result<Option<(Header, Vec<Entry>)>> {
    let Some(file) = site.view.document(name)? else { return Ok(None) };
    let mut reader = DocumentReader::new(BufReader::new(file), ReadOptions::new())?;
    let header = reader.header().clone();
    let entries = reader.entries().skip(skip).take(most).collect::<Result<Vec<_>, _>>()?;
    Ok(Some((header, entries)))
}

/// Draws the graph as lists within lists.
pub(super) fn graph(site: &PageContext<'_>, sizes: &DocumentSizes) -> Result<Markup> {
    let sets = site.view.sets().iter().map(|set| Ok((set, of_set(site, sizes, set)?)));
    let sets = sets.collect::<Result<Vec<_>>>()?;
    Ok(html! {
        ul.tree {
            li {
                (node(site, ".well-known/resourcesync", "Source Description", &counted(sets.len() as u64, "set")))
                ul {
                    @for (set, capabilities) in &sets {
                        li {
                            div.node {
                                a href=(site.page("set", &[("name", set)])) {
                                    "Capability List" @if !set.is_empty() { ": " (set) }
                                }
                            }
                            (capabilities)
                        }
                    }
                }
            }
        }
    })
}

/// Draws the documents of one set.
pub(super) fn of_set(site: &PageContext<'_>, sizes: &DocumentSizes, set: &str) -> Result<Markup> {
    let list = site.view.place().set(set).name("capabilitylist.xml");
    let Some((header, entries)) = read(site, &list, 0, MOST_SHOWN)? else { return Ok(html! {}) };
    let batch = header.links.iter().find(|link| link.rel.as_str() == Relation::BATCH);
    Ok(html! {
        ul {
            @for entry in &entries { li { (capability(site, sizes, entry)) } }
            @if let Some(batch) = batch {
                li { div.node { a href=(site.path(site.short(batch.href.as_str()))) { "Batch" } small { "many resources in one request" } } }
            }
        }
    })
}

fn capability(site: &PageContext<'_>, sizes: &DocumentSizes, entry: &Entry) -> Markup {
    let capability = entry.metadata.capability.clone().unwrap_or(Capability::Other("document".into()));
    let label = capability_name(&capability);
    let name = site.view.place().name(entry.loc.as_str());
    let listening = site.view.audience().channels().into_iter().find(|channel| channel.topic == entry.loc);
    match (name, listening) {
        (_, Some(channel)) => html! {
            div.node {
                a href=(site.path("resourcesync/connected")) { (label) }
                small { (count((channel.listeners + channel.subscribers) as u64)) " connected" }
            }
        },
        (Some(name), None) => {
            let size = sizes.of(site, name).map(|size| size_in_words(site, sizes, &capability, &size));
            node(site, name, &label, &size.unwrap_or_default())
        }
        (None, None) => html! { div.node { (outside_link(entry.loc.as_str())) small { (label) } } },
    }
}

fn node(site: &PageContext<'_>, name: &str, label: &str, size: &str) -> Markup {
    html! { div.node { a href=(site.document_path(name)) { (label) } small { (size) } } }
}

fn size_in_words(
    site: &PageContext<'_>,
    sizes: &DocumentSizes,
    capability: &Capability,
    size: &DocumentSize,
) -> String {
    let noun = entry_noun(capability);
    let Some(parts) = &size.parts else { return counted(size.entries, noun) };
    match sizes.of_parts(site, parts) {
        Some(entries) => format!("{} in {}", counted(entries, noun), counted(size.entries, "document")),
        None => counted(size.entries, "document"),
    }
}
