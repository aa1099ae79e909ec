//! Reasons why a database in PostgreSQL cannot be used: the state of a copy, a catalogue, or the record of a fleet. No
//! message has the password, because no value has it.

use std::{error::Error as _, io};

use tokio_postgres::error::{Severity, SqlState};

/// The refusal if a server asks for a password and there is none.
const NO_PASSWORD: &str = "it asks for a password: set PGPASSWORD or PGPASSFILE, or write ~/.pgpass";

/// A database in PostgreSQL, or tables in it, that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The URL is not that of a database.
    #[error("Not the URL of a database in PostgreSQL: {what}")]
    Url {
        /// The fault.
        what: String,
    },
    /// The server cannot be reached, or does not answer any more.
    #[error("Cannot reach the database {place}")]
    Unreachable {
        /// The database.
        place: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server refuses: user, password, database or permission.
    #[error("The server of {place} refuses: {what}")]
    Denied {
        /// The database.
        place: String,
        /// The message of the server.
        what: String,
    },
    /// The schema has foreign tables.
    #[error(
        "The schema {schema:?} of {place} has tables that are not of instep: name another schema (schema=NAME)"
    )]
    Foreign {
        /// The database.
        place: String,
        /// The schema.
        schema: String,
    },
    /// The tables are of a newer version (exit code 10).
    #[error(
        "The tables in {place} have version {found}; this program knows versions up to {known}: use the version that wrote them"
    )]
    Newer {
        /// The database.
        place: String,
        /// Their version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// The server has no state of the copy.
    #[error("There is no state of this copy in {place}")]
    Missing {
        /// The database.
        place: String,
    },
    /// Another process writes these tables (exit code 7).
    #[error("{place} is in use by {holder}")]
    Taken {
        /// The database.
        place: String,
        /// The process that has them.
        holder: String,
    },
    /// The server lost changes that it had confirmed.
    #[error("The server of {place} lost changes that it had confirmed: run again")]
    WentBack {
        /// The database.
        place: String,
    },
    /// The connection was lost while reading, and the rows have changed since.
    #[error("The connection to {place} was lost, and its tables have changed since: run again")]
    Interrupted {
        /// The database.
        place: String,
    },
    /// The server failed.
    #[error("Cannot use the database {place}")]
    Failed {
        /// The database.
        place: String,
        /// The reason.
        source: tokio_postgres::Error,
    },
    /// A row has a value that no version of instep writes.
    #[error("A row in {place} is damaged: {what}")]
    Damaged {
        /// The database.
        place: String,
        /// The fault.
        what: String,
    },
}

impl PostgresError {
    /// Returns the database concerned; empty for an invalid URL.
    pub fn place(&self) -> &str {
        match self {
            Self::Url { .. } => "",
            Self::Unreachable { place, .. }
            | Self::Denied { place, .. }
            | Self::Foreign { place, .. }
            | Self::Newer { place, .. }
            | Self::Missing { place }
            | Self::Taken { place, .. }
            | Self::WentBack { place }
            | Self::Interrupted { place }
            | Self::Failed { place, .. }
            | Self::Damaged { place, .. } => place,
        }
    }

    /// Returns the reason without the place, for an error that names the place itself.
    pub fn into_reason(self) -> Box<dyn std::error::Error + Send + Sync> {
        match self {
            Self::Unreachable { source, .. } => source,
            Self::Failed { source, .. } => source.into(),
            Self::WentBack { .. } => "the server lost changes that it had confirmed: run again".into(),
            Self::Interrupted { .. } => {
                "the connection was lost, and the tables have changed since: run again".into()
            }
            Self::Damaged { what, .. } => what.into(),
            other => other.into(),
        }
    }

    /// Returns the error for a failure of the server.
    pub fn of(place: &str, source: tokio_postgres::Error) -> Self {
        let place = place.to_owned();
        if is_refusal(&source) {
            let mut what = source
                .as_db_error()
                .map_or_else(|| NO_PASSWORD.to_owned(), |error| error.message().to_owned());
            if let Some(remedy) = source.code().and_then(remedy) {
                what = format!("{what}; {remedy}");
            }
            return Self::Denied { place, what };
        }
        if is_lost(&source) {
            Self::Unreachable { place, source: Box::new(source) }
        } else {
            Self::Failed { place, source }
        }
    }

    /// Returns `true` if another attempt may succeed soon: the server starts, fails over, cannot be reached now, or has no
    /// room.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Failed { source, .. } => is_passing(source),
            _ => false,
        }
    }
}

/// Returns what an operator can do about a refusal.
fn remedy(code: &SqlState) -> Option<&'static str> {
    match code {
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => Some(
            "its owner can let the login make a schema (GRANT CREATE ON DATABASE), or give it the one with these tables \
             (CREATE SCHEMA AUTHORIZATION, or GRANT ALL on the schema with its tables and sequences)",
        ),
        code if *code == SqlState::INVALID_CATALOG_NAME => Some("make it with CREATE DATABASE"),
        _ => None,
    }
}

/// Returns `true` if the server will refuse again until an operator has changed something.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let refusals = [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::RESERVED_NAME,
    ];
    lacks_password(error) || error.code().is_some_and(|code| refusals.contains(code))
}

/// Returns `true` if the server asks for a password and there is none. The client has no kind of error for this.
fn lacks_password(error: &tokio_postgres::Error) -> bool {
    error.source().is_some_and(|source| source.to_string() == "password missing")
}

/// Returns `true` if the connection is gone, or the server is about to end it.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    match error.as_db_error() {
        // The server ends the connection, or refuses it: it starts or stops, an operator ended the connection or lets nobody
        // into the database, or there are too many.
        Some(failure) if matches!(failure.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) => true,
        // A server that was a primary and is a standby now.
        Some(failure) => {
            *failure.code() == SqlState::READ_ONLY_SQL_TRANSACTION || failure.code().code().starts_with("08")
        }
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<io::Error>()),
    }
}

/// Returns `true` if the transaction lost against another one, and succeeds when it is tried again.
fn is_conflict(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
    })
}

/// Returns `true` if the server has no room now (disk, memory, locks), or the statement was ended from outside.
fn is_short(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        code.code().starts_with("53")
            || [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE].contains(code)
    })
}

/// Returns `true` if the server itself says that another attempt may succeed: it lost a conflict, or has no room now.
fn is_passing(error: &tokio_postgres::Error) -> bool {
    is_conflict(error) || is_short(error)
}

/// A failure within a piece of work, before it is known which database it belongs to.
#[derive(Debug)]
pub enum EngineFault {
    /// The server, or the connection to it.
    Engine(tokio_postgres::Error),
    /// A row that cannot be read, or a value that cannot be written.
    Value(String),
}

impl EngineFault {
    /// Returns `true` if the same work may succeed in another transaction, exactly as [`PostgresError::may_pass`] does of
    /// the error that becomes of it: a caller that repeats work by one of the two waits by the other.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Engine(error) if !is_refusal(error) && (is_lost(error) || is_passing(error)))
    }

    /// Returns the error for a fault of the database at a place.
    pub fn at(self, place: &str) -> PostgresError {
        match self {
            Self::Engine(error) => PostgresError::of(place, error),
            Self::Value(what) => PostgresError::Damaged { place: place.to_owned(), what },
        }
    }
}

impl From<tokio_postgres::Error> for EngineFault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Engine(error)
    }
}
