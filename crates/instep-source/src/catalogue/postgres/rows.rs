//! The rows of an open transaction. The rows that observations need are read together, and written together at the
//! end of the work, so that no row costs a round trip.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use instep_postgres::{EngineFault, PostgresError, Session};
use resourcesync::{DateTime, Digests, Uri};

use super::{
    moves,
    row::read_resource,
    shared, versions,
    written::{LogLine, write_lines, write_resources},
};
use crate::catalogue::{
    CatalogueError, History, Keep, NamedValue, Observation, Patch, Resource, ResourceVersion,
    codec::{SharedTypes, write_change, write_digests, write_patch},
    columns::resource_columns,
    engine::{LedgerRows, NewChange},
    moves::CatalogueMove,
    shared::SharedRows,
};

/// The transaction of a Source.
pub(super) struct SourceRows<'a> {
    session: &'a Session,
    source: i64,
    place: &'a str,
    /// The rows that were read or written; `None` for a row that does not exist.
    known: BTreeMap<Vec<u8>, Option<Resource>>,
    /// The keys of rows that are not written yet.
    unwritten: BTreeSet<Vec<u8>>,
    lines: Vec<LogLine>,
    /// The fault because of which the transaction is repeated.
    pub(super) passing: Option<EngineFault>,
    /// `true` if a piece of work has failed: the transaction is rolled back, and the other pieces are repeated
    /// without it.
    pub(super) has_failed: bool,
}

impl<'a> SourceRows<'a> {
    pub(super) fn new(session: &'a Session, source: i64, place: &'a str) -> Self {
        Self {
            session,
            source,
            place,
            known: BTreeMap::new(),
            unwritten: BTreeSet::new(),
            lines: Vec::new(),
            passing: None,
            has_failed: false,
        }
    }

    /// Returns the error for the work in which a statement failed.
    fn failed(&mut self, fault: EngineFault) -> CatalogueError {
        if fault.may_pass() {
            self.passing = Some(fault);
            return self.repeated();
        }
        CatalogueError::Postgres(Arc::new(fault.at(self.place)))
    }

    /// Returns the error for work that is repeated.
    fn repeated(&self) -> CatalogueError {
        let source = "the transaction is tried again".into();
        CatalogueError::Postgres(Arc::new(PostgresError::Unreachable {
            place: self.place.to_owned(),
            source,
        }))
    }

    fn run<T>(
        &mut self,
        work: impl FnOnce(&Session, i64) -> Result<T, EngineFault>,
    ) -> Result<T, CatalogueError> {
        work(self.session, self.source).map_err(|fault| self.failed(fault))
    }

    /// Reads the rows of those keys that were not read before.
    fn read(&mut self, keys: &[&[u8]]) -> Result<(), CatalogueError> {
        let unknown: Vec<&[u8]> = keys.iter().copied().filter(|key| !self.known.contains_key(*key)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let found = self.run(|session, source| {
            let sql =
                concat!("SELECT ", resource_columns!(), " FROM resource WHERE source = $1 AND key = ANY($2)");
            let mut types = SharedTypes::default();
            let rows = session.query(sql, &[&source, &unknown])?;
            rows.iter().map(|row| read_resource(row, &mut types)).collect::<Result<Vec<_>, _>>()
        })?;
        self.known.extend(unknown.iter().map(|key| (key.to_vec(), None)));
        self.known.extend(found.into_iter().map(|held| (held.key.clone(), Some(held))));
        Ok(())
    }

    fn put(&mut self, resource: Resource) {
        self.unwritten.insert(resource.key.clone());
        self.known.insert(resource.key.clone(), Some(resource));
    }

    /// Writes the rows and log entries of the last piece of work.
    fn write(&mut self) -> Result<(), CatalogueError> {
        let (known, lines) = (std::mem::take(&mut self.known), std::mem::take(&mut self.lines));
        let unwritten = std::mem::take(&mut self.unwritten);
        let (mut present, mut gone) = (Vec::new(), Vec::new());
        for key in &unwritten {
            match known.get(key).and_then(Option::as_ref) {
                Some(resource) => present.push(resource),
                None => gone.push(key.as_slice()),
            }
        }
        self.run(|session, source| {
            if !gone.is_empty() {
                let sql = "DELETE FROM resource WHERE source = $1 AND key = ANY($2)";
                session.execute(sql, &[&source, &gone])?;
            }
            if !present.is_empty() {
                write_resources(session, source, &present)?;
            }
            if !lines.is_empty() {
                write_lines(session, source, &lines)?;
            }
            Ok(())
        })
    }
}

impl LedgerRows for SourceRows<'_> {
    fn expect(&mut self, observations: &[Observation]) -> Result<(), CatalogueError> {
        let keys: Vec<&[u8]> = observations.iter().map(Observation::key).collect();
        self.read(&keys)
    }

