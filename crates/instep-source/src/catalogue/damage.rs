//! Faults of the file itself, for tests that kill what writes it.

use super::{CatalogueError, ResourceTotals, Snapshot, error::Doing};

const CHECKING: &str = "checking the file";

impl Snapshot {
    /// Returns the faults of the file itself: damaged pages, and totals that do not add up. Reads everything.
    ///
    /// # Errors
    /// If the catalogue cannot be read at all.
    pub(crate) fn damage(&self) -> Result<Vec<String>, CatalogueError> {
        let connection = self.connection()?;
        let mut damage = connection
            .prepare("PRAGMA integrity_check")
            .and_then(|mut statement| {
                statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()
            })
            .doing(CHECKING)?;
        damage.retain(|line| line != "ok");
        for set in 0..64u8 {
            let (counted, kept) = (self.count(set)?, self.totals(set)?);
            if counted != kept {
                damage
                    .push(format!("set {set} holds {} resources, not {}", counted.resources, kept.resources));
            }
        }
        Ok(damage)
    }

    fn count(&self, set: u8) -> Result<ResourceTotals, CatalogueError> {
        self.connection()?
            .prepare_cached("SELECT count(*), total(length) FROM resource WHERE sets & ?1 != 0")
            .and_then(|mut statement| {
                statement.query_row([(1u64 << set) as i64], |row| {
                    let (resources, bytes) = (row.get::<_, i64>(0)?, row.get::<_, f64>(1)?);
                    Ok(ResourceTotals { resources: resources as u64, bytes: bytes as u64 })
                })
            })
            .doing(CHECKING)
    }
}
