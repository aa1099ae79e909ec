//! The state in a PostgreSQL database, beside those of other copies.
//!
//! Each read and each transaction takes a connection that is free. If a server restarts or fails over, the run waits and
//! continues with a new one, and a transaction whose answer was lost is recognized by its number (`NumberedWriter`).
//!
//! All copies share the tables of one schema. A transaction of the writer begins by raising the number `grp` in the
//! row of its copy, under its token, together with its first statement. Small records wait for the next transaction.
//! The run that has a copy reads sets, Sources and settings once, and asks once in which tables the copy has rows at
//! all. Commits always wait (`synchronous_commit`), because a run outlives a crash of the server.
//!
//! The caller that waits for an answer, which may be a thread that runs tasks, sends the request and reads the answer
//! itself; a separate thread only waits for the sockets.

mod changes;
mod copy_table;
mod followed;
mod followed_row;
mod groups;
mod held;
mod held_row;
mod known;
mod lease;
mod log;
mod meet;
mod packs;
mod pending;
mod portable;
mod records;
mod row;
mod schema;
mod shares;
mod slice_board;
mod slices;
mod unwritten;

use std::{ops::ControlFlow, sync::Arc};

pub(crate) use instep_postgres::PostgresError;
use instep_postgres::{Address, Claimant, EngineFault, NumberedWriter, ServerLink, Session, Values};
use tokio_util::sync::CancellationToken;

use super::{CopyState, ExportState as _, IntentId, Operation, ReadState, SharePlan, StateError};
use crate::{changes::CopyChange, records::operations};
use copy_table::CopyTable;
use known::RememberedRows;
use lease::CopyRight;
use schema::TABLES;
use shares::ShareKey;
pub(crate) use slice_board::WaitingPlans;
use unwritten::UnwrittenRecords;

/// The most bytes of a URI: an index takes a third of a page, which is 2,704 bytes with the other columns.
const LONGEST_URI: usize = 2_600;

/// A copy in a database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseCopy {
    address: Address,
    /// The name of the copy among those of the database.
    name: String,
    claimant: Claimant,
    /// Set for a copy that was there before and is not begun anew.
    must_exist: bool,
}

impl DatabaseCopy {
    /// Reads the URL of a state. The name is that of the copy unless the URL has one; the folder is a name that no other
    /// folder of a copy has.
    ///
    /// # Errors
    /// If it is no URL of PostgreSQL.
    pub(crate) fn at(url: &str, name: &str, folder: &str) -> Result<Self, PostgresError> {
        let address = Address::parse(url)?;
        let name = address.copy.clone().unwrap_or_else(|| name.to_owned());
        Ok(Self { address, name, claimant: Claimant::over(folder), must_exist: false })
    }

    /// Returns the copy for work that is an error if the database has no state of it.
    pub(crate) fn that_exists(mut self) -> Self {
        self.must_exist = true;
        self
    }

    /// Returns the copy for a run that knows that its former writer has ended, so that it need not wait.
    pub(crate) fn after_former_writer(mut self) -> Self {
        self.claimant.former_holder_ended = true;
        self
    }

    /// Returns the copy for work that may be ended: from then on it does not wait for the server, or for a former writer.
    pub(crate) fn until(mut self, ending: &CancellationToken) -> Self {
        self.address = self.address.until(ending.clone());
        self
    }

    /// Returns the URL without a password, and the name of the copy, with which the state can be found again.
    pub(crate) fn remembered(&self) -> (&str, &str) {
        (&self.address.recorded, &self.name)
    }

    fn missing(&self) -> PostgresError {
        PostgresError::Missing { place: self.address.shown.clone() }
    }

    /// Returns `true` if a URL leads to the same tables.
    pub(crate) fn is_at(&self, url: &str) -> bool {
        self.address.is_that_of(url)
    }
}

