//! The folders of a Source as a listing: where one is, what is there, sorted by name, size or time.

use std::cmp::Ordering;

use anyhow::Result;
use instep_source::{catalogue::Snapshot, serve::FolderItem};
use maud::{Markup, html};
use resourcesync::DateTime;

use super::site::{BROWSE, Found, PageContext, unescaped};
use crate::{
    pages::design::{PageBody, moment},
    ui::format::{bytes, count, counted, name},
};

/// Items of a page.
const MOST: usize = 500;
/// Items of a folder that are sorted otherwise than by name, which takes all of them.
const MOST_SORTED: usize = 10_000;
/// Resources up to which those of a folder are counted.
const COUNTED: u64 = 20_000;

/// The order of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sorting {
    by: SortKey,
    descending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortKey {
    Name,
    Size,
    Time,
}

impl SortKey {
    const ALL: [(Self, &'static str, &'static str); 3] =
        [(Self::Name, "name", "Name"), (Self::Size, "size", "Size"), (Self::Time, "time", "Last modified")];
}

impl Sorting {
    fn of(site: &PageContext<'_>) -> Self {
        let asked = site.parameter("sort");
        let by = SortKey::ALL.into_iter().find(|(_, name, _)| *name == asked);
        Self { by: by.map_or(SortKey::Name, |(by, ..)| by), descending: site.parameter("order") == "desc" }
    }

    /// Folders come before resources in either direction; equal ones are in the order of their names.
    fn compare(self, one: &FolderItem, other: &FolderItem) -> Ordering {
        let size = |item: &FolderItem| match &item.resource {
            Some(resource) => resource.state.length,
            None => item.below.map(|totals| totals.bytes),
        };
        let order = match self.by {
            SortKey::Name => Ordering::Equal,
            SortKey::Size => size(one).cmp(&size(other)),
            SortKey::Time => {
                time(one).map(|time| time.instant()).cmp(&time(other).map(|time| time.instant()))
            }
        };
        let order = order.then_with(|| one.name.cmp(&other.name));
        let order = if self.descending { order.reverse() } else { order };
        one.resource.is_some().cmp(&other.resource.is_some()).then(order)
    }

    /// `true` if the listing is the order of the catalogue, so that one page follows another.
    fn is_plain(self) -> bool {
        self == Self { by: SortKey::Name, descending: false }
    }
}

/// Makes the page of a folder, given by its path below the base URL or by its whole URI; `None` if nothing is in it.
pub(super) fn browse(site: &PageContext<'_>, path: &str) -> Found {
    let folder = folder_uri(site, path);
    let (sorting, from) = (Sorting::of(site), site.parameter("from"));
    let snapshot = site.view.snapshot()?;
    let listing = FolderListing::read(site, &snapshot, &folder, sorting, &from)?;
    if listing.items.is_empty() && folder != site.base() {
        return Ok(None);
    }
    let title = if folder == site.base() { "All folders".to_owned() } else { unescaped(site.short(&folder)) };
    let content = html! {
        (breadcrumb(site, &folder))
        @if !listing.is_whole_order {
            p.soft { "This folder has more than " (count(MOST_SORTED as u64)) " items: they are sorted by name." }
        }
        (table(site, &folder, &listing, sorting))
        @if listing.items.is_empty() { p { "There are no resources." } }
        @if let Some(next) = &listing.next {
            p.more { a href=(site.page("browse", &[("path", site.short(&folder)), ("from", next)])) { "Next items" } }
        }
    };
    Ok(Some(PageBody::new(title, BROWSE, content)))
}

/// Returns the URI of a folder, with its final slash.
fn folder_uri(site: &PageContext<'_>, path: &str) -> String {
    let uri = if path.contains("://") {
        path.to_owned()
    } else {
        format!("{}{}", site.base(), path.trim_start_matches('/'))
    };
    if uri.ends_with('/') { uri } else { format!("{uri}/") }
}

