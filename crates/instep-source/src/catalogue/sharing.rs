//! The right to write a catalogue that several machines use, and the rows that their servers share.

#[cfg(feature = "postgres")]
use super::shared::{ReadShared, SharedRows};
use super::{Catalogue, CatalogueError};

impl Catalogue {
    /// Makes sure that this process still is the one that writes the Source: before what no transaction holds back.
    ///
    /// # Errors
    /// If another one has the right now, or the server fails.
    pub(crate) fn confirm(&self) -> Result<(), CatalogueError> {
        self.writer.alone(|engine| engine.confirm())
    }

    /// Returns the rows that the servers of this Source share; `None` if one server has it.
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
}
