//! Figures over many rows, for pages.

use std::time::Duration;

use resourcesync::DateTime;

use super::{CatalogueError, Snapshot, error::Doing};

const READING: &str = "counting";

impl Snapshot {
    /// Returns the number of changes that were recorded in each of the last `count` spans of time, the oldest first; the last one has
    /// not ended. No row is read for it: the sequence has no gaps, so the number between two moments is a difference.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn changes_by(&self, span: Duration, count: usize) -> Result<Vec<u64>, CatalogueError> {
        let span = i64::try_from(span.as_micros()).unwrap_or(i64::MAX).max(1);
        let last = self.at().unix_micros().div_euclid(span);
        let mut counts = Vec::with_capacity(count);
        let mut later = self.head().sequence;
        for back in 0..count as i64 {
            let begin = DateTime::from_unix_micros((last - back).saturating_mul(span));
            let before = self.sequence_before(begin)?;
            counts.push(later.saturating_sub(before));
            later = before;
        }
        counts.reverse();
        Ok(counts)
    }

    /// Calls the function with the length of each resource of the sets in the mask, if it is known.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn for_each_length(&self, sets: u64, mut visit: impl FnMut(u64)) -> Result<(), CatalogueError> {
        let mut statement = self
            .connection()?
            .prepare_cached("SELECT length FROM resource WHERE sets & ?1 != 0 AND length IS NOT NULL")
            .doing(READING)?;
        let mut rows = statement.query([sets as i64]).doing(READING)?;
        while let Some(row) = rows.next().doing(READING)? {
            visit(row.get::<_, i64>(0).doing(READING)? as u64);
        }
        Ok(())
    }
}
