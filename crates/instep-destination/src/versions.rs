//! Versions beside the copy (`--all-versions`): former states of held resources, states packed by Change Dumps, and
//! the targets of `memento`, `timemap` and `timegate` links (§14.6). A version is held under its resource's URI with
//! the time as fragment, which no resource has, in a separate set; its file lies in `.instep/versions/`.

use resourcesync::{Entry, Link, Relation, Uri};

use crate::{
    plan::{Desired, ResourceMetadata, Retrieval, VersionKey},
    state::{ReadState, StateError},
};

/// The name of the set of all versions.
pub(crate) const SET: &str = "urn:instep:versions";

/// Returns `true` if a version is held, beside the copy or as the resource itself.
pub(crate) fn is_held(state: &dyn ReadState, version: &VersionKey) -> Result<bool, StateError> {
    if state.held(version.as_uri().as_str())?.is_some() {
        return Ok(true);
    }
    let resource = state.held(version.resource())?;
    Ok(resource.is_some_and(|held| VersionKey::of(&held.uri, &held.metadata).as_ref() == Some(version)))
}

/// Returns the targets of an entry's links: a version, or a place that lists versions.
pub(crate) fn linked(entry: &Entry) -> impl Iterator<Item = Desired> {
    entry.links.iter().filter_map(|link| {
        let href = Some(link.href.as_str().to_owned());
        let retrieval = match link.rel {
            Relation::Memento => return memento(entry, link),
            Relation::TimeMap => Retrieval { timemap: href, ..Retrieval::default() },
            Relation::TimeGate => Retrieval { timegate: href, ..Retrieval::default() },
            _ => return None,
        };
        let mut desired = Desired::new(entry.loc.clone());
        desired.set_retrieval(retrieval);
        Some(desired)
    })
}

fn memento(entry: &Entry, link: &Link) -> Option<Desired> {
    let mut metadata = ResourceMetadata::new();
    metadata.lastmod = link.modified.or(entry.lastmod);
    (metadata.length, metadata.digests) = (link.length, link.hash.clone());
    metadata.media_type.clone_from(&link.media_type);
    version_at(&entry.loc, &link.href, metadata)
}

/// Returns a version that has its own URI. `None` if it cannot be distinguished from other versions.
pub(crate) fn version_at(resource: &Uri, href: &Uri, metadata: ResourceMetadata) -> Option<Desired> {
    let mut desired = Desired::new(VersionKey::of(resource, &metadata)?.into_uri());
    desired.set_retrieval(Retrieval { lies_at: Some(href.as_str().to_owned()), ..Retrieval::default() });
    desired.metadata = metadata;
    Some(desired)
}

/// Returns how many resources are held, their versions not counted.
pub(crate) fn resources_held(state: &dyn ReadState) -> Result<u64, StateError> {
    let versions = state.known_set(SET)?.map_or(Ok(0), |set| state.held_in(&[set]))?;
    Ok(state.held_count()? - versions)
}
