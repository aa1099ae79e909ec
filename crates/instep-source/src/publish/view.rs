use crate::{
    Error,
    catalogue::{ChangeRecord, Resource, Snapshot, Totals},
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
    /// The number of the set.
    pub(super) set: u8,
}

impl CatalogueView<'_> {
    fn mask(&self) -> u64 {
        1 << self.set
    }
}

impl SetView for CatalogueView<'_> {
    fn totals(&self) -> Result<Totals, Error> {
        Ok(self.snapshot.totals(self.set)?)
    }

    fn resources(&self) -> Box<dyn Iterator<Item = Result<Resource, Error>> + '_> {
        Box::new(self.snapshot.resources(self.mask()).map(|resource| {
            let mut resource = resource?;
            self.holdings.describe(self.set, self.snapshot, &mut resource)?;
            Ok(resource)
        }))
    }

    fn changes(&self, after: u64) -> Box<dyn Iterator<Item = Result<ChangeRecord, Error>> + '_> {
        Box::new(self.snapshot.changes(self.mask(), after).map(|change| {
            let mut change = change?;
            self.holdings.describe_change(self.set, self.snapshot, &mut change)?;
            let patch = change.patch.as_ref().and_then(|patch| patch.link(self.base, change.datetime));
            change.state.links.extend(patch);
            Ok(change)
        }))
    }

    fn count_changes(&self, after: u64) -> Result<u64, Error> {
        Ok(self.snapshot.count_changes(self.mask(), after)?)
    }
}
