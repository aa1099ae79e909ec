//! The catalogue in a PostgreSQL database, which may have those of other Sources too.
//!
//! Readers share a connection, because each of them uses single statements. A snapshot has its own connection, and so
//! does the writer. If the server restarts or fails over, a publication waits and continues over a new connection. A
//! transaction whose answer was lost is recognised by its number (`NumberedWriter`).
//!
//! All Sources share the tables of one schema. The name of a Source is its base URL. A transaction begins by raising
//! the number `grp` in the row of its Source, under the token of its lease. Work may run more than once, because a
//! transaction that conflicted with another one or lost its connection is repeated; work that fails by itself is left
//! out then.
//!
//! A snapshot is a reading transaction (`REPEATABLE READ`). If its connection is lost it continues over another one as
//! long as nothing was recorded since, and otherwise ends with an error. Times continue after the datetime in the row
//! of the Source, whichever machine publishes next.

mod lookup;
mod moment;
mod moves;
mod reader;
mod row;
mod rows;
mod schema;
mod shared;
mod subscribers;
mod versions;
mod writer;
mod written;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

pub(super) use instep_postgres::PostgresError;
use instep_postgres::{Address, Claimant, LeaseOwners, NumberedWriter, ServerLink, Session};

use super::{
    CatalogueError, Head,
    engine::{CatalogueEngine, ReadCatalogue},
    shared::ReadShared,
    subscribers::ReadSubscribers,
};
use moment::SourceReader;
use schema::{SCHEMA, TABLES};
use shared::SharedReader;
use subscribers::SubscriberReader;
use writer::SourceWriter;

/// The largest number of bytes in a key. An entry of an index may have a third of a page, which is 2,704 bytes with
/// the other columns.
pub(super) const LONGEST_KEY: usize = 2_600;

const OWNERS: LeaseOwners = LeaseOwners { table: "source", given_back_if: "true" };

/// A Source in a database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseSource {
    address: Address,
    /// The URL as it was given, without a password.
    shown: String,
    /// The names that the Source may have in the database: the first one that exists is used; if none does, the first
    /// one is created.
    names: Vec<String>,
    claimant: Claimant,
    /// `true` if the URL has the name.
    is_named: bool,
}

impl DatabaseSource {
    /// Reads the URL of a catalogue. Unless the URL has the name of the Source, it is the first of `names` that the
    /// database has. `folder` is the unique name of the state folder.
    ///
    /// # Errors
    /// If it is not a URL of PostgreSQL.
    pub(super) fn at(url: &str, names: Vec<String>, folder: &str) -> Result<Self, PostgresError> {
        let address = Address::parse(url)?;
        let (shown, own) = (address.shown.clone(), address.source.clone());
        let (is_named, names) = (own.is_some(), own.map_or(names, |own| vec![own]));
        let claimant = Claimant::over(folder);
        Ok(Self { address: address.beside(SCHEMA)?, shown, names, claimant, is_named })
    }

    /// Stops to wait for the right to publish once a flag is set.
    #[cfg(feature = "serve")]
    pub(super) fn give_up_with(&mut self, flag: Arc<std::sync::atomic::AtomicBool>) {
        self.claimant.gives_up = flag;
    }

    /// Returns the URL without a password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns the URL without a password, by which later commands connect.
    pub(super) fn recorded(&self) -> &str {
        &self.address.recorded
    }

    /// Returns `true` if a URL leads to the same tables.
    pub(super) fn is_at(&self, url: &str) -> bool {
        self.address.is_that_of(url)
    }

    /// Checks that the server answers and that its tables can be used. Creates nothing.
    ///
    /// # Errors
    /// If the server does not answer, or its tables cannot be used.
    pub(super) fn probe(&self) -> Result<(), PostgresError> {
        TABLES.probe(&Session::open(&self.address)?, &self.address)
    }

    /// Returns `true` unless the URL names another Source.
    pub(super) fn may_be(&self, name: &str) -> bool {
        !self.is_named || self.names.iter().any(|own| own == name)
    }

