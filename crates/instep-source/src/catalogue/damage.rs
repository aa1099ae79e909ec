//! Damage in the stored catalogue: what its file holds is not what was recorded.

use super::{CatalogueError, ResourceTotals, Snapshot};

impl Snapshot {
    /// Returns the faults of the file itself, and the totals that do not agree with the rows. Reads everything.
    ///
    /// # Errors
    /// If the catalogue cannot be read at all.
    pub(crate) fn damage(&self) -> Result<Vec<String>, CatalogueError> {
        let mut damage = self.reader.file_damage()?;
        let mut counted = [ResourceTotals::default(); 64];
        for resource in self.resources(u64::MAX) {
            let resource = resource?;
            let is_in = |set: usize| resource.sets >> set & 1 == 1;
            for (_, totals) in counted.iter_mut().enumerate().filter(|(set, _)| is_in(*set)) {
                totals.resources += 1;
                totals.bytes += resource.state.length.unwrap_or_default();
            }
        }
        for (set, counted) in (0u8..).zip(counted) {
            let kept = self.totals(set)?;
            if counted != kept {
                damage
                    .push(format!("set {set} holds {} resources, not {}", counted.resources, kept.resources));
            }
        }
        Ok(damage)
    }
}
