//! The limits of reads for pages and programs: nobody waits long for a record, because its database may not answer.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::FleetError;

/// The most reads at the same time. One that waits for the database holds a thread, also after its reader has gone.
const MOST_AT_ONCE: usize = 4;

/// The longest wait of a reader, for its turn and for the record.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The reads of a record for pages and programs: a limited number at the same time, each for a limited time.
#[derive(Debug)]
pub(super) struct RecordReaders {
    free: Arc<Semaphore>,
    longest_wait: Duration,
}

impl Default for RecordReaders {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(MOST_AT_ONCE)), longest_wait: LONGEST_WAIT }
    }
}

impl RecordReaders {
    /// Waits for the turn of a read, which has it until this value is dropped.
    ///
    /// Errors: there are no turns any more.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit, FleetError> {
        Arc::clone(&self.free).acquire_owned().await.map_err(|_| FleetError::NoAnswer)
    }

    /// Waits for a read.
    ///
    /// Errors: the read fails, or has not ended in time.
    pub(super) async fn in_time<T>(
        &self,
        read: impl Future<Output = Result<T, FleetError>>,
    ) -> Result<T, FleetError> {
        timeout(self.longest_wait, read).await.unwrap_or(Err(FleetError::NoAnswer))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn o970_a_reader_waits_only_for_a_while_for_its_turn_and_for_the_record() {
        let readers =
            RecordReaders { free: Arc::new(Semaphore::new(1)), longest_wait: Duration::from_millis(20) };
        let turn = readers.turn().await.unwrap();
        let hangs = readers.in_time(pending::<Result<(), FleetError>>()).await;
        assert!(matches!(hangs, Err(FleetError::NoAnswer)));
        assert!(matches!(readers.in_time(readers.turn()).await, Err(FleetError::NoAnswer)));
        drop(turn);
        assert!(readers.in_time(readers.turn()).await.is_ok());
    }
}
