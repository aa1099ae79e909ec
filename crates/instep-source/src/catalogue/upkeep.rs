//! Keeping the catalogue small: lines that nothing needs any more, free space, the log of the database.

use super::{Catalogue, CatalogueError, Recorded};

/// With fewer recorded changes, the log of the database is small.
const MUCH: u64 = 2_000;

impl Catalogue {
    /// Drops the lines of the change log up to a sequence number: no published document needs them any more.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn forget_changes(&self, through: u64) -> Result<(), CatalogueError> {
        while self.writer.run(move |ledger| ledger.forget(through))? {}
        Ok(())
    }

    /// Begins to empty the log of the database after a scan that recorded much. This takes a noticeable time, in which the
    /// documents can be rendered; otherwise it would be done when the catalogue is closed.
    ///
    /// # Errors
    /// If the catalogue is closed.
    pub(crate) fn empty_log_after(&self, scan: &Recorded) -> Result<(), CatalogueError> {
        let recorded = scan.created + scan.updated + scan.deleted + scan.described + scan.refreshed;
        if recorded < MUCH {
            return Ok(());
        }
        self.writer.later(|engine| engine.empty_log())
    }

    /// Gives the space of removed rows back to the file system. Returns the bytes before and after. Recording waits
    /// until this is done.
    ///
    /// # Errors
    /// If the disk has no room for a copy of the file, or the engine is a server, which does this itself.
    pub(crate) fn compact(&self) -> Result<(u64, u64), CatalogueError> {
        self.writer.alone(|engine| engine.compact())
    }
}