/// The state of one copy in a database.
#[derive(Debug)]
pub(crate) struct PostgresState {
    link: Arc<ServerLink>,
    copy: i64,
    /// The right to write; `None` for a state that is only read.
    writer: Option<NumberedWriter<CopyRight>>,
    records_changes: bool,
    /// The share of this worker in the plan of the copy; `None` if it is not shared.
    share: Option<ShareKey>,
    /// The rows that this run remembers; `None` for a state that others write.
    known: Option<RememberedRows>,
    /// Records that the next transaction writes first.
    unwritten: UnwrittenRecords,
}

impl PostgresState {
    /// Opens or creates the state for writing, migrating older tables.
    ///
    /// # Errors
    /// If the tables are newer or foreign, another run writes the state, or the server refuses or fails.
    pub(crate) fn open(copy: &DatabaseCopy) -> Result<Self, StateError> {
        let link = ServerLink::new(copy.address.clone());
        // A server that cannot be reached at all is an error at once.
        drop(link.session()?);
        let mut retries = link.retries();
        loop {
            match Self::open_once(copy) {
                // The right of a former run may be watched for 20 seconds, in which the server may fail over (O646).
                Err(StateError::Postgres(failure)) => retries.wait_after(failure)?,
                opened => return opened,
            }
            link.give_up();
        }
    }

    fn open_once(copy: &DatabaseCopy) -> Result<Self, StateError> {
        let link = Arc::new(ServerLink::new(copy.address.clone()));
        let session = link.session()?;
        if copy.must_exist {
            TABLES.check(&session, &copy.address)?;
        } else {
            TABLES.migrate(&session, &copy.address)?;
        }
        let id = || {
            let known = session.optional("SELECT id FROM copy WHERE name = $1", &[&copy.name])?;
            if known.is_some() || copy.must_exist {
                return Ok(known.map(|row| row.try_get::<_, i64>(0)).transpose()?);
            }
            // The update changes nothing, and returns the row even if another process inserted it first.
            let sql = "INSERT INTO copy (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id";
            Ok(Some(session.one(sql, &[&copy.name])?.try_get(0)?))
        };
        let id = id().map_err(|fault| link.error(fault))?.ok_or_else(|| copy.missing())?;
        let writing = Arc::new(ServerLink::new(copy.address.clone()));
        let right = lease::take(&writing, id, &copy.claimant)?;
        let writer = Some(NumberedWriter::new(writing, right));
        let known = Some(RememberedRows::default());
        Ok(Self { writer, ..Self::reading(link, id, known) })
    }

    /// Checks that the server answers, and that its tables can be used. Nothing is created.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached, or its tables cannot be used.
    pub(crate) fn probe(copy: &DatabaseCopy) -> Result<(), PostgresError> {
        let link = ServerLink::new(copy.address.clone());
        let session = link.session()?;
        TABLES.probe(&session, &copy.address)
    }

    /// Opens the state only for reading, also beside a run.
    ///
    /// # Errors
    /// If there is none, the tables are of another version, or the server refuses or fails.
    pub(crate) fn open_beside(copy: &DatabaseCopy) -> Result<Self, StateError> {
        let link = Arc::new(ServerLink::new(copy.address.clone()));
        let session = link.session()?;
        TABLES.check(&session, &copy.address)?;
        let found = session.optional("SELECT id FROM copy WHERE name = $1", &[&copy.name]);
        let found = found.and_then(|row| Ok(row.map(|row| row.try_get::<_, i64>(0)).transpose()?));
        let id = found.map_err(|fault| link.error(fault))?.ok_or_else(|| copy.missing())?;
        Ok(Self::reading(link, id, None))
    }

    /// Removes a copy without content. Failures are ignored.
    pub(crate) fn remove_empty(copy: &DatabaseCopy) {
        let Ok(state) = Self::open_beside(copy) else { return };
        let is_empty = state.export(&mut |_| ControlFlow::Break(())).is_ok_and(|all| all.is_continue());
        if let (true, Ok(session)) = (is_empty, state.link.session()) {
            let sql = "DELETE FROM copy WHERE id = $1 AND token IS NULL AND next_id = 1";
            if session.execute(sql, &[&state.copy]).is_ok_and(|removed| removed == 1) {
                let _ = session.execute("DELETE FROM beat WHERE copy = $1", &[&state.copy]);
            }
        }
    }

