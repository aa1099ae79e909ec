//! The catalogue held against the content; nothing is recorded.

use std::sync::Mutex;

use resourcesync::Uri;

use super::{
    found::FoundResources,
    observe::{complete_look, observe},
    options::{ScanOptions, ScanReport},
};
use crate::{
    Error, PublishMonitor,
    catalogue::{Catalogue, CatalogueError, Observation, Recorded, Resource},
    content::Holdings,
};

/// One resource that differs between catalogue and content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The resource.
    pub uri: Uri,
    /// The kind of difference.
    pub kind: DifferenceKind,
}

/// A difference between catalogue and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// The content has a resource that the catalogue does not: a change was missed.
    Unknown,
    /// The bytes of a resource are not those that the catalogue records.
    Differs,
    /// The catalogue has it, the content no longer does.
    Missing,
}

/// Compares the content with the catalogue; each difference is passed to `differs`. Ordinary changes since the last
/// scan are recorded by the next one.
///
/// # Errors
/// As for [`super::scan`]. Unless every file is hashed, also if the guard would refuse deletions, after all of them were passed on.
pub(crate) fn check(
    holdings: &Holdings,
    catalogue: &Catalogue,
    options: &ScanOptions,
    monitor: &dyn PublishMonitor,
    differs: &mut (dyn FnMut(Difference) + Send),
) -> Result<ScanReport, Error> {
    let _alone = holdings.look_alone();
    let found = FoundResources::default();
    let guard = options.guard.filter(|_| !options.every_file);
    let sets = options.sets;
    let options = ScanOptions { spool: None, guard, found: Some(found.clone()), ..options.clone() };
    let differs = Mutex::new(differs);
    let compare = |batch: Vec<Observation>| {
        let snapshot = catalogue.snapshot()?;
        let keys: Vec<&[u8]> = batch.iter().map(Observation::key).collect();
        let all_held = snapshot.resources_of(&keys)?;
        for (observation, held) in batch.into_iter().zip(all_held) {
            // The next publication forgets what only sets have that are not configured any more.
            let held = held.filter(|held| held.sets & sets != 0);
            if guard.is_some() {
                found.add(&observation, held.as_ref(), &snapshot, holdings)?;
            }
            if let (Some(difference), Ok(mut differs)) = (difference(observation, held), differs.lock()) {
                differs(difference);
            }
        }
        Ok::<_, CatalogueError>(Recorded::default())
    };
    observe(holdings, catalogue, &options, monitor, &compare, |merge| complete_look(merge, holdings))
}

fn difference(observation: Observation, held: Option<Resource>) -> Option<Difference> {
    let different = |uri, kind| Some(Difference { uri, kind });
    match (observation, held) {
        // It stays in all of its sets, at another place of the content.
        (Observation::Moved { stays_in, .. }, Some(held)) if held.sets & !stays_in == 0 => None,
        (Observation::Gone { .. } | Observation::Moved { .. }, Some(held)) => {
            different(held.uri, DifferenceKind::Missing)
        }
        (Observation::Gone { .. } | Observation::Moved { .. }, None) => None,
        (Observation::Rehashed { resource, also }, Some(held)) => match held.state.digests.agrees_with(&also)
        {
            Some(true) => None,
            _ => different(resource.uri, DifferenceKind::Differs),
        },
        (Observation::Found(resource) | Observation::Changed(resource), Some(held)) => {
            if held.state.same_bytes(&resource.state) {
                None
            } else {
                different(resource.uri, DifferenceKind::Differs)
            }
        }
        (
            Observation::Found(resource)
            | Observation::Changed(resource)
            | Observation::Rehashed { resource, .. },
            None,
        ) => different(resource.uri, DifferenceKind::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o951_a_dry_run_shows_no_deletion_of_a_resource_that_only_moves() {
        let uri = Uri::parse("http://example.org/a").unwrap();
        let held = Resource { sets: 3, ..Resource::new(b"a".to_vec(), uri.clone()) };
        let moved = |stays_in| {
            let observation = Observation::Moved { key: held.key.clone(), stays_in };
            difference(observation, Some(held.clone()))
        };
        assert_eq!(moved(3), None);
        assert_eq!(moved(1), Some(Difference { uri, kind: DifferenceKind::Missing }));
    }
}
