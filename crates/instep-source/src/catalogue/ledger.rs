//! The meaning of an observation: the rules by which resources and the change log are kept, within one transaction.

mod rows;

use resourcesync::{Change, DateTime, Uri};
use rusqlite::{CachedStatement, Connection, params};

use super::{
    CatalogueError, Head, Observation, Patch, Recorded, Resource, ResourceState,
    counters::Counters,
    error::Doing,
    row::{StateColumns, StateReader, read_head, write_change, write_digests, write_patch},
    timeline::Timeline,
};

const RECORDING: &str = "recording observations";

/// The tables while a transaction is open.
pub(super) struct ChangeLog<'a> {
    connection: &'a Connection,
    timeline: &'a Timeline,
    pub(super) head: Head,
    counters: Counters,
    reader: StateReader,
    /// `true` if the resource recorded last was a new one.
    expects_new: bool,
}

impl<'a> ChangeLog<'a> {
    pub(super) fn begin(connection: &'a Connection, timeline: &'a Timeline) -> Result<Self, CatalogueError> {
        // At once: a transaction that begins by reading could not become one that writes if another process wrote in between.
        connection.execute_batch("BEGIN IMMEDIATE").doing("beginning a transaction")?;
        let head = read_head(connection)?;
        Ok(Self {
            connection,
            timeline,
            head,
            counters: Counters::new(),
            reader: StateReader::default(),
            expects_new: false,
        })
    }

