//! The few rows that describe a copy, in memory for the run that has it: read once, since nobody else writes them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use instep_postgres::{EngineFault, Session};

use super::followed_row::{self, FollowedSet};
use crate::state::SourceId;

/// The settings, sets and Sources of a copy, for the run and all its readers.
#[derive(Clone, Debug, Default)]
pub(super) struct RememberedRows(Arc<Mutex<Rows>>);

/// Rows that were read; `None` for those that were not.
#[derive(Debug, Default)]
struct Rows {
    settings: Option<BTreeMap<String, String>>,
    sets: Option<Vec<FollowedSet>>,
    sources: Option<Vec<(SourceId, String)>>,
}

impl RememberedRows {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a setting.
    pub(super) fn setting(
        &self,
        session: &Session,
        copy: i64,
        name: &str,
    ) -> Result<Option<String>, EngineFault> {
        let mut known = self.lock();
        let settings = read_once(&mut known.settings, || followed_row::settings(session, copy))?;
        Ok(settings.get(name).cloned())
    }

    /// Returns the sets.
    pub(super) fn sets(&self, session: &Session, copy: i64) -> Result<Vec<FollowedSet>, EngineFault> {
        Ok(read_once(&mut self.lock().sets, || followed_row::sets(session, copy))?.clone())
    }

    /// Returns the Sources.
    pub(super) fn sources(
        &self,
        session: &Session,
        copy: i64,
    ) -> Result<Vec<(SourceId, String)>, EngineFault> {
        Ok(read_once(&mut self.lock().sources, || followed_row::sources(session, copy))?.clone())
    }

    /// Takes a setting that was written.
    pub(super) fn put_setting(&self, name: &str, value: &str) {
        if let Some(known) = &mut self.lock().settings {
            known.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Forgets sets and Sources, which change: they are read again.
    pub(super) fn forget_followed(&self) {
        let mut known = self.lock();
        (known.sets, known.sources) = (None, None);
    }

    /// Forgets all: it is read again.
    pub(super) fn forget(&self) {
        *self.lock() = Rows::default();
    }
}

fn read_once<T>(
    known: &mut Option<T>,
    read: impl FnOnce() -> Result<T, EngineFault>,
) -> Result<&T, EngineFault> {
    Ok(match known {
        Some(known) => known,
        none => none.insert(read()?),
    })
}
