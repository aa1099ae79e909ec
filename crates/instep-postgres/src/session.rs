//! A connection to the server of a state, used from threads that block.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
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

/// The prepared statements up to which a connection is used again.
const MOST_STATEMENTS: usize = 256;

/// A connection, with the statements that it has prepared.
pub struct Session {
    /// The server and the schema.
    pub(crate) address: Address,
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
        let session = Self { address: address.clone(), client, statements: Mutex::default() };
        // The order of groups and of what is recorded with them needs commits that stay. Each statement names one copy and
        // has one good plan: one is made with the first use, instead of six that are compared, and none is compiled. Engines
        // that do not know a setting pass it over.
        let settings = format!(
            "SET search_path TO {}; SET client_min_messages TO warning;
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
             SELECT set_config(name, value, false) FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'))
             AS wanted (name, value) WHERE current_setting(name, true) <> value",
            quoted(&address.schema)
        );
        session.batch(&settings).map_err(|error| PostgresError::of(&address.shown, error))?;
        Ok(session)
    }

    /// Runs statements without results.
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

    /// Returns `true` if the server keeps little for this connection.
    pub(crate) fn is_light(&self) -> bool {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).len() < MOST_STATEMENTS
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

/// Returns a name as an identifier of SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