    /// Runs one piece of work; what it did is undone when it fails, and only that.
    pub(super) fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, CatalogueError>,
    ) -> Result<T, CatalogueError> {
        let (head, counters) = (self.head, self.counters.clone());
        // Several callers share a transaction; the failure of one must not cost the others.
        self.connection.execute_batch("SAVEPOINT work").doing(RECORDING)?;
        let outcome = work(self);
        match outcome {
            Ok(_) => self.connection.execute_batch("RELEASE work").doing(RECORDING)?,
            Err(_) => {
                self.connection.execute_batch("ROLLBACK TO work; RELEASE work").doing(RECORDING)?;
                self.head = head;
                self.counters = counters;
            }
        }
        outcome
    }

    /// Writes the counters and commits; nothing of it stays when that fails.
    pub(super) fn commit(self) -> Result<(), CatalogueError> {
        let counted = self.write_head().and_then(|()| self.counters.write(self.connection));
        let written = counted.and_then(|()| self.connection.execute_batch("COMMIT"));
        // SQLite rolls back by itself on some errors, and not on others.
        if written.is_err() && !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK").doing("rolling back")?;
        }
        written.doing("committing")
    }

    fn write_head(&self) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "UPDATE head SET sequence = ?1, datetime = ?2, forgotten = ?3, revision = ?4, baselined = ?5,
                 clock = ?6",
            )?
            .execute(params![
                self.head.sequence as i64,
                self.head.datetime.map(|datetime| datetime.unix_micros()),
                self.head.forgotten as i64,
                self.head.revision as i64,
                self.head.baselined as i64,
                self.timeline.last(),
            ])
            .map(drop)
    }

    pub(super) fn record(&mut self, observations: &[Observation]) -> Result<Recorded, CatalogueError> {
        let mut recorded = Recorded::default();
        for observation in observations {
            match observation {
                Observation::Found(resource) => {
                    self.found(resource, &mut recorded, |held| held.same_bytes(&resource.state))?;
                }
                Observation::Rehashed { resource, also } => {
                    self.found(resource, &mut recorded, |held| held.digests.agrees_with(also) == Some(true))?;
                }
                Observation::Changed(resource) => self.found(resource, &mut recorded, |_| false)?,
                Observation::Gone { key } => self.gone(key, &mut recorded)?,
                Observation::Moved { key } => drop(self.remove(key)?),
            }
        }
        recorded.sequence = self.head.sequence;
        Ok(recorded)
    }

    fn found(
        &mut self,
        resource: &Resource,
        recorded: &mut Recorded,
        same_bytes: impl FnOnce(&ResourceState) -> bool,
    ) -> Result<(), CatalogueError> {
        // New resources come together; a row that is not there is looked for but once.
        let held = match self.expects_new && self.insert(resource)? {
            true => None,
            false => self.held(&resource.key)?,
        };
        let Some(held) = held else {
            if !self.expects_new {
                self.insert(resource)?;
            }
            self.expects_new = true;
            recorded.created += 1;
            return self.log(&Change::Created, resource.sets, &resource.uri, (None, &resource.state));
        };
        self.expects_new = false;
        if same_bytes(&held.state) {
            return self.same(held, resource, recorded);
        }
        recorded.updated += 1;
        self.replace(&held, resource, 1)?;
        self.log_membership(&held, resource)?;
        if held.uri == resource.uri {
            let states = (Some(&held.state), &resource.state);
            self.log(&Change::Updated, held.sets & resource.sets, &resource.uri, states)?;
        }
        Ok(())
    }

    /// The bytes are the known ones. Their last modification stays too: a new time over the same bytes modifies nothing.
    fn same(
        &mut self,
        held: Resource,
        seen: &Resource,
        recorded: &mut Recorded,
    ) -> Result<(), CatalogueError> {
        let mut next = seen.clone();
        next.history = held.history;
        next.state.lastmod = held.state.lastmod.or(next.state.lastmod);
        let described = next.state != held.state || next.uri != held.uri || next.sets != held.sets;
        if !described && next == held {
            return Ok(());
        }
        match described {
            true => recorded.described += 1,
            false => recorded.refreshed += 1,
        }
        self.replace(&held, &next, 0)?;
        if described {
            self.head.revision += 1;
            self.log_membership(&held, &next)?;
        }
        Ok(())
    }

    fn gone(&mut self, key: &[u8], recorded: &mut Recorded) -> Result<(), CatalogueError> {
        let Some(held) = self.remove(key)? else { return Ok(()) };
        recorded.deleted += 1;
        self.log(&Change::Deleted, held.sets, &held.uri, (Some(&held.state), &ResourceState::new()))
    }

    /// For a set that a resource enters it is created, for one that it leaves it is deleted; a new URI is both.
    fn log_membership(&mut self, held: &Resource, next: &Resource) -> Result<(), CatalogueError> {
        let (left, entered) = match held.uri == next.uri {
            true => (held.sets & !next.sets, next.sets & !held.sets),
            false => (held.sets, next.sets),
        };
        self.log(&Change::Deleted, left, &held.uri, (Some(&held.state), &ResourceState::new()))?;
        self.log(&Change::Created, entered, &next.uri, (None, &next.state))
    }

    /// Adds a line to the change log for those of the sets whose baseline is complete: the states before and after.
    fn log(
        &mut self,
        change: &Change,
        sets: u64,
        uri: &Uri,
        (before, state): (Option<&ResourceState>, &ResourceState),
    ) -> Result<(), CatalogueError> {
        if sets != 0 {
            self.head.revision += 1;
        }
        // While its first scan goes on a set has no changes: what is found is the baseline.
        let sets = sets & self.head.baselined;
        if sets == 0 {
            return Ok(());
        }
        // Within the transaction: a change never has an earlier time than a snapshot that does not show it (S6).
        let datetime: DateTime = self.timeline.next();
        let sequence = self.head.sequence + 1;
        let columns = StateColumns::new(state);
        self.prepare(
            "INSERT INTO change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, NULL)",
        )?
        .execute(columns.between(
            params![sequence as i64, datetime.unix_micros(), write_change(change), sets as i64, uri.as_str()],
            params![before.map(|before| write_digests(&before.digests))],
        ))
        .doing(RECORDING)?;
        self.counters.change(write_change(change), datetime.unix_micros());
        self.head.sequence = sequence;
        self.head.datetime = Some(datetime);
        Ok(())
    }

    pub(super) fn set_patches(&mut self, patches: &[(u64, Patch)]) -> Result<(), CatalogueError> {
        let mut update = self.prepare("UPDATE change SET patch = ?2 WHERE sequence = ?1")?;
        for (sequence, patch) in patches {
            update.execute(params![*sequence as i64, write_patch(patch)]).doing("keeping a patch")?;
        }
        Ok(())
    }

    pub(super) fn set_meta(&mut self, values: &[(String, Option<Vec<u8>>)]) -> Result<(), CatalogueError> {
        for (name, value) in values {
            match value {
                Some(value) => self
                    .prepare("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?
                    .execute(params![name, value])
                    .doing("keeping a value")?,
                None => self
                    .prepare("DELETE FROM meta WHERE name = ?1")?
                    .execute([name])
                    .doing("dropping a value")?,
            };
        }
        Ok(())
    }

    /// Drops a bounded number of lines from the beginning of the change log; whether there may be more.
    pub(super) fn forget(&mut self, through: u64) -> Result<bool, CatalogueError> {
        // Bounded, so that others who record do not wait for a long history to go.
        const AT_ONCE: u64 = 10_000;
        let through = through.min(self.head.sequence);
        let next = through.min(self.head.forgotten + AT_ONCE);
        self.prepare("DELETE FROM change WHERE sequence <= ?1")?
            .execute([next as i64])
            .doing("dropping old changes")?;
        self.head.forgotten = self.head.forgotten.max(next);
        Ok(next < through)
    }

    pub(super) fn prepare(&self, sql: &'static str) -> Result<CachedStatement<'a>, CatalogueError> {
        self.connection.prepare_cached(sql).doing(RECORDING)
    }
}
