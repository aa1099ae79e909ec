//! Recovery: the files that a killed harvest left in staging, and those that it was about to remove.

use instep_store::StagedName;

use super::{
    super::{HarvestError, folder::HarvestFolder},
    HarvestState,
};

impl HarvestState {
    /// Resolves the remains of a killed harvest: its pending files are placed or removed.
    ///
    /// # Errors
    /// If disk or state fail.
    pub(crate) fn settle(&mut self, folder: &mut HarvestFolder) -> Result<(), HarvestError> {
        let mut statement = self.connection.prepare("SELECT number, path FROM placing ORDER BY number")?;
        let placing = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
        let placing: Vec<(i64, String)> = placing.collect::<Result<_, _>>()?;
        for (number, path) in placing {
            folder.place(StagedName::from(number.unsigned_abs()), &path)?;
        }
        let mut statement = self.connection.prepare("SELECT path FROM leaving")?;
        let leaving: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for path in leaving {
            folder.remove(&path)?;
        }
        folder.clear_staging()?;
        Ok(())
    }
}
