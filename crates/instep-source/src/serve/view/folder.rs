//! The folders of a Source, as its URIs have them.

use std::{collections::BTreeMap, ops::ControlFlow};

use percent_encoding::percent_decode;

use super::SourceView;
use crate::{
    Error,
    catalogue::{KeyChild, Resource, ResourceTotals, Snapshot},
};

/// Resources that are counted for one item of a folder.
const MOST_COUNTED: u64 = 20_000;
/// Resources that are counted for all items of a folder together, so that no page costs more than a moment.
const MOST_COUNTED_IN_ALL: u64 = 200_000;

/// An item of a folder.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FolderItem {
    /// Its name, without escapes.
    pub name: String,
    /// Its URI; that of a folder ends in a slash.
    pub uri: String,
    /// The resource; `None` if this is a folder.
    pub resource: Option<Resource>,
    /// The size of a folder with everything below; counting stops at 20,000 resources. `None` for a resource, and if
    /// there is too much to count.
    pub below: Option<ResourceTotals>,
}

impl SourceView {
    /// Returns the items of a folder, given by its URI with a final slash, from the first whose name is not less than
    /// `from`, in the order of their names; `most` of them.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn folder(
        &self,
        snapshot: &Snapshot,
        uri: &str,
        from: &str,
        most: usize,
    ) -> Result<Vec<FolderItem>, Error> {
        let mut items = BTreeMap::new();
        // Each part of the content has at most this many of them.
        let mut seen = 0;
        self.visit_folder(snapshot, uri, from, &mut |item, is_first_of_part| {
            seen = if is_first_of_part { 1 } else { seen + 1 };
            items.entry(item.uri.clone()).or_insert(item);
            if seen < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let mut items: Vec<_> = items.into_values().filter(|item| item.name.as_str() >= from).collect();
        items.sort_by(|one, other| one.name.cmp(&other.name));
        items.truncate(most);
        Ok(items)
    }

    /// Calls the function with each item of a folder, given by its URI with a final slash. Memory does not grow with their
    /// number.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn for_each_in_folder(
        &self,
        snapshot: &Snapshot,
        uri: &str,
        mut visit: impl FnMut(FolderItem),
    ) -> Result<(), Error> {
        self.visit_folder(snapshot, uri, "", &mut |item, _| {
            visit(item);
            ControlFlow::Continue(())
        })
    }

    /// Visits the items of a folder in each part of the content: a folder, a manifest, folders that are served below.
    /// `true` tells the function that an item is the first of its part; it can stop the visit of that part.
    fn visit_folder(
        &self,
        snapshot: &Snapshot,
        uri: &str,
        from: &str,
        visit: &mut dyn FnMut(FolderItem, bool) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut left = MOST_COUNTED_IN_ALL;
        for (prefix, is_uri) in self.holdings.prefixes_of(uri) {
            let first = if is_uri { escape(from).into_bytes() } else { from.as_bytes().to_vec() };
            let mut is_first = true;
            snapshot.for_each_child(&prefix, &first, &mut |child| {
                let item = match child {
                    KeyChild::Resource(resource) => self.item(uri, *resource),
                    KeyChild::Folder(name) => {
                        let below = [&prefix, &name[..], b"/"].concat();
                        let below = match left {
                            0 => None,
                            _ => Some(snapshot.totals_below(&below, MOST_COUNTED)?),
                        };
                        left = left.saturating_sub(below.map_or(0, |totals| totals.resources));
                        folder_item(uri, &name, is_uri, below)
                    }
                };
                Ok(visit(item, std::mem::replace(&mut is_first, false)))
            })?;
        }
        for name in self.holdings.folders_served_below(uri) {
            let _ = visit(folder_item(uri, name.as_bytes(), true, None), true);
        }
        Ok(())
    }

    fn item(&self, folder: &str, mut resource: Resource) -> FolderItem {
        self.holdings.describe_coding(&mut resource);
        let uri = resource.uri.as_str().to_owned();
        let name = unescape(uri.strip_prefix(folder).unwrap_or(&uri).as_bytes());
        FolderItem { name, uri, resource: Some(resource), below: None }
    }
}

fn folder_item(folder: &str, name: &[u8], is_uri: bool, below: Option<ResourceTotals>) -> FolderItem {
    let (name, in_uri) = if is_uri {
        (unescape(name), String::from_utf8_lossy(name).into_owned())
    } else {
        (String::from_utf8_lossy(name).into_owned(), crate::content::escape_path(name))
    };
    FolderItem { name, uri: format!("{folder}{in_uri}/"), resource: None, below }
}

fn escape(name: &str) -> String {
    crate::content::escape_path(name.as_bytes())
}

fn unescape(name: &[u8]) -> String {
    percent_decode(name).decode_utf8_lossy().into_owned()
}