    fn save(&mut self) -> Result<(), CatalogueError> {
        if self.passing.is_some() || self.has_failed { Err(self.repeated()) } else { Ok(()) }
    }

    fn release(&mut self) -> Result<(), CatalogueError> {
        let written = self.write();
        // The result of this call decides if the caller considers the work done.
        self.has_failed |= written.is_err() && self.passing.is_none();
        written
    }

    fn undo(&mut self) -> Result<(), CatalogueError> {
        self.has_failed |= self.passing.is_none();
        Ok(())
    }

    fn held(&mut self, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
        self.read(&[key])?;
        Ok(self.known.get(key).cloned().flatten())
    }

    fn insert(&mut self, resource: &Resource, since: i64) -> Result<bool, CatalogueError> {
        self.read(&[&resource.key])?;
        if self.known.get(&resource.key).is_some_and(Option::is_some) {
            return Ok(false);
        }
        let history = History { since: Some(DateTime::from_unix_micros(since)), changes: 0 };
        self.put(Resource { history, ..resource.clone() });
        Ok(true)
    }

    fn replace(&mut self, next: &Resource, changes: u8) -> Result<(), CatalogueError> {
        let held = self.held(&next.key)?.map(|held| held.history).unwrap_or_default();
        let history = History { since: held.since, changes: held.changes + u64::from(changes) };
        self.put(Resource { history, ..next.clone() });
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), CatalogueError> {
        self.known.insert(key.to_vec(), None);
        self.unwritten.insert(key.to_vec());
        Ok(())
    }

    fn append(&mut self, change: &NewChange<'_>) -> Result<(), CatalogueError> {
        self.lines.push(LogLine {
            sequence: change.sequence.cast_signed(),
            datetime: change.datetime.unix_micros(),
            kind: write_change(change.change),
            sets: change.sets.cast_signed(),
            uri: change.uri.clone(),
            before: change.before.map(|before| write_digests(&before.digests)),
            state: change.state.clone(),
        });
        Ok(())
    }

    fn drop_changes(&mut self, through: u64) -> Result<(), CatalogueError> {
        self.run(|session, source| {
            let sql = "DELETE FROM change WHERE source = $1 AND sequence <= $2";
            session.execute(sql, &[&source, &through.cast_signed()]).map(drop)
        })
    }

    fn set_meta(&mut self, values: &[NamedValue]) -> Result<(), CatalogueError> {
        self.run(|session, source| {
            for (name, value) in values {
                match value {
                    Some(value) => {
                        let sql = "INSERT INTO meta (source, name, value) VALUES ($1, $2, $3)
                                   ON CONFLICT (source, name) DO UPDATE SET value = excluded.value";
                        session.execute(sql, &[&source, name, value])?;
                    }
                    None => {
                        let sql = "DELETE FROM meta WHERE source = $1 AND name = $2";
                        session.execute(sql, &[&source, name])?;
                    }
                }
            }
            Ok(())
        })
    }

    fn move_all(&mut self, moved: &CatalogueMove) -> Result<(), CatalogueError> {
        self.run(|session, source| moves::apply(session, source, moved))
    }

    fn set_patches(&mut self, patches: &[(u64, Patch)]) -> Result<(), CatalogueError> {
        let sequences: Vec<i64> = patches.iter().map(|(sequence, _)| sequence.cast_signed()).collect();
        let stored: Vec<String> = patches.iter().map(|(_, patch)| write_patch(patch)).collect();
        self.run(|session, source| {
            let sql = "UPDATE change c SET patch = made.patch
                       FROM unnest($2::bigint[], $3::text[]) AS made(sequence, patch)
                       WHERE c.source = $1 AND c.sequence = made.sequence";
            session.execute(sql, &[&source, &sequences, &stored]).map(drop)
        })
    }

    fn keep_versions(
        &mut self,
        versions: &[(Uri, ResourceVersion)],
        keep: Keep,
    ) -> Result<Vec<Digests>, CatalogueError> {
        self.run(|session, source| versions::keep(session, source, versions, keep))
    }

    fn unreferenced(&mut self, digests: &[Digests]) -> Result<Vec<Digests>, CatalogueError> {
        self.run(|session, source| versions::unreferenced(session, source, digests))
    }

    fn share(&mut self, rows: &SharedRows) -> Result<(), CatalogueError> {
        self.run(|session, source| shared::write(session, source, rows))
    }
}
