//! A connection to the record for one purpose: the lease, the seats.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;

use crate::{FleetError, record::FleetRecord};

/// A separate connection to the record, so that no other work delays it.
pub(super) struct LeaseRecord(Arc<Mutex<FleetRecord>>);

impl LeaseRecord {
    pub(super) fn new(record: FleetRecord) -> Self {
        Self(Arc::new(Mutex::new(record)))
    }

    /// Reads or writes the record on a blocking thread.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FleetRecord) -> Result<T, FleetError> + Send + 'static,
    ) -> Result<T, FleetError> {
        let record = Arc::clone(&self.0);
        let done = spawn_blocking(move || work(&record.lock().unwrap_or_else(PoisonError::into_inner)));
        done.await.unwrap_or_else(|fault| std::panic::resume_unwind(fault.into_panic()))
    }
}
