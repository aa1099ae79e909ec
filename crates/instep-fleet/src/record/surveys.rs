//! The surveys of Sources, as JSON.

use rusqlite::{OptionalExtension as _, params};

use super::FleetRecord;
use crate::{FleetError, name::SourceName, survey::SourceSurvey};

impl FleetRecord {
    /// Returns the survey of a Source; `None` if no document of it has been read, or one of a newer version was written.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn survey(&self, name: &SourceName) -> Result<Option<SourceSurvey>, FleetError> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT json FROM survey WHERE source = ?1", [name.as_str()], |row| row.get(0))
            .optional()
            .map_err(|source| self.error(source))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Writes the survey of a Source down.
    pub(crate) fn keep_survey(&self, name: &SourceName, survey: &SourceSurvey) -> Result<(), FleetError> {
        let json = serde_json::to_string(survey)
            .map_err(|error| self.error(rusqlite::Error::ToSqlConversionFailure(error.into())))?;
        self.execute(
            "INSERT OR REPLACE INTO survey (source, json) VALUES (?1, ?2)",
            params![name.as_str(), json],
        )?;
        Ok(())
    }
}
