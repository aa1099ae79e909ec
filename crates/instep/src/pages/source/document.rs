//! The page of a document of the Source: its times, its links, and its entries a page at a time.

use maud::{Markup, html};
use resourcesync::{Change, Entry, Header};

use super::{
    capabilities::read,
    site::{FOLDER, Found, OVERVIEW, PageContext},
};
use crate::{
    pages::design::{PageBody, change_kind, moment, outside_link},
    ui::format::{bytes, capability_name, count},
};

/// The most entries in a page.
const MOST: usize = 200;

/// Returns the name of the document whose page is requested as `NAME.html` beside it.
pub(super) fn named_as_page(path: &str) -> Option<String> {
    let stem = path.strip_suffix(".html").filter(|stem| stem.starts_with(FOLDER))?;
    Some(format!("{stem}.xml"))
}

/// Makes the page of the document that the query names; `None` if there is none.
pub(super) fn document(site: &PageContext<'_>) -> Found {
    let name = site.parameter("name");
    // A document has at most 50,000 entries.
    let from = site.parameter("from").parse().map_or(0, |from: usize| from.min(1 << 20));
    let Some((header, mut entries)) = read(site, &name, from, MOST + 1)? else { return Ok(None) };
    let has_more = entries.len() > MOST;
    entries.truncate(MOST);
    let next = (from + MOST).to_string();
    let content = html! {
        p { a href=(site.path(&name)) { "Open the document itself" } " " code { (name) } }
        (facts(site, &header))
        section {
            h2 { "Entries" @if from > 0 { " from " (count(from as u64 + 1)) } }
            (table(site, &entries))
            @if has_more { p.more { a href=(site.page("document", &[("name", &name), ("from", &next)])) { "Next entries" } } }
        }
    };
    let title = header
        .capability()
        .map_or_else(|| name.rsplit('/').next().unwrap_or_default().to_owned(), capability_name);
    Ok(Some(PageBody::new(title, OVERVIEW, content)))
}

fn facts(site: &PageContext<'_>, header: &Header) -> Markup {
    html! {
        table.facts {
            @if let Some(metadata) = &header.metadata {
                @for (what, when) in [
                    ("Taken at", metadata.at), ("Completed", metadata.completed), ("Changes from", metadata.from), ("Changes until", metadata.until),
                ] {
                    @if let Some(when) = when { tr { th scope="row" { (what) } td { (moment(when)) } } }
                }
            }
            @for link in &header.links { tr { th scope="row" { (link.rel) } td { (address(site, link.href.as_str(), false)) } } }
        }
    }
}

fn table(site: &PageContext<'_>, entries: &[Entry]) -> Markup {
    let has_changes = entries.iter().any(|entry| entry.metadata.change.is_some());
    let has_capabilities = entries.iter().any(|entry| entry.metadata.capability.is_some());
    html! {
        @if entries.is_empty() { p { "None." } } @else {
            table.listing.stacked {
                thead {
                    tr {
                        th scope="col" { "Address" }
                        @if has_capabilities { th scope="col" { "Capability" } }
                        @if has_changes { th scope="col" { "Change" } }
                        th.figure scope="col" { "Size" }
                        th scope="col" { "Time" }
                    }
                }
                tbody {
                    @for entry in entries {
                        tr {
                            td { (address(site, entry.loc.as_str(), entry.metadata.change == Some(Change::Deleted))) }
                            @if has_capabilities { td { @if let Some(capability) = &entry.metadata.capability { (capability_name(capability)) } } }
                            @if has_changes { td { @if let Some(change) = &entry.metadata.change { (change_kind(change)) } } }
                            td.figure { @if let Some(length) = entry.metadata.length { (bytes(length)) } }
                            td { @if let Some(when) = entry.metadata.datetime.or(entry.metadata.at).or(entry.metadata.from).or(entry.lastmod) { (moment(when)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Draws a link to the page of a document or resource of this Source, or to the address itself if it is another one.
fn address(site: &PageContext<'_>, uri: &str, is_gone: bool) -> Markup {
    match uri.strip_prefix(site.base()) {
        Some(name)
            if name.ends_with(".xml") && name.starts_with(FOLDER) || name.starts_with(".well-known/") =>
        {
            html! { a href=(site.document_path(name)) { (name) } }
        }
        Some(name) if name.starts_with(FOLDER) => html! { a href=(site.path(name)) { (name) } },
        Some(name) if !name.is_empty() => site.resource_link(uri, is_gone),
        _ => outside_link(uri),
    }
}
