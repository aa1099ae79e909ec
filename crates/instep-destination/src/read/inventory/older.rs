//! A second look at an inventory that was refused because it was older than the one that was applied.

use resourcesync::Capability;

use super::{Inventory, plausible_time};
use crate::{Error, discover::CapabilitySet, plan::check_inventory_time, run::SyncRun};

impl Inventory {
    /// Checks that the inventory of a set is not older than the one that was applied (D36), without planning it.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is, or if it cannot be read.
    pub(crate) async fn check_is_not_older(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
    ) -> Result<(), Error> {
        let offer = found.get(&Capability::ResourceList).or_else(|| found.get(&Capability::ResourceDump));
        let Some(offer) = offer else { return Ok(()) };
        let record = run.read_before_by(found, &offer.uri)?;
        let opened = match &offer.document {
            Some(document) => Some(document.clone()),
            None => run.network.open(&offer.uri, found.capability_list.as_ref(), record.as_ref()).await?,
        };
        // It is the one that was applied.
        let Some(document) = opened else { return Ok(()) };
        let applied = run.believed(record.and_then(|record| record.at));
        let at = plausible_time(run, &offer.uri, &document);
        check_inventory_time(offer.uri.as_str(), applied.as_ref(), at.as_ref())
    }
}
