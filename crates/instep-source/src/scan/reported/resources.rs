//! The resources of a report, by the place where their states are read.

use resourcesync::Uri;

use crate::{
    catalogue::{Catalogue, CatalogueError, Observation, Resource, ResourceState},
    content::{Holdings, Root},
};

/// A path below a folder of the Source that an application reports.
pub(super) struct PathReport<'a> {
    pub(super) root: &'a Root,
    pub(super) path: Vec<u8>,
    /// `true` if the report may mean a deletion. It names the resource then, so that the deletion is not guarded.
    pub(super) may_be_deletion: bool,
}

/// The resources of a report.
#[derive(Default)]
pub(super) struct ReportedResources<'a> {
    /// Those below folders of the Source.
    pub(super) paths: Vec<PathReport<'a>>,
    /// Those of which a manifest names the file.
    pub(super) listed: Vec<Resource>,
    /// All others: the report itself describes them.
    pub(super) observed: Vec<Observation>,
}

impl ReportedResources<'_> {
    /// Takes a resource that is below no folder; without a state it is gone. A resource that a manifest names keeps its
    /// key, its sets and its file; several manifests may name it, each for its own sets.
    pub(super) fn take_named(
        &mut self,
        holdings: &Holdings,
        catalogue: &Catalogue,
        uri: Uri,
        state: Option<ResourceState>,
        sets: u64,
    ) -> Result<(), CatalogueError> {
        let mut resources = Vec::new();
        for manifest in holdings.manifests() {
            resources.extend(catalogue.resource(&manifest.key(uri.as_str()))?);
        }
        if resources.is_empty() {
            let named = Resource::new(holdings.key_of(uri.as_str()), uri);
            resources.push(Resource { sets, ..named });
        }
        // As in a scan (O888), it is deleted once in each of its sets.
        while let Some(resource) = resources.pop() {
            let others = resources.iter().fold(0, |sets, other| sets | other.sets);
            self.take(resource, state.clone(), others);
        }
        Ok(())
    }

    /// Takes the resource of one place; `others` are the sets of those that are still to be taken.
    fn take(&mut self, mut resource: Resource, state: Option<ResourceState>, others: u64) {
        match state {
            None => self.observed.push(match resource.sets & others {
                0 => Observation::Gone { key: resource.key },
                stays_in => Observation::Moved { key: resource.key, stays_in },
            }),
            Some(state) if resource.file.is_some() => {
                resource.state = described(state, resource.state);
                self.listed.push(resource);
            }
            Some(state) => {
                let named = Resource::new(resource.key, resource.uri);
                let sets = resource.sets;
                self.observed.push(Observation::Changed(Resource { state, sets, ..named }));
            }
        }
    }
}

/// Returns the description of a file that a manifest names: the reported one, completed by that of the manifest. The file
/// itself describes its bytes.
fn described(reported: ResourceState, listed: ResourceState) -> ResourceState {
    let mut state = reported;
    state.media_type = state.media_type.or(listed.media_type);
    state.encoding = state.encoding.or(listed.encoding);
    state.changefreq = state.changefreq.or(listed.changefreq);
    if state.links.is_empty() {
        state.links = listed.links;
    }
    state
}