    fn id(&self, session: &Session, link: &ServerLink) -> Result<Option<i64>, PostgresError> {
        for name in &self.names {
            let found = session.optional("SELECT id FROM source WHERE name = $1", &[name]);
            let found = found.and_then(|row| Ok(row.map(|row| row.try_get(0)).transpose()?));
            if let Some(id) = found.map_err(|fault| link.error(fault))? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

/// The catalogue of one Source in a database.
#[derive(Debug)]
pub(super) struct CatalogueDatabase {
    link: Arc<ServerLink>,
    source: i64,
    shared: SharedReader,
    subscribers: SubscriberReader,
    place: Box<Path>,
}

impl CatalogueDatabase {
    /// Opens the catalogue for writing; creates or migrates it if necessary. Also returns the last datetime that was
    /// assigned.
    ///
    /// # Errors
    /// If the tables are newer or belong to another program, another process publishes the Source, or the server
    /// refuses or fails.
    pub(super) fn open(database: &DatabaseSource) -> Result<(Self, SourceWriter, i64), CatalogueError> {
        let link = ServerLink::new(database.address.clone());
        // A server that cannot be reached at all is an error at once.
        drop(link.session()?);
        let mut retries = link.retries();
        loop {
            match Self::open_once(database) {
                // The right of a former publisher may be watched for 20 seconds, in which the server may fail over (O1093).
                Err(failure) if !database.claimant.gives_up.load(Ordering::Acquire) => {
                    retries.wait_after(failure)?;
                }
                opened => return Ok(opened?),
            }
            link.give_up();
        }
    }

    fn open_once(database: &DatabaseSource) -> Result<(Self, SourceWriter, i64), PostgresError> {
        let link = Arc::new(ServerLink::new(database.address.clone()));
        let session = link.session()?;
        TABLES.migrate(&session, &database.address)?;
        let source = match database.id(&session, &link)? {
            Some(source) => source,
            None => {
                let make = || {
                    // The update changes nothing. It makes the statement return the row whether or not it existed.
                    let sql = "INSERT INTO source (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name
                               RETURNING id";
                    Ok(session.one(sql, &[&database.names.first()])?.try_get::<_, i64>(0)?)
                };
                make().map_err(|fault| link.error(fault))?
            }
        };
        let writing = Arc::new(ServerLink::new(database.address.clone()));
        let mut lease = OWNERS.take(&writing, source, &database.claimant, &|| Ok(()))?;
        lease.begin_to_beat()?;
        let (_, clock) = writer::begin(&session, source).map_err(|fault| link.error(fault))?;
        drop(session);
        let writer = NumberedWriter::new(writing, lease);
        let writer = SourceWriter::new(Some(writer), source, database.shown.clone());
        Ok((Self::new(link, source, database, SharedReader::of_publisher), writer, clock))
    }

    /// Opens the catalogue for reading only, also while another process writes it. Every write fails.
    ///
    /// # Errors
    /// If there is none, the tables are of another version, or the server refuses or fails.
    pub(super) fn open_beside(
        database: &DatabaseSource,
    ) -> Result<(Self, SourceWriter, i64), CatalogueError> {
        let link = Arc::new(ServerLink::new(database.address.clone()));
        let session = link.session()?;
        TABLES.check(&session, &database.address)?;
        let missing = || PostgresError::Missing { place: database.shown.clone() };
        let source = database.id(&session, &link)?.ok_or_else(missing)?;
        let (_, clock) = writer::begin(&session, source).map_err(|fault| link.error(fault))?;
        drop(session);
        let writer = SourceWriter::new(None, source, database.shown.clone());
        Ok((Self::new(link, source, database, SharedReader::beside), writer, clock))
    }

    fn new(
        link: Arc<ServerLink>,
        source: i64,
        database: &DatabaseSource,
        shared: fn(&Address, i64) -> SharedReader,
    ) -> Self {
        let shared = shared(&database.address, source);
        let subscribers = SubscriberReader::new(&database.address, source);
        Self { link, source, shared, subscribers, place: PathBuf::from(&database.shown).into() }
    }
}

impl CatalogueEngine for CatalogueDatabase {
    fn reader(&self) -> Result<Box<dyn ReadCatalogue>, CatalogueError> {
        Ok(Box::new(SourceReader::new(Arc::clone(&self.link), self.source)))
    }

    fn moment(&self) -> Result<(Box<dyn ReadCatalogue>, Head), CatalogueError> {
        let link = ServerLink::new(self.link.address.clone());
        let (reader, head) = SourceReader::at_moment(link, self.source)?;
        Ok((Box::new(reader), head))
    }

    fn place(&self) -> &Path {
        &self.place
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn shared(&self) -> Option<&dyn ReadShared> {
        Some(&self.shared)
    }

    fn subscribers(&self) -> Option<&dyn ReadSubscribers> {
        Some(&self.subscribers)
    }

    fn name(&self) -> Result<Option<String>, CatalogueError> {
        let sql = "SELECT name FROM source WHERE id = $1";
        Ok(Some(self.link.read(|session| Ok(session.one(sql, &[&self.source])?.try_get(0)?))?))
    }

    #[cfg(feature = "serve")]
    fn end_waits(&self) {
        self.link.address.end_waits();
    }

    fn longest_key(&self) -> Option<usize> {
        Some(LONGEST_KEY)
    }
}

#[cfg(test)]
mod tests;
