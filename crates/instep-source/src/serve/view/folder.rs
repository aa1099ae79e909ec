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
    /// Its place in the order of the folder, from which a further page can begin.
    pub place: String,
    /// The resource; `None` if this is a folder.
    pub resource: Option<Resource>,
    /// The size of a folder with everything below; counting stops at 20,000 resources. `None` for a resource, and if
    /// there is too much to count.
    pub below: Option<ResourceTotals>,
}

impl SourceView {
    /// Returns the items of a folder, given by its URI with a final slash, from the first whose place is not before
    /// `from`, in the order of their places; `most` of them.
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
        let order = FolderOrder { is_uri: self.holdings.prefixes_of(uri).iter().all(|(_, is_uri)| *is_uri) };
        let first = order.rank(from);
        let mut items = BTreeMap::new();
        // The number of items of the present part of the content, of which each part gives at most `most`.
        let mut seen = 0;
        self.visit_folder(snapshot, uri, order, &first, &mut |item, part| {
            seen = if part.is_first { 1 } else { seen + 1 };
            let rank = order.rank(&item.place);
            if rank >= first {
                items.entry(rank).or_insert(item);
            }
            if items.len() > most {
                items.pop_last();
            }
            let is_enough = part.is_ordered && seen >= most;
            if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(items.into_values().collect())
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
        self.visit_folder(snapshot, uri, FolderOrder { is_uri: false }, b"", &mut |item, _| {
            visit(item);
            ControlFlow::Continue(())
        })
    }

    /// Visits the items of a folder in each part of the content: a folder, a manifest, folders that are served below.
    /// A part that is not ordered is visited from its beginning. The function can stop the visit of a part.
    fn visit_folder(
        &self,
        snapshot: &Snapshot,
        uri: &str,
        order: FolderOrder,
        first: &[u8],
        visit: &mut dyn FnMut(FolderItem, FolderPart) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut left = MOST_COUNTED_IN_ALL;
        for (prefix, is_uri) in self.holdings.prefixes_of(uri) {
            let is_ordered = is_uri == order.is_uri;
            let mut part = FolderPart { is_first: true, is_ordered };
            snapshot.for_each_child(&prefix, if is_ordered { first } else { b"" }, &mut |child| {
                let item = match child {
                    KeyChild::Resource(resource) => self.item(uri, &prefix, is_uri, *resource),
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
                let goes_on = visit(item, part);
                part.is_first = false;
                Ok(goes_on)
            })?;
        }
        for name in self.holdings.folders_served_below(uri) {
            let part = FolderPart { is_first: true, is_ordered: false };
            let _ = visit(folder_item(uri, name.as_bytes(), true, None), part);
        }
        Ok(())
    }

    fn item(&self, folder: &str, prefix: &[u8], is_uri: bool, mut resource: Resource) -> FolderItem {
        self.holdings.describe_coding(&mut resource);
        let uri = resource.uri.as_str().to_owned();
        let name = unescape(uri.strip_prefix(folder).unwrap_or(&uri).as_bytes());
        let place = place_of(resource.key.strip_prefix(prefix).unwrap_or(&resource.key), is_uri);
        FolderItem { name, uri, place, resource: Some(resource), below: None }
    }
}

/// The order of the items of a folder: that of their keys in the catalogue, in which a page can begin anywhere. Names have
/// another order: the key of the folder `a` is that of `a/`, which comes after `a-b`.
#[derive(Clone, Copy)]
struct FolderOrder {
    /// `true` if the keys are written as in URIs, `false` if they are paths. If a folder has keys of both kinds, those
    /// of paths decide, because there are usually more of them.
    is_uri: bool,
}

impl FolderOrder {
    fn rank(self, place: &str) -> Vec<u8> {
        if self.is_uri { place.as_bytes().to_vec() } else { percent_decode(place.as_bytes()).collect() }
    }
}

/// The part of the content that an item of a folder comes from.
#[derive(Clone, Copy)]
struct FolderPart {
    /// `true` if the item is the first one of it.
    is_first: bool,
    /// `true` if its items come in the order of their places, from the first that was asked for.
    is_ordered: bool,
}

fn folder_item(folder: &str, name: &[u8], is_uri: bool, below: Option<ResourceTotals>) -> FolderItem {
    let shown = if is_uri { unescape(name) } else { String::from_utf8_lossy(name).into_owned() };
    let place = format!("{}/", place_of(name, is_uri));
    FolderItem { name: shown, uri: format!("{folder}{place}"), place, resource: None, below }
}

/// Returns the rest of a key as written in URIs.
fn place_of(rest: &[u8], is_uri: bool) -> String {
    if is_uri { String::from_utf8_lossy(rest).into_owned() } else { crate::content::escape_path(rest) }
}

fn unescape(name: &[u8]) -> String {
    percent_decode(name).decode_utf8_lossy().into_owned()
}
