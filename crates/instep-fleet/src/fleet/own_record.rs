//! A connection to the record for one purpose: the lease, the seats.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;

use crate::{
    FleetError,
    record::{FleetRecord, RecordWaits},
};

/// A separate connection to the record, so that no other work delays it.
pub(super) struct LeaseRecord {
    record: Arc<Mutex<FleetRecord>>,
    waits: RecordWaits,
}

impl LeaseRecord {
    pub(super) fn new(record: FleetRecord) -> Self {
        let waits = record.waits();
        Self { record: Arc::new(Mutex::new(record)), waits }
    }

    /// Waits no longer for the server, because the process is to end.
    pub(super) fn end_waits(&self) {
        self.waits.end();
    }

    /// Reads or writes the record on a blocking thread.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FleetRecord) -> Result<T, FleetError> + Send + 'static,
    ) -> Result<T, FleetError> {
        let record = Arc::clone(&self.record);
        let done = spawn_blocking(move || work(&record.lock().unwrap_or_else(PoisonError::into_inner)));
        done.await.unwrap_or_else(|fault| std::panic::resume_unwind(fault.into_panic()))
    }
}
