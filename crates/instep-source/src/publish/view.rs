use crate::{
    Error,
    catalogue::{ChangeRecord, Resource, Snapshot, Totals},
    render::SetView,
};

/// One set in a snapshot of the catalogue.
#[derive(Debug)]
pub(super) struct CatalogueView<'a> {
    pub(super) snapshot: &'a Snapshot,
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
        Box::new(self.snapshot.resources(self.mask()).map(|resource| Ok(resource?)))
    }

    fn changes(&self, after: u64) -> Box<dyn Iterator<Item = Result<ChangeRecord, Error>> + '_> {
        Box::new(self.snapshot.changes(self.mask(), after).map(|change| Ok(change?)))
    }

    fn count_changes(&self, after: u64) -> Result<u64, Error> {
        Ok(self.snapshot.count_changes(self.mask(), after)?)
    }
}
