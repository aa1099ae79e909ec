//! Versions beside the copy: former states of held resources, states packed by Change Dumps, and the targets of
//! `memento`, `timemap` and `timegate` links (§14.6). A version is held under its resource's URI with the time as
//! fragment, which no resource has, in a separate set; its file lies in `.instep/versions/`.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use resourcesync::{Digests, Entry, Link, Relation, Uri};

use crate::{
    plan::{Desired, ResourceMetadata, Retrieval, VersionKey},
    state::{ReadState, StateError},
};

/// The name of the set of all versions.
pub(crate) const SET: &str = "urn:instep:versions";

/// The number of names that are remembered until the state has them. States of one second follow each other closely, so
/// this number is enough to distinguish them.
const RECENT: usize = 4_096;

/// Names for the versions that a run keeps. States of one second that have different digests get different names.
#[derive(Clone, Debug, Default)]
pub(crate) struct VersionNames(Arc<Mutex<RecentNames>>);

#[derive(Debug, Default)]
struct RecentNames {
    digests: BTreeMap<Uri, Digests>,
    order: VecDeque<Uri>,
}

impl VersionNames {
    /// Returns the name under which to keep a state; `None` if it is kept already, or if nothing distinguishes it from
    /// others.
    pub(crate) fn name(
        &self,
        state: &dyn ReadState,
        resource: &Uri,
        metadata: &ResourceMetadata,
    ) -> Result<Option<VersionKey>, StateError> {
        let Some(key) = VersionKey::of(resource, metadata) else { return Ok(None) };
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for name in [Some(key.clone()), key.with_digest(&metadata.digests)].into_iter().flatten() {
            let known = match recent.digests.get(name.as_uri()) {
                Some(digests) => Some(digests.clone()),
                None => state.held(name.as_uri().as_str())?.map(|held| held.metadata.digests),
            };
            match known {
                Some(digests) if digests.agrees_with(&metadata.digests) == Some(false) => {}
                Some(_) => return Ok(None),
                None => {
                    recent.add(name.as_uri(), &metadata.digests);
                    return Ok(Some(name));
                }
            }
        }
        Ok(None)
    }

    /// Returns the name under which to keep a state; also `None` if it is the state that is held as the resource
    /// itself.
    pub(crate) fn name_beside_resource(
        &self,
        state: &dyn ReadState,
        resource: &Uri,
        metadata: &ResourceMetadata,
    ) -> Result<Option<VersionKey>, StateError> {
        let Some(key) = VersionKey::of(resource, metadata) else { return Ok(None) };
        let is_held = state.held(key.resource())?.is_some_and(|held| {
            VersionKey::of(&held.uri, &held.metadata).as_ref() == Some(&key)
                && held.metadata.digests.agrees_with(&metadata.digests) != Some(false)
        });
        if is_held { Ok(None) } else { self.name(state, resource, metadata) }
    }

    /// Frees a name again whose state could not be kept: another package, or a link, may still have its bytes.
    pub(crate) fn give_back(&self, name: &Uri) {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.digests.remove(name);
        if let Some(place) = recent.order.iter().rposition(|other| other == name) {
            recent.order.remove(place);
        }
    }
}

impl RecentNames {
    fn add(&mut self, name: &Uri, digests: &Digests) {
        if self.order.len() == RECENT
            && let Some(oldest) = self.order.pop_front()
        {
            self.digests.remove(&oldest);
        }
        self.order.push_back(name.clone());
        self.digests.insert(name.clone(), digests.clone());
    }
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

/// Returns the number of resources that are held, without their versions.
pub(crate) fn resources_held(state: &dyn ReadState) -> Result<u64, StateError> {
    let versions = state.known_set(SET)?.map_or(Ok(0), |set| state.held_in(&[set]))?;
    // The two are read one after the other, and a run beside may remove versions in between.
    Ok(state.held_count()?.saturating_sub(versions))
}

#[cfg(test)]
mod tests {
    use resourcesync::DateTime;

    use super::*;
    use crate::state::StatePlace;

    #[test]
    fn o583_the_name_of_a_state_that_could_not_be_kept_is_free_again() {
        let folder = tempfile::tempdir().unwrap();
        let state = StatePlace::open_file(&folder.path().join("state.sqlite")).unwrap();
        let reader = state.reader().unwrap();
        let resource = Uri::parse("http://example.com/a").unwrap();
        let mut metadata = ResourceMetadata::new();
        metadata.lastmod = Some(DateTime::parse("2026-01-02T03:04:05Z").unwrap());
        let names = VersionNames::default();
        let name = || names.name(&*reader, &resource, &metadata).unwrap().map(VersionKey::into_uri);
        let first = name().unwrap();
        assert_eq!(name(), None);
        names.give_back(&first);
        assert_eq!(name(), Some(first));
    }
}
