//! Packages as Resource Dumps, Change Dumps and their archives list them.

use resourcesync::{Digests, Entry, Link, MediaType, Metadata, Relation};

use super::SetPolicy;
use crate::records::{PublishedChangePackage, PublishedPackage, PublishedResourceDump};

/// Returns the names, below `out`, of the packages of a Resource Dump and of the copies of their manifests.
pub(super) fn resource_files(set: &SetPolicy, published: &PublishedResourceDump) -> Vec<String> {
    let names = published.packages.iter().flat_map(|package| [&package.package, &package.manifest]);
    names.map(|name| set.place.name(name)).collect()
}

/// Returns the entry of a package in a Resource Dump (RD-7 to RD-9).
pub(super) fn resource_entry(
    set: &SetPolicy,
    published: &PublishedResourceDump,
    package: &PublishedPackage,
) -> Entry {
    let mut entry = Entry::new(set.place.uri(&package.package));
    entry.metadata = metadata(package);
    entry.metadata.at = Some(published.at.0);
    entry.metadata.completed = Some(published.completed.0);
    entry.links.push(contents(set, package));
    entry
}

/// Returns the names, below `out`, of a package of changes and of the copy of its manifest.
pub(super) fn change_files(set: &SetPolicy, package: &PublishedChangePackage) -> Vec<String> {
    [&package.package.package, &package.package.manifest].map(|name| set.place.name(name)).to_vec()
}

/// Returns the entry of a package in a Change Dump (CD-7 to CD-10).
pub(super) fn change_entry(set: &SetPolicy, package: &PublishedChangePackage) -> Entry {
    let mut entry = Entry::new(set.place.uri(&package.package.package));
    entry.metadata = metadata(&package.package);
    entry.metadata.from = Some(package.from.0);
    entry.metadata.until = Some(package.until.0);
    entry.links.push(contents(set, &package.package));
    entry
}

/// Describes the file of a package (RD-7, RD-8).
fn metadata(package: &PublishedPackage) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.hash = Digests::parse(&package.hash, |_| ());
    metadata.length = Some(package.length);
    metadata.media_type = Some(MediaType::new("application/zip"));
    metadata
}

/// Links to the copy of a package's manifest (RD-9).
fn contents(set: &SetPolicy, package: &PublishedPackage) -> Link {
    let mut link = Link::new(Relation::Contents, set.place.uri(&package.manifest));
    link.media_type = Some(MediaType::new("application/xml"));
    link
}
