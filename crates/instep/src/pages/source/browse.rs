//! The page of a folder of a Source: a listing of its content, sorted by name, size or time, a page at a time.

use std::{cmp::Ordering, collections::BTreeMap};

use anyhow::Result;
use instep_source::{catalogue::Snapshot, serve::FolderItem};
use maud::{Markup, html};
use resourcesync::DateTime;

use super::site::{BROWSE, Found, PageContext, unescaped};
use crate::{
    pages::design::{PageBody, moment},
    ui::format::{bytes, count, counted, name},
};

/// The most items in a page.
const MOST: usize = 500;
/// The number of resources up to which those below a folder are counted.
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

    /// Returns the place of an item in this order.
    fn rank(self, item: &FolderItem) -> ListingRank {
        let value = match (self.by, &item.resource) {
            (SortKey::Name, _) => None,
            (SortKey::Size, Some(resource)) => resource.state.length.map(u64::cast_signed),
            (SortKey::Size, None) => item.below.map(|totals| totals.bytes.cast_signed()),
            (SortKey::Time, _) => time(item).map(|time| time.unix_micros()),
        };
        let is_resource = item.resource.is_some();
        ListingRank { is_resource, value, name: item.name.clone(), is_descending: self.descending }
    }

    /// Returns the address of a listing in this order, from its beginning or from a further place on.
    fn address(self, site: &PageContext<'_>, folder: &str, from: Option<&str>) -> String {
        let key = SortKey::ALL.into_iter().find(|(by, ..)| *by == self.by).map_or("name", |(_, key, _)| key);
        let order = if self.descending { "desc" } else { "asc" };
        let mut query = vec![("path", site.short(folder))];
        if !self.is_plain() {
            query.extend([("sort", key), ("order", order)]);
        }
        query.extend(from.map(|from| ("from", from)));
        site.page("browse", &query)
    }

    /// Returns `true` if the listing has the order of the catalogue, so that a page can be read from a place on.
    fn is_plain(self) -> bool {
        self == Self { by: SortKey::Name, descending: false }
    }
}

/// The place of an item in a listing: folders come before resources in either direction, and equal items are in the order of
/// their names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ListingRank {
    is_resource: bool,
    /// The size or the time.
    value: Option<i64>,
    name: String,
    is_descending: bool,
}

impl Ord for ListingRank {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = (self.value, &self.name).cmp(&(other.value, &other.name));
        let order = if self.is_descending { order.reverse() } else { order };
        self.is_resource.cmp(&other.is_resource).then(order)
    }
}

impl PartialOrd for ListingRank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ListingRank {
    /// Returns the rank as a parameter of an address.
    fn to_parameter(&self) -> String {
        let value = self.value.map(|value| value.to_string()).unwrap_or_default();
        format!("{},{value},{}", u8::from(self.is_resource), self.name)
    }

    /// Reads a parameter; `None` if it is invalid.
    fn parse(parameter: &str, sorting: Sorting) -> Option<Self> {
        let mut parts = parameter.splitn(3, ',');
        let (is_resource, value, name) = (parts.next()? == "1", parts.next()?, parts.next()?.to_owned());
        Some(Self { is_resource, value: value.parse().ok(), name, is_descending: sorting.descending })
    }
}

/// Makes the page of a folder, given by its path below the base URL or by its complete URI; `None` if it is empty.
pub(super) fn browse(site: &PageContext<'_>, path: &str) -> Found {
    let folder = folder_uri(site, path);
    let sorting = Sorting::of(site);
    let snapshot = site.view.snapshot()?;
    let listing = FolderListing::read(site, &snapshot, &folder, sorting)?;
    if listing.items.is_empty() && folder != site.base() {
        return Ok(None);
    }
    let title = if folder == site.base() { "All folders".to_owned() } else { unescaped(site.short(&folder)) };
    let content = html! {
        (breadcrumb(site, &folder))
        (table(site, &folder, &listing, sorting))
        @if listing.items.is_empty() { p { "There are no resources." } }
        @if let Some(next) = &listing.next {
            p.more { a href=(sorting.address(site, &folder, Some(next))) { "Next items" } }
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
    /// The place at which the next page begins: the place of its first item in the order of the catalogue, otherwise the
    /// rank of the last item here. `None` if there is no further page.
    next: Option<String>,
}

impl FolderListing {
    fn read(site: &PageContext<'_>, snapshot: &Snapshot, folder: &str, sorting: Sorting) -> Result<Self> {
        let from = site.parameter("from");
        if !sorting.is_plain() {
            return Self::sorted(site, snapshot, folder, sorting, ListingRank::parse(&from, sorting));
        }
        let mut items = site.view.folder(snapshot, folder, &from, MOST + 1)?;
        let next = (items.len() > MOST).then(|| items.pop()).flatten().map(|item| item.place);
        // A complete listing shows folders first. A page of a longer one must keep the order of the catalogue.
        if next.is_none() && from.is_empty() {
            items.sort_by_cached_key(|item| sorting.rank(item));
        }
        Ok(Self { items, next })
    }

    /// Reads all items of the folder and keeps only those of the page, so that memory does not grow with the folder.
    fn sorted(
        site: &PageContext<'_>,
        snapshot: &Snapshot,
        folder: &str,
        sorting: Sorting,
        after: Option<ListingRank>,
    ) -> Result<Self> {
        let mut page: BTreeMap<ListingRank, FolderItem> = BTreeMap::new();
        let mut is_more = false;
        site.view.for_each_in_folder(snapshot, folder, |item| {
            let rank = sorting.rank(&item);
            if after.as_ref().is_none_or(|after| rank > *after) {
                page.entry(rank).or_insert(item);
            }
            if page.len() > MOST {
                page.pop_last();
                is_more = true;
            }
        })?;
        let next = page.last_key_value().filter(|_| is_more).map(|(rank, _)| rank.to_parameter());
        Ok(Self { items: page.into_values().collect(), next })
    }
}

/// Draws the folders above, each as a link.
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
                    @for (by, _, label) in SortKey::ALL {
                        @let is_current = by == sorting.by;
                        @let next = Sorting { by, descending: is_current && !sorting.descending };
                        th scope="col" class=[(by == SortKey::Size).then_some("figure")]
                            aria-sort=[is_current.then_some(if sorting.descending { "descending" } else { "ascending" })] {
                            a href=(next.address(site, folder, None)) { (label) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_was_written_into_an_address_is_read_back_unchanged() {
        let sorting = Sorting { by: SortKey::Size, descending: true };
        for (is_resource, value, name) in [(true, Some(12), "a, b"), (false, None, ""), (true, Some(-1), "1")]
        {
            let rank = ListingRank { is_resource, value, name: name.to_owned(), is_descending: true };
            assert_eq!(ListingRank::parse(&rank.to_parameter(), sorting), Some(rank));
        }
        assert_eq!(ListingRank::parse("nonsense", sorting), None);
    }
}
