//! The settings of the copy that a run has: read once, since nobody else writes them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use instep_postgres::{EngineFault, Session};

/// Settings in memory, for the run and all its readers.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownSettings(Arc<Mutex<Option<BTreeMap<String, String>>>>);

impl KnownSettings {
    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<String, String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a setting; all are read if they are not known.
    pub(super) fn get(
        &self,
        session: &Session,
        copy: i64,
        name: &str,
    ) -> Result<Option<String>, EngineFault> {
        let mut known = self.lock();
        if known.is_none() {
            let rows = session.query("SELECT name, value FROM setting WHERE copy = $1", &[&copy])?;
            let read = |row: &tokio_postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
            *known = Some(rows.iter().map(read).collect::<Result<_, EngineFault>>()?);
        }
        Ok(known.as_ref().and_then(|known| known.get(name).cloned()))
    }

    /// Takes a setting that was written.
    pub(super) fn put(&self, name: &str, value: &str) {
        if let Some(known) = &mut *self.lock() {
            known.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Forgets all: they are read again.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }
}
