//! The last step of a publication: announcing its changes on the channels.

use super::{publisher::Publisher, report::PublishReport};
use crate::Error;

/// Receives each publication once its documents are in place; on the thread that publishes.
pub(crate) trait Announce {
    /// Announces a publication.
    ///
    /// # Errors
    /// If the catalogue cannot be read. The publication remains valid.
    fn announce(&mut self, publisher: &Publisher, report: &PublishReport) -> Result<(), Error>;
}

/// Announces nothing: readers poll the documents.
pub(crate) struct Unannounced;

impl Announce for Unannounced {
    fn announce(&mut self, _publisher: &Publisher, _report: &PublishReport) -> Result<(), Error> {
        Ok(())
    }
}
