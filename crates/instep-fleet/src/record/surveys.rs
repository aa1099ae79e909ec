//! The surveys of Sources, as JSON.

use super::{FleetRecord, engine::Statements};
use crate::{FleetError, name::SourceName, survey::SourceSurvey};

impl FleetRecord {
    /// Returns the survey of a Source; `None` if no document of it has been read, or one of a newer version was written.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn survey(&self, name: &SourceName) -> Result<Option<SourceSurvey>, FleetError> {
        let sql = "SELECT json FROM survey WHERE source = $1";
        let found = self.all(sql, &[name.as_str().into()], |row| row.string(0))?;
        Ok(found.first().and_then(|text| serde_json::from_str(text).ok()))
    }

    /// Writes the survey of a Source down.
    pub(super) fn keep_survey(
        statements: &dyn Statements,
        name: &SourceName,
        survey: &SourceSurvey,
    ) -> Result<(), FleetError> {
        let json = serde_json::to_string(survey)
            .map_err(|error| FleetError::Definition { name: name.clone(), what: error.to_string() })?;
        let sql = "INSERT INTO survey (source, json) VALUES ($1, $2) ON CONFLICT (source) DO UPDATE SET json = excluded.json";
        statements.execute(sql, &[name.as_str().into(), json.as_str().into()]).map(drop)
    }
}
