//! What pages and programs read from the record: nobody waits long for it, because its database may not answer.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::Fleet;
use crate::{AuditLine, FleetError, LookSample, name::SourceName, record::FleetRecord, survey::SourceSurvey};

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
    async fn turn(&self) -> Result<OwnedSemaphorePermit, FleetError> {
        Arc::clone(&self.free).acquire_owned().await.map_err(|_| FleetError::NoAnswer)
    }

    /// Waits for a read.
    ///
    /// Errors: the read fails, or has not ended in time.
    async fn in_time<T>(&self, read: impl Future<Output = Result<T, FleetError>>) -> Result<T, FleetError> {
        timeout(self.longest_wait, read).await.unwrap_or(Err(FleetError::NoAnswer))
    }
}

impl Fleet {
    /// Reads the record for a page or a program. The read keeps its turn until it is over, also if nobody waits for it any more.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut FleetRecord) -> Result<T, FleetError> + Send + 'static,
    ) -> Result<T, FleetError> {
        let readers = &self.0.readers;
        let reading = async {
            let turn = readers.turn().await?;
            let in_turn = move |record: &mut FleetRecord| {
                let _turn = turn;
                read(record)
            };
            self.recorded(in_turn).await
        };
        readers.in_time(reading).await
    }

    /// Returns the last looks at a Source, the oldest first.
    ///
    /// # Errors
    /// If the record cannot be read, or does not answer soon.
    pub async fn looks(&self, name: &SourceName) -> Result<Vec<LookSample>, FleetError> {
        let name = name.clone();
        self.read(move |record| record.looks(&name)).await
    }

    /// Returns the last looks at some Sources, the oldest first, with a maximum number for each.
    ///
    /// # Errors
    /// If the record cannot be read, or does not answer soon.
    pub async fn looks_of(
        &self,
        names: Vec<SourceName>,
        most: usize,
    ) -> Result<BTreeMap<SourceName, Vec<LookSample>>, FleetError> {
        self.read(move |record| record.looks_of(&names, most)).await
    }

    /// Returns the survey of a Source; `None` if no document of it has been read.
    ///
    /// # Errors
    /// If the record cannot be read, or does not answer soon.
    pub async fn survey(&self, name: &SourceName) -> Result<Option<SourceSurvey>, FleetError> {
        let name = name.clone();
        self.read(move |record| record.survey(&name)).await
    }

    /// Returns actions of operators, the newest first, from the one before `before`.
    ///
    /// # Errors
    /// If the record cannot be read, or does not answer soon.
    pub async fn actions(&self, before: i64, most: usize) -> Result<Vec<AuditLine>, FleetError> {
        self.read(move |record| record.actions(before, most)).await
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
