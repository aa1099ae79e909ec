//! Rows that the run which has a copy remembers: they are read once and kept up to date here, because nobody else
//! writes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use instep_postgres::{PostgresError, ServerLink};

use super::{
    copy_table::CopyTable,
    followed_row::{self, FollowedSet},
};
use crate::state::{Checkpoint, SetId, SourceId};

/// The few rows that describe a copy, and the tables in which it has any, for the run and all its readers.
#[derive(Clone, Debug, Default)]
pub(super) struct RememberedRows(Arc<Mutex<Rows>>);

/// Rows that were read; `None` for those that were not.
#[derive(Debug, Default)]
struct Rows {
    settings: Option<BTreeMap<String, String>>,
    sets: Option<Vec<FollowedSet>>,
    sources: Option<Vec<(SourceId, String)>>,
    /// The tables that had rows.
    filled: Option<BTreeSet<CopyTable>>,
    /// The tables that this run has written rows to.
    written: BTreeSet<CopyTable>,
    /// The queries for objects that found none since an object last lost a part.
    without_packs: BTreeSet<&'static str>,
    /// `true` if other workers may write rows too.
    is_shared: bool,
}

impl RememberedRows {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a setting.
    pub(super) fn setting(
        &self,
        link: &ServerLink,
        copy: i64,
        name: &str,
    ) -> Result<Option<String>, PostgresError> {
        let read = || link.read(|session| followed_row::settings(session, copy));
        Ok(read_once(&mut self.lock().settings, read)?.get(name).cloned())
    }

    /// Returns the sets.
    pub(super) fn sets(&self, link: &ServerLink, copy: i64) -> Result<Vec<FollowedSet>, PostgresError> {
        let read = || link.read(|session| followed_row::sets(session, copy));
        Ok(read_once(&mut self.lock().sets, read)?.clone())
    }

    /// Returns the Sources.
    pub(super) fn sources(
        &self,
        link: &ServerLink,
        copy: i64,
    ) -> Result<Vec<(SourceId, String)>, PostgresError> {
        let read = || link.read(|session| followed_row::sources(session, copy));
        Ok(read_once(&mut self.lock().sources, read)?.clone())
    }

    /// Returns `false` if a table is known to have no row of the copy.
    pub(super) fn may_have(
        &self,
        link: &ServerLink,
        copy: i64,
        table: CopyTable,
    ) -> Result<bool, PostgresError> {
        let mut known = self.lock();
        if known.is_shared || known.written.contains(&table) {
            return Ok(true);
        }
        let read = || link.read(|session| followed_row::filled_tables(session, copy));
        Ok(read_once(&mut known.filled, read)?.contains(&table))
    }

    /// Remembers that rows are written to a table. It is called before they are written.
    pub(super) fn note_rows(&self, table: CopyTable) {
        self.lock().written.insert(table);
    }

    /// Remembers that other workers may write rows too from now on.
    pub(super) fn share(&self) {
        self.lock().is_shared = true;
    }

    /// Returns `true` if a query for objects found none, and this cannot have changed.
    pub(super) fn has_no_packs(&self, condition: &'static str) -> bool {
        let known = self.lock();
        !known.is_shared && known.without_packs.contains(condition)
    }

    /// Remembers that a query found no object.
    pub(super) fn note_no_packs(&self, condition: &'static str) {
        self.lock().without_packs.insert(condition);
    }

    /// Remembers that parts of objects are not used any more.
    pub(super) fn note_left_packs(&self) {
        self.lock().without_packs.clear();
    }

    /// Remembers a setting that was written.
    pub(super) fn put_setting(&self, name: &str, value: &str) {
        if let Some(known) = &mut self.lock().settings {
            known.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Remembers a Source that was written.
    pub(super) fn add_source(&self, source: SourceId, url: &str) {
        if let Some(known) = &mut self.lock().sources {
            known.push((source, url.to_owned()));
        }
    }

    /// Remembers a set that was written.
    pub(super) fn add_set(&self, set: FollowedSet) {
        if let Some(known) = &mut self.lock().sets {
            known.push(set);
        }
    }

    /// Remembers the Source of a set.
    pub(super) fn put_owner(&self, set: SetId, source: SourceId) {
        self.change_set(set, |known| known.source = Some(source));
    }

    /// Remembers the checkpoint of a set.
    pub(super) fn put_checkpoint(&self, set: SetId, checkpoint: &Checkpoint) {
        self.change_set(set, |known| known.checkpoint = Some(checkpoint.clone()));
    }

    fn change_set(&self, set: SetId, change: impl FnOnce(&mut FollowedSet)) {
        if let Some(known) = self.lock().sets.iter_mut().flatten().find(|known| known.id == set) {
            change(known);
        }
    }

    /// Forgets all rows, which are then read again.
    pub(super) fn forget(&self) {
        let mut known = self.lock();
        let is_shared = known.is_shared;
        *known = Rows { is_shared, ..Rows::default() };
    }
}

fn read_once<T>(
    known: &mut Option<T>,
    read: impl FnOnce() -> Result<T, PostgresError>,
) -> Result<&T, PostgresError> {
    Ok(match known {
        Some(known) => known,
        none => none.insert(read()?),
    })
}