    fn reading(link: Arc<ServerLink>, copy: i64, known: Option<RememberedRows>) -> Self {
        let unwritten = UnwrittenRecords::default();
        Self { link, copy, writer: None, records_changes: false, share: None, known, unwritten }
    }

    /// Returns `false` if a table has no row of the copy; `true` if it has, or others may write some.
    fn may_have(&self, table: CopyTable) -> Result<bool, StateError> {
        Ok(self.known.as_ref().map_or(Ok(true), |known| known.may_have(&self.link, self.copy, table))?)
    }

    fn read<T>(&self, work: impl Fn(&Session) -> Result<T, EngineFault>) -> Result<T, StateError> {
        Ok(self.link.read(work)?)
    }

    fn count(&self, sql: &str, values: &Values<'_>) -> Result<u64, StateError> {
        self.read(|session| row::count(&session.one(sql, values)?, 0))
    }

    fn is(&self, sql: &str, values: &Values<'_>) -> Result<bool, StateError> {
        self.read(|session| Ok(session.one(sql, values)?.try_get(0)?))
    }

    /// Carries out work in one transaction, which also writes the records that wait for one.
    fn write<T>(&mut self, work: impl Fn(&Session, i64) -> Result<T, EngineFault>) -> Result<T, StateError> {
        let (copy, unwritten) = (self.copy, &self.unwritten);
        let Some(writer) = &mut self.writer else { return Err(self.only_read().into()) };
        let written = writer.write(|session| {
            unwritten.write(session, copy)?;
            work(session, copy)
        })?;
        self.unwritten = UnwrittenRecords::default();
        Ok(written)
    }

    /// Carries out work that cannot be repeated in one transaction, which also writes the records that wait for one.
    fn write_once<T>(
        &mut self,
        work: impl FnOnce(&Session) -> Result<T, EngineFault>,
    ) -> Result<T, StateError> {
        let (copy, unwritten) = (self.copy, &self.unwritten);
        let Some(writer) = &mut self.writer else { return Err(self.only_read().into()) };
        let written = writer.write_once(|session| {
            unwritten.write(session, copy)?;
            work(session)
        })?;
        self.unwritten = UnwrittenRecords::default();
        Ok(written)
    }

    fn only_read(&self) -> PostgresError {
        let place = self.link.address.shown.clone();
        PostgresError::Damaged { place, what: "it was opened to be read".to_owned() }
    }
}

impl ReadState for PostgresState {
    fn place(&self) -> String {
        self.link.address.shown.clone()
    }

    fn longest_uri(&self) -> Option<usize> {
        Some(LONGEST_URI)
    }

    fn reader(&self) -> Result<Box<dyn ReadState>, StateError> {
        Ok(Box::new(Self::reading(Arc::clone(&self.link), self.copy, self.known.clone())))
    }

    fn intents(&self) -> Result<Vec<(IntentId, Vec<Operation>)>, StateError> {
        let sql = "SELECT id, version, operations FROM intent WHERE copy = $1 ORDER BY id";
        self.read(|session| {
            let read = |row: &tokio_postgres::Row| {
                let version = u32::try_from(row.try_get::<_, i64>(1)?).map_err(row::value)?;
                let operations = operations::from_bytes(version, row.try_get(2)?).map_err(row::value)?;
                Ok((IntentId(row.try_get(0)?), operations))
            };
            session.query(sql, &[&self.copy])?.iter().map(read).collect()
        })
    }

    fn changes(&self, limit: usize) -> Result<Vec<CopyChange>, StateError> {
        self.read(|session| changes::first(session, self.copy, limit))
    }
}

impl CopyState for PostgresState {
    fn sharing(&mut self) -> Option<&mut dyn SharePlan> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
