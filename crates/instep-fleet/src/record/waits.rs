//! The waits of a process for the server of its record, which end with the process.

#[cfg(feature = "postgres")]
use instep_postgres::Address;

use super::FleetRecord;

/// The waits of a record for its server. They can also be ended while another thread uses the record, and waits.
#[derive(Debug)]
pub(crate) struct RecordWaits {
    /// The server; `None` if the record is a file.
    #[cfg(feature = "postgres")]
    server: Option<Address>,
}

impl RecordWaits {
    /// Ends the present waits and later ones after a moment, because the process is to end.
    pub(crate) fn end(&self) {
        #[cfg(feature = "postgres")]
        self.server.iter().for_each(Address::end_waits);
    }
}

impl FleetRecord {
    /// Returns its waits.
    pub(crate) fn waits(&self) -> RecordWaits {
        RecordWaits {
            #[cfg(feature = "postgres")]
            server: self.engine.server().cloned(),
        }
    }
}
