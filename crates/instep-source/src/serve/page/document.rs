//! A document and a set, as readers of the documents understand them.

use std::{
    fs::File,
    io::{self, BufReader},
};

use maud::{Markup, html};
use resourcesync::{DocumentReader, Entry, Header, ReadOptions};

use super::{
    browse::{Browse, MOST, PageResult, Wanted},
    change_kind, copyable, figures, moment, path, query, resource_link, size, thousands,
};
use crate::{
    Error,
    render::{DOCUMENTS, SOURCE_DESCRIPTION},
    serve::path::beneath,
};

impl Browse {
    /// One set: how much it holds, its documents, and how to copy it alone.
    pub(super) fn set(&self, wanted: &Wanted) -> PageResult {
        let Some(number) = self.sets.iter().position(|name| *name == wanted.name) else { return Ok(None) };
        let place = self.place.set(&wanted.name);
        let Some((header, entries)) = self.read(&place.name("capabilitylist.xml"))? else { return Ok(None) };
        let totals = self.catalogue.snapshot()?.totals(u8::try_from(number).unwrap_or(u8::MAX))?;
        let title = if wanted.name.is_empty() { "All resources" } else { &wanted.name };
        Ok(Some((
            title.to_owned(),
            html! {
                (figures(&[
                    ("Resources", "set-resources", thousands(totals.resources)),
                    ("Size", "set-size", size(totals.bytes)),
                    ("Documents", "set-documents", entries.len().to_string()),
                ]))
                h2 { "Keep a copy of this set" }
                (copyable(&format!("instep sync {}", place.capability_list())))
                h2 { "Documents" }
                (self.entries(&entries))
                (self.facts(&header))
            },
        )))
    }

    /// A document.
    pub(super) fn document(&self, wanted: &Wanted) -> PageResult {
        let Some((header, entries)) = self.read(&wanted.name)? else { return Ok(None) };
        let name = wanted.name.rsplit('/').next().unwrap_or_default();
        Ok(Some((
            name.to_owned(),
            html! {
                p { a href=(path(self.place.base(), &wanted.name)) { "The document itself" } }
                (self.facts(&header))
                h2 { "Entries" }
                (self.entries(&entries))
                @if entries.len() == MOST { p.soft { "The first " (MOST) " only." } }
            },
        )))
    }

    /// Reads the beginning of a document in place; `None` if there is no such document.
    fn read(&self, name: &str) -> Result<Option<(Header, Vec<Entry>)>, Error> {
        let Some(beneath) = beneath(name).filter(|_| is_document(name)) else { return Ok(None) };
        let file = match self.documents.entry(&beneath.name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::read(name)(error)),
        };
        let read = |file: File| -> Result<_, resourcesync::ReadError> {
            let mut reader = DocumentReader::new(BufReader::new(file), ReadOptions::new())?;
            let header = reader.header().clone();
            let entries = reader.entries().take(MOST).collect::<Result<Vec<_>, _>>()?;
            Ok((header, entries))
        };
        read(file).map(Some).map_err(|error| Error::read(name)(io::Error::other(error)))
    }

    fn facts(&self, header: &Header) -> Markup {
        html! {
            table {
                @if let Some(capability) = header.capability() { tr { th { "Capability" } td { (capability) } } }
                @if let Some(metadata) = &header.metadata {
                    @for (what, when) in [
                        ("At", metadata.at), ("Completed", metadata.completed), ("From", metadata.from), ("Until", metadata.until),
                    ] {
                        @if let Some(when) = when { tr { th { (what) } td { (moment(when)) } } }
                    }
                }
                @for related in &header.links {
                    tr { th { (related.rel) } td { (self.link(related.href.as_str())) } }
                }
            }
        }
    }

    fn entries(&self, entries: &[Entry]) -> Markup {
        let changes = entries.iter().any(|entry| entry.metadata.change.is_some());
        html! {
            table.changes[changes] {
                tbody {
                    @for entry in entries {
                        tr {
                            @if let Some(when) = entry.metadata.datetime.or(entry.lastmod) { td { (moment(when)) } }
                            @if let Some(change) = &entry.metadata.change { td { (change_kind(change)) } }
                            @if let Some(capability) = &entry.metadata.capability { td { (capability) } }
                            td { (self.link(entry.loc.as_str())) }
                            @if let Some(length) = entry.metadata.length { td.figure { (size(length)) } }
                        }
                    }
                    @if entries.is_empty() { tr { td { "None." } } }
                }
            }
        }
    }

    /// Our documents and resources have pages here; the rest is elsewhere.
    fn link(&self, uri: &str) -> Markup {
        let base = self.place.base();
        match self.place.name(uri) {
            Some(name) if is_document(name) => {
                let page = path(base, &format!("resourcesync/document?{}", query("name", name)));
                html! { a href=(page) { (name) } }
            }
            Some(name) if !name.starts_with(DOCUMENTS) => resource_link(base, uri, false),
            _ => html! { a href=(uri) { (uri.strip_prefix(base).unwrap_or(uri)) } },
        }
    }
}

fn is_document(name: &str) -> bool {
    name == SOURCE_DESCRIPTION || (name.starts_with(DOCUMENTS) && name.ends_with(".xml"))
}
