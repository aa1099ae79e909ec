//! Reads of the record for pages and programs, within limits.

use std::collections::BTreeMap;

use super::Fleet;
use crate::{AuditLine, FleetError, LookSample, name::SourceName, record::FleetRecord, survey::SourceSurvey};

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
