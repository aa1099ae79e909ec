//! A look at the time of an inventory without planning it: if it is older than the one that was applied, which was refused,
//! or later than a time.

use resourcesync::{Capability, DateTime, Uri};

use super::{Inventory, plausible_time};
use crate::{Error, discover::CapabilitySet, plan::check_inventory_time, run::SyncRun};

/// The times of an inventory that is not the one that was applied.
struct InventoryTimes {
    uri: Uri,
    /// The time of the one that was applied.
    applied: Option<DateTime>,
    at: Option<DateTime>,
}

impl Inventory {
    /// Checks that the inventory of a set is not older than the one that was applied (D36), without planning it.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is, or if it cannot be read.
    pub(crate) async fn check_is_not_older(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
    ) -> Result<(), Error> {
        let Some(InventoryTimes { uri, applied, at }) = times(run, found).await? else { return Ok(()) };
        check_inventory_time(uri.as_str(), applied.as_ref(), at.as_ref())
    }

    /// Returns `true` if the inventory of a set is later than a time. One that cannot be read is not.
    pub(crate) async fn is_later_than(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        time: DateTime,
    ) -> Result<bool, Error> {
        match times(run, found).await {
            Ok(times) => Ok(times.and_then(|times| times.at).is_some_and(|at| time.end() <= at.instant())),
            Err(error) if error.loses_document() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns the times of the inventory of a set; `None` if it is the one that was applied, or if there is none.
async fn times(run: &mut SyncRun<'_>, found: &CapabilitySet) -> Result<Option<InventoryTimes>, Error> {
    let offer = found.get(&Capability::ResourceList).or_else(|| found.get(&Capability::ResourceDump));
    let Some(offer) = offer else { return Ok(None) };
    let record = run.read_before_by(found, &offer.uri)?;
    let opened = match &offer.document {
        Some(document) => Some(document.clone()),
        None => run.network.open(&offer.uri, found.capability_list.as_ref(), record.as_ref()).await?,
    };
    let Some(document) = opened else { return Ok(None) };
    let applied = run.believed(record.and_then(|record| record.at));
    let at = plausible_time(run, &offer.uri, &document);
    Ok(Some(InventoryTimes { uri: offer.uri.clone(), applied, at }))
}
