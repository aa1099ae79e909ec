//! The page for an unknown address: suggests similar addresses, a search and the nearest folder.

use http::StatusCode;
use instep_source::serve::FolderItem;
use maud::html;

use super::site::{BROWSE, PageContext, unescaped};
use crate::pages::design::PageBody;

/// The pages that show the resource, folder, set or document that a parameter names.
const PAGES: [&str; 4] =
    ["resourcesync/browse", "resourcesync/resource", "resourcesync/set", "resourcesync/document"];
/// The most items of a folder that are compared with the name.
const MOST_COMPARED: usize = 2_000;
/// The most names that are suggested.
const MOST_SUGGESTED: usize = 8;
/// The least similarity (Jaro-Winkler, 1 for equal names) of a name that is suggested.
const SIMILAR: f64 = 0.75;

/// An address that leads to nothing.
pub(super) struct Missing<'s> {
    pub(super) site: &'s PageContext<'s>,
    pub(super) path: &'s str,
}

impl Missing<'_> {
    /// Makes the page.
    pub(super) fn page(&self) -> PageBody {
        let site = self.site;
        // On an existing page, the missing thing is the one that its parameter names.
        let asked = ["uri", "path", "name"].map(|parameter| site.parameter(parameter));
        let asked = asked.iter().find(|asked| !asked.is_empty()).map(|asked| site.short(asked));
        let meant = asked.filter(|_| PAGES.contains(&self.path)).unwrap_or(self.path);
        let (folder, name) = nearest_folder(site, meant);
        let suggested = similar_items(site, &folder, &name);
        let content = html! {
            p.lead { "There is nothing at " code { (unescaped(meant)) } ". It may have been deleted or renamed, or never have been here." }
            @if !suggested.is_empty() {
                section {
                    h2 { "Do you mean one of these?" }
                    ul {
                        @for item in &suggested {
                            li {
                                @if item.resource.is_some() { (site.resource_link(&item.uri, false)) }
                                @else { a href=(site.page("browse", &[("path", site.short(&item.uri))])) { (site.short(&item.uri)) } }
                            }
                        }
                    }
                }
            }
            section {
                h2 { "Look for it" }
                ul {
                    @if !name.is_empty() { li { a href=(site.page("search", &[("q", &name)])) { "Search for " q { (name) } } } }
                    li { a href=(site.page("browse", &[("path", site.short(&folder))])) {
                        "Browse " @if folder == site.base() { "all folders" } @else { (unescaped(site.short(&folder))) }
                    } }
                }
            }
        };
        PageBody { status: StatusCode::NOT_FOUND, ..PageBody::new("Not found", BROWSE, content) }
    }
}

/// Returns the nearest folder above a path that is not empty, and the name below it that leads to nothing.
fn nearest_folder(site: &PageContext<'_>, path: &str) -> (String, String) {
    let mut above = path.trim_end_matches('/');
    loop {
        let (folder, name) = match above.rsplit_once('/') {
            Some((folder, name)) => (format!("{}{folder}/", site.base()), name),
            None => (site.base().to_owned(), above),
        };
        if folder == site.base() || !items(site, &folder, 1).is_empty() {
            return (folder, unescaped(name));
        }
        above = above.rsplit_once('/').map_or("", |(folder, _)| folder);
    }
}

/// Returns the items whose names are most similar to one.
fn similar_items(site: &PageContext<'_>, folder: &str, name: &str) -> Vec<FolderItem> {
    let name = name.to_lowercase();
    let similarity = |item: FolderItem| {
        let other = item.name.to_lowercase();
        (strsim::jaro_winkler(&name, &other), item)
    };
    let mut items: Vec<_> = items(site, folder, MOST_COMPARED).into_iter().map(similarity).collect();
    items.retain(|(similarity, _)| *similarity >= SIMILAR);
    items.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    items.into_iter().take(MOST_SUGGESTED).map(|(_, item)| item).collect()
}

fn items(site: &PageContext<'_>, folder: &str, most: usize) -> Vec<FolderItem> {
    let items = site.view.snapshot().and_then(|snapshot| site.view.folder(&snapshot, folder, "", most));
    items.unwrap_or_default()
}
