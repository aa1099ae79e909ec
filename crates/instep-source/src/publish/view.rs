//! The sets of the catalogue as documents show them.

use super::version_place::VersionPlace;
use crate::{
    Error,
    catalogue::{ChangeRecord, Resource, ResourceTotals, Snapshot},
    content::Holdings,
    render::SetView,
};

/// One set in a snapshot of the catalogue.
#[derive(Debug)]
pub(super) struct CatalogueView<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) holdings: &'a Holdings,
    /// The base URL.
    pub(super) base: &'a str,
    /// The URIs of versions; `None` if none are kept.
    pub(super) versions: Option<VersionPlace>,
    /// The number of the set.
    pub(super) set: u8,
}

impl CatalogueView<'_> {
    fn mask(&self) -> u64 {
        1 << self.set
    }
}

impl SetView for CatalogueView<'_> {
    fn totals(&self) -> Result<ResourceTotals, Error> {
        Ok(self.snapshot.totals(self.set)?)
    }

    fn resources(&self) -> Box<dyn Iterator<Item = Result<Resource, Error>> + '_> {
        Box::new(self.snapshot.resources(self.mask()).map(|resource| {
            let mut resource = resource?;
            self.holdings.describe(self.set, self.snapshot, &mut resource)?;
            if let Some(versions) = &self.versions {
                let since = self.snapshot.version_since(&resource.uri)?;
                let links = versions.links(&resource.uri, &resource.state, since);
                resource.state.links.extend(links);
            }
            Ok(resource)
        }))
    }

    fn changes(&self, after: u64) -> Box<dyn Iterator<Item = Result<ChangeRecord, Error>> + '_> {
        Box::new(self.snapshot.changes(self.mask(), after).map(|change| {
            let mut change = change?;
            self.holdings.describe_change(self.set, self.snapshot, &mut change)?;
            let patch = change.patch.as_ref().and_then(|patch| patch.link(self.base, change.datetime));
            change.state.links.extend(patch);
            if let Some(versions) = &self.versions {
                let links = versions.links(&change.uri, &change.state, Some(change.datetime));
                change.state.links.extend(links);
            }
            Ok(change)
        }))
    }

    fn count_changes(&self, after: u64) -> Result<u64, Error> {
        Ok(self.snapshot.count_changes(self.mask(), after)?)
    }
}
