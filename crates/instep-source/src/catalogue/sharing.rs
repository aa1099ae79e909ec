//! The right to write a catalogue that several machines use, and the rows that their servers share.

use super::{Catalogue, CatalogueError};
#[cfg(feature = "postgres")]
use super::{
    shared::{ReadShared, SharedRows},
    subscribers::ReadSubscribers,
};

impl Catalogue {
    /// Checks that this process still has the right to write the Source. Called before work outside of the database,
    /// which no transaction could undo.
    ///
    /// # Errors
    /// If another process has the right now, or the server fails.
    pub(crate) fn confirm(&self) -> Result<(), CatalogueError> {
        self.writer.alone(|engine| engine.confirm())
    }

    /// Ends all waiting for the server of the catalogue, because the process is to end: what waits then fails.
    #[cfg(feature = "serve")]
    pub(crate) fn end_waits(&self) {
        #[cfg(feature = "postgres")]
        self.engine.end_waits();
    }

    /// Returns the name of the Source in its database; `None` if it has a file of its own.
    #[cfg(feature = "postgres")]
    pub(super) fn name(&self) -> Result<Option<String>, CatalogueError> {
        self.engine.name()
    }

    /// Returns the rows that the servers of this Source share; `None` if the catalogue is a file.
    #[cfg(feature = "postgres")]
    pub(crate) fn shared(&self) -> Option<&dyn ReadShared> {
        self.engine.shared()
    }

    /// Writes rows for the other servers, in one transaction that is durable when this returns.
    ///
    /// # Errors
    /// If the server fails, or another process has the right to write; then none of them is written.
    #[cfg(feature = "postgres")]
    pub(crate) fn share(&self, rows: SharedRows) -> Result<(), CatalogueError> {
        self.writer.run(move |ledger| ledger.share(&rows))
    }

    /// Begins to write rows as [`Catalogue::share`] does, after all work that was queued before. A failure is not
    /// reported.
    ///
    /// # Errors
    /// If the catalogue is closed.
    #[cfg(feature = "postgres")]
    pub(crate) fn begin_to_share(&self, rows: SharedRows) -> Result<(), CatalogueError> {
        self.writer.begin(move |ledger| ledger.share(&rows)).map(drop)
    }

    /// Returns the rows of the hub; `None` if the catalogue is a file.
    #[cfg(feature = "postgres")]
    pub(crate) fn subscribers(&self) -> Option<&dyn ReadSubscribers> {
        self.engine.subscribers()
    }
}
