//! Connections to the server of a state: opened when they are needed, and again when they are lost.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio_postgres::{Client, Row, RowStream, Statement, types::ToSql};

use crate::{
    address::Address,
    error::{EngineFault, PostgresError},
    tls,
    waiting::{driver, wait},
};

/// Values of the places of a statement.
pub type Values<'a> = [&'a (dyn ToSql + Sync)];

/// The time that a run waits for a server that is gone: longer than a standby needs to take over.
const PATIENCE: Duration = Duration::from_secs(90);

/// The first pause and the longest one between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// A connection, with the statements that it has prepared.
pub struct Session {
    client: Client,
    statements: Mutex<BTreeMap<String, Statement>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn open(address: &Address) -> Result<Self, PostgresError> {
        let place = || address.shown.clone();
        let unreachable =
            |source: std::io::Error| PostgresError::Unreachable { place: place(), source: source.into() };
        let tls = tls::connector(&address.trust).map_err(|what| PostgresError::Url { what })?;
        let driver = driver().map_err(unreachable)?;
        let config = address.config.clone();
        let task = driver.clone();
        let (client, connection) = wait(driver.spawn(async move { config.connect(tls).await }))
            .map_err(|error| unreachable(std::io::Error::other(error)))?
            .map_err(|error| PostgresError::of(&address.shown, error))?;
        // Ends with its client.
        task.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the state ended");
            }
        });
        let session = Self { client, statements: Mutex::default() };
        // The order of groups and of what is recorded with them needs commits that stay.
        let settings = format!(
            "SET search_path TO {}; SET client_min_messages TO warning;
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
            quoted(&address.schema)
        );
        session.batch(&settings).map_err(|error| PostgresError::of(&address.shown, error))?;
        Ok(session)
    }

    /// Runs statements that give nothing back.
    ///
    /// # Errors
    /// If one fails; those before it stay, unless they are part of a transaction.
    pub fn batch(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        wait(self.client.batch_execute(sql))
    }

    /// Returns the rows of a statement, which is prepared once.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn query(&self, sql: &str, values: &Values<'_>) -> Result<Vec<Row>, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(wait(self.client.query(&statement, values))?)
    }

    /// Returns the one row of a statement.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn one(&self, sql: &str, values: &Values<'_>) -> Result<Row, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(wait(self.client.query_one(&statement, values))?)
    }

    /// Returns the row of a statement that may have none.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn optional(&self, sql: &str, values: &Values<'_>) -> Result<Option<Row>, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(wait(self.client.query_opt(&statement, values))?)
    }

    /// Runs a statement; returns how many rows it touched.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn execute(&self, sql: &str, values: &Values<'_>) -> Result<u64, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(wait(self.client.execute(&statement, values))?)
    }

    /// Returns the rows of a statement as they come.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn stream(&self, sql: &str, values: &Values<'_>) -> Result<RowStream, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(wait(self.client.query_raw(&statement, values.iter().copied()))?)
    }

    /// Returns `true` if the connection is lost.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    fn prepared(&self, sql: &str) -> Result<Statement, EngineFault> {
        let known = |statements: &BTreeMap<String, Statement>| statements.get(sql).cloned();
        if let Some(statement) = known(&self.statements.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(statement);
        }
        let statement = wait(self.client.prepare(sql))?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// A connection that is opened again when it is lost; shared by those who only read.
pub struct ServerLink {
    /// The server.
    pub address: Address,
    patience: Duration,
    current: Mutex<Option<Arc<Session>>>,
}

impl std::fmt::Debug for ServerLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ServerLink").field(&self.address).finish()
    }
}

impl ServerLink {
    /// Returns a link that waits for a server for as long as a standby needs to take over; no connection is opened yet.
    pub fn new(address: Address) -> Self {
        Self { address, patience: PATIENCE, current: Mutex::new(None) }
    }

    /// Returns a link that waits no longer than this: for who tries again by other means.
    pub fn with_patience(address: Address, patience: Duration) -> Self {
        Self { patience, ..Self::new(address) }
    }

    /// Returns the connection, opened now if there is none.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn session(&self) -> Result<Arc<Session>, PostgresError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = current.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(Session::open(&self.address)?);
        *current = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Gives the connection up: the next use opens another.
    pub fn give_up(&self) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Reads, again if the connection is lost meanwhile.
    ///
    /// # Errors
    /// If the work fails, or the server does not come back.
    pub fn read<T>(&self, work: impl Fn(&Session) -> Result<T, EngineFault>) -> Result<T, PostgresError> {
        let mut patience = self.patience();
        loop {
            let failure =
                match self.session().and_then(|session| work(&session).map_err(|fault| self.error(fault))) {
                    Ok(value) => return Ok(value),
                    Err(failure) => failure,
                };
            patience.wait_after(failure)?;
            self.give_up();
        }
    }

    /// Returns the error for a fault.
    pub fn error(&self, fault: EngineFault) -> PostgresError {
        fault.at(&self.address.shown)
    }

    /// Returns the waiting for a failure of this server.
    pub fn patience(&self) -> Patience {
        Patience { since: Instant::now(), most: self.patience, pause: PAUSES.0 }
    }
}

/// The waiting for a failure to pass.
#[derive(Debug)]
pub struct Patience {
    since: Instant,
    most: Duration,
    pause: Duration,
}

impl Patience {
    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The failure, if it will not pass, or lasts too long.
    pub fn wait_after(&mut self, failure: PostgresError) -> Result<(), PostgresError> {
        if !failure.may_pass() || self.since.elapsed() > self.most {
            return Err(failure);
        }
        tracing::debug!(error = &failure as &dyn std::error::Error, "waiting for the server");
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSES.1);
        Ok(())
    }
}

/// Returns a name as an identifier of SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
