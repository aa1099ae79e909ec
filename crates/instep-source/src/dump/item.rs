//! Items of a package: a manifest entry each, with the bytes that belong to it.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
};

use resourcesync::{Change, DateTime, Entry, Link, MediaType, PackagePath, Uri};

use super::{bitstream::Pinned, path::Paths};
use crate::{
    catalogue::{ChangeRecord, Patch, Resource, ResourceState},
    content::{Holdings, MediaTypes, StateSpool},
    render::{change_entry, resource_entry},
};

/// The content of one manifest entry.
#[derive(Debug)]
pub(super) enum ItemContent {
    /// A resource in its present state.
    Resource(Resource),
    /// A resource in its present state, with the change that led to it and its time.
    Changed(Resource, Change, DateTime),
    /// A state after a change, whose bytes are in the spool.
    Kept(ChangeRecord),
    /// A deletion: the manifest names it, and the package has no bytes for it.
    Deleted(ChangeRecord),
}

/// A manifest entry with the path of its bitstream.
#[derive(Debug)]
pub(super) struct PackageItem {
    pub(super) content: ItemContent,
    pub(super) path: Option<PackagePath>,
    /// The patch of the change, with its place.
    pub(super) patch: Option<PackedPatch>,
    pub(super) attempts: u8,
    /// Its bytes, if they were copied.
    pub(super) pinned: Option<Pinned>,
}

/// A patch in a package (CDM-11).
#[derive(Debug)]
pub(super) struct PackedPatch {
    /// Its name below `out`.
    pub(super) name: String,
    pub(super) link: Link,
}

impl PackageItem {
    /// Gives each bitstream its place.
    pub(super) fn place_all(contents: Vec<ItemContent>, base: &str) -> Vec<Self> {
        let mut paths = Paths::new(base);
        let place = |content: ItemContent| {
            let packed = !matches!(content, ItemContent::Deleted(_));
            let path = packed.then(|| paths.next(content.uri()));
            let patch = content.patch().and_then(|(patch, datetime)| {
                let mut link = patch.link(base, datetime)?;
                link.path = Some(paths.next(&link.href));
                Some(PackedPatch { name: patch.name.clone(), link })
            });
            Self { content, path, patch, attempts: 0, pinned: None }
        };
        contents.into_iter().map(place).collect()
    }

    /// Opens its bytes: the copy if there is one, otherwise its file.
    pub(super) fn open(&self, holdings: &Holdings, spool: Option<&StateSpool>) -> io::Result<Box<dyn Read>> {
        match &self.pinned {
            Some(pinned) => Ok(Box::new(pinned.clone())),
            None => Ok(Box::new(self.content.open(holdings, spool)?)),
        }
    }

    pub(super) fn entry(&self) -> Entry {
        let mut entry = match &self.content {
            ItemContent::Resource(resource) => resource_entry(resource.clone()),
            ItemContent::Changed(resource, change, datetime) => {
                let mut entry = resource_entry(resource.clone());
                entry.metadata.change = Some(change.clone());
                entry.metadata.datetime = Some(*datetime);
                entry
            }
            ItemContent::Kept(record) | ItemContent::Deleted(record) => change_entry(record.clone()),
        };
        entry.metadata.path.clone_from(&self.path);
        // Whoever describes a resource may state no type, and each bitstream should have one (RDM-7, CDM-8).
        if self.path.is_some() && entry.metadata.media_type.is_none() {
            let file = self.content.resource().and_then(|resource| resource.file.as_ref());
            let name = match file {
                Some(file) => file.as_os_str().as_encoded_bytes(),
                None => path_of(&entry.loc).as_bytes(),
            };
            let media_type = type_by_name(name, entry.metadata.encoding.is_some());
            entry.metadata.media_type = Some(media_type);
        }
        entry.links.extend(self.patch.iter().map(|patch| patch.link.clone()));
        entry
    }
}

impl ItemContent {
    pub(super) fn uri(&self) -> &Uri {
        match self {
            Self::Resource(resource) | Self::Changed(resource, ..) => &resource.uri,
            Self::Kept(record) | Self::Deleted(record) => &record.uri,
        }
    }

    fn patch(&self) -> Option<(&Patch, DateTime)> {
        match self {
            Self::Kept(record) => record.patch.as_ref().map(|patch| (patch, record.datetime)),
            _ => None,
        }
    }

    pub(super) fn state(&self) -> &ResourceState {
        match self {
            Self::Resource(resource) | Self::Changed(resource, ..) => &resource.state,
            Self::Kept(record) | Self::Deleted(record) => &record.state,
        }
    }

    fn open(&self, holdings: &Holdings, spool: Option<&StateSpool>) -> io::Result<File> {
        let gone = io::ErrorKind::NotFound;
        match self {
            Self::Resource(resource) | Self::Changed(resource, ..) => holdings.open(resource),
            Self::Kept(record) => match spool {
                Some(spool) => spool.find(&record.state.digests)?.ok_or_else(|| gone.into()),
                None => Err(gone.into()),
            },
            Self::Deleted(_) => Err(gone.into()),
        }
    }

    pub(super) fn resource(&self) -> Option<&Resource> {
        match self {
            Self::Resource(resource) | Self::Changed(resource, ..) => Some(resource),
            Self::Kept(_) | Self::Deleted(_) => None,
        }
    }

    pub(super) fn resource_mut(&mut self) -> Option<&mut Resource> {
        match self {
            Self::Resource(resource) | Self::Changed(resource, ..) => Some(resource),
            Self::Kept(_) | Self::Deleted(_) => None,
        }
    }
}

/// Returns the path of a URI, without its host and its query.
fn path_of(uri: &Uri) -> &str {
    let uri = uri.as_str().split(['?', '#']).next().unwrap_or_default();
    match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |slash| &rest[slash..]),
        None => uri,
    }
}

/// Returns the media type for the name of a bitstream, without the ending of its content coding if it has one.
fn type_by_name(name: &[u8], is_coded: bool) -> MediaType {
    const ENDINGS: [&[u8]; 4] = [b".gz", b".br", b".zst", b".z"];
    let inner = ENDINGS.iter().filter(|_| is_coded).find_map(|ending| name.strip_suffix(*ending));
    MediaTypes::default().of(inner.unwrap_or(name))
}

/// Returns the URIs without repetitions, because a package has each URI once.
pub(super) fn without_repetition(uris: &[Uri]) -> Vec<&Uri> {
    let mut seen = BTreeSet::new();
    uris.iter().filter(|uri| seen.insert(*uri)).collect()
}
