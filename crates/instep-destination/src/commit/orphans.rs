//! Objects of a copy that no row leads to or ever will.
//!
//! Keys are recorded before their objects are put, so a start knows the remains of a crash. There is one exception: a
//! process that lost the right to write the copy while it put an object. Such an object arrives after its key was
//! swept; a daily listing finds it.

use std::sync::Arc;

use resourcesync::DateTime;

use super::{CommitError, Committer};
use crate::{clock::now, store::PackStore};

/// The age from which on an object without a row is orphaned: no process has a request in progress for that long. It
/// is also the interval between two listings.
const AGE: i64 = 24 * 3_600 * 1_000_000;

/// The setting that keeps the time of the last look.
const LOOKED: &str = "orphans looked for";

/// The most objects that a run removes. Others are left to the next run.
const MOST: usize = 10_000;

impl Committer {
    /// Sets the time of the first look, a day from now: a new copy has no objects yet.
    ///
    /// # Errors
    /// If the state fails.
    pub(super) fn put_off_orphans(&mut self) -> Result<(), CommitError> {
        if self.state.setting(LOOKED)?.is_none() {
            self.state.set_setting(LOOKED, &now().to_string())?;
        }
        Ok(())
    }

    /// Removes the objects that no row leads to, if the last look was a day ago. Returns their number.
    ///
    /// # Errors
    /// If storage or the state fail.
    pub(super) fn sweep_orphans(
        &mut self,
        packs: &Arc<PackStore>,
        now: DateTime,
    ) -> Result<usize, CommitError> {
        let last = self.state.setting(LOOKED)?.and_then(|time| DateTime::parse(&time).ok());
        // A time in the future comes from a clock that was wrong, and does not delay the look.
        let is_recent = |last: DateTime| (0..AGE).contains(&(now.unix_micros() - last.unix_micros()));
        if last.is_some_and(is_recent) {
            return Ok(0);
        }
        let mut orphans: Vec<Box<str>> = Vec::new();
        let (state, found) = (self.state.reader()?, &mut orphans);
        packs.objects_before(now.unix_micros() - AGE, &mut move |keys| -> Result<bool, CommitError> {
            // The state is read after the listing, when every object that is being put has a row.
            found.extend(state.unknown_packs(keys)?);
            Ok(found.len() < MOST)
        })?;
        packs.remove(&orphans)?;
        match orphans.len() {
            0 => {}
            count => tracing::info!(count, "objects that no row leads to are removed"),
        }
        if orphans.len() < MOST {
            self.state.set_setting(LOOKED, &now.to_string())?;
            self.state.make_durable()?;
        }
        Ok(orphans.len())
    }
}