/// The items of a folder that a page shows.
struct FolderListing {
    items: Vec<FolderItem>,
    /// The name of the first item that the page does not show.
    next: Option<String>,
    /// `false` if there are too many items for the order that was asked for.
    is_whole_order: bool,
}

impl FolderListing {
    fn read(
        site: &PageContext<'_>,
        snapshot: &Snapshot,
        folder: &str,
        sorting: Sorting,
        from: &str,
    ) -> Result<Self> {
        if !sorting.is_plain() {
            let mut items = site.view.folder(snapshot, folder, "", MOST_SORTED + 1)?;
            if items.len() <= MOST_SORTED {
                items.sort_by(|one, other| sorting.compare(one, other));
                return Ok(Self { items, next: None, is_whole_order: true });
            }
        }
        let mut items = site.view.folder(snapshot, folder, from, MOST + 1)?;
        let next = (items.len() > MOST).then(|| items.pop()).flatten().map(|item| item.name);
        // A page of a longer listing keeps the order of the whole; a whole one shows folders first.
        if next.is_none() && from.is_empty() {
            items.sort_by(|one, other| sorting.compare(one, other));
        }
        Ok(Self { items, next, is_whole_order: sorting.is_plain() })
    }
}

/// The folders above, each a link.
fn breadcrumb(site: &PageContext<'_>, folder: &str) -> Markup {
    let below = folder.strip_prefix(site.base());
    let (root, rest) = match below {
        Some(rest) => (site.base(), rest),
        None => (folder, ""),
    };
    let ends: Vec<_> = rest.match_indices('/').map(|(end, _)| end).collect();
    let begins = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
    html! {
        nav.breadcrumb aria-label="Folders above" {
            ol {
                li { a href=(site.page("browse", &[("path", site.short(root))])) { (site.name()) } }
                @for (begin, end) in begins.zip(&ends) {
                    li { a href=(site.page("browse", &[("path", &rest[..=*end])])) { (unescaped(&rest[begin..*end])) } }
                }
            }
        }
    }
}

fn table(site: &PageContext<'_>, folder: &str, listing: &FolderListing, sorting: Sorting) -> Markup {
    html! {
        table.listing.stacked {
            thead {
                tr {
                    @for (by, key, label) in SortKey::ALL {
                        @let is_current = by == sorting.by;
                        @let descends = is_current && !sorting.descending;
                        @let order = if descends { "desc" } else { "asc" };
                        th scope="col" class=[(by == SortKey::Size).then_some("figure")]
                            aria-sort=[is_current.then_some(if sorting.descending { "descending" } else { "ascending" })] {
                            a href=(site.page("browse", &[("path", site.short(folder)), ("sort", key), ("order", order)])) { (label) }
                        }
                    }
                }
            }
            tbody { @for item in &listing.items { (row(site, item)) } }
        }
    }
}

fn row(site: &PageContext<'_>, item: &FolderItem) -> Markup {
    let Some(resource) = &item.resource else {
        return html! {
            tr.folder {
                td {
                    a href=(site.page("browse", &[("path", site.short(&item.uri))])) { (name(&item.name)) "/" }
                    @if let Some(below) = item.below { " " small { (number_below(below.resources)) } }
                }
                td.figure { @if let Some(below) = item.below { (size_below(below.resources, below.bytes)) } }
                td {}
            }
        };
    };
    html! {
        tr {
            td { a href=(site.page("resource", &[("uri", &item.uri)])) { (name(&item.name)) } }
            td.figure { @if let Some(length) = resource.state.length { (bytes(length)) } }
            td { @if let Some(time) = time(item) { (moment(time)) } }
        }
    }
}

fn size_below(resources: u64, size: u64) -> String {
    if resources < COUNTED { bytes(size) } else { format!("over {}", bytes(size)) }
}

fn number_below(resources: u64) -> String {
    if resources < COUNTED {
        counted(resources, "resource")
    } else {
        format!("{} resources or more", count(COUNTED))
    }
}

fn time(item: &FolderItem) -> Option<DateTime> {
    item.resource.as_ref()?.state.lastmod
}
