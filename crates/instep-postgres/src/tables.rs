//! Tables through all their versions.

use tokio_postgres::error::SqlState;

use crate::{
    address::Address,
    error::{EngineFault, PostgresError},
    link::{Session, quoted},
};

/// Tables of one kind in a schema of their own, with a table `version` that says which version they have.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The statements that lead from version `n` to version `n + 1`. Never edited once released.
    pub steps: &'static [&'static str],
}

/// Attempts at making the tables: others may be making them at the same time.
const ATTEMPTS: u32 = 5;

impl Tables {
    fn newest(self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// Makes the tables, or brings older ones up to date, in one transaction.
    ///
    /// # Errors
    /// If they are newer or something else's, the login may not make them, or the server fails.
    pub fn migrate(self, session: &Session, address: &Address) -> Result<(), PostgresError> {
        let mut attempt = 1;
        loop {
            let found = self.found(session, address)?.unwrap_or(0);
            if found == self.newest() {
                return Ok(());
            }
            match session.batch(&self.script(found, &address.schema)) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    // Not the reason, and a connection that is gone has no transaction.
                    let _ = session.batch("ROLLBACK");
                    if attempt == ATTEMPTS || !is_race(&error) {
                        return Err(PostgresError::of(&address.shown, error));
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Checks that nothing there keeps the tables from being made.
    ///
    /// # Errors
    /// If they are newer or something else's, or the server fails.
    pub fn probe(self, session: &Session, address: &Address) -> Result<(), PostgresError> {
        self.found(session, address).map(drop)
    }

    /// Checks that the tables are there and of this version.
    ///
    /// # Errors
    /// If they are not, or the server fails.
    pub fn check(self, session: &Session, address: &Address) -> Result<(), PostgresError> {
        match self.found(session, address)? {
            Some(found) if found == self.newest() => Ok(()),
            _ => Err(PostgresError::Missing { place: address.shown.clone() }),
        }
    }

    fn script(self, from: u32, schema: &str) -> String {
        let schema = quoted(schema);
        let mut script = "BEGIN; SET LOCAL synchronous_commit TO on;".to_owned();
        if from == 0 {
            // An operator may have made the schema: then the login needs no permission for the database.
            script.push_str(&format!(
                "DO $$ BEGIN IF to_regnamespace($name${schema}$name$) IS NULL THEN CREATE SCHEMA {schema}; END IF; END $$;
                 CREATE TABLE {schema}.version (version bigint NOT NULL); INSERT INTO {schema}.version VALUES (0);"
            ));
        }
        for step in self.steps.iter().skip(from as usize) {
            script.push_str(step);
        }
        script.push_str(&format!("UPDATE {schema}.version SET version = {}; COMMIT;", self.newest()));
        script
    }

    /// Returns the version of the tables; `None` if there are none.
    fn found(self, session: &Session, address: &Address) -> Result<Option<u32>, PostgresError> {
        let place = || address.shown.clone();
        let read = || {
            let sql = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'version'),
                       EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1)";
            let row = session.one(sql, &[&address.schema])?;
            let (is_ours, is_used): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
            if !is_ours {
                return Ok((None, is_used));
            }
            let sql = format!("SELECT version FROM {}.version", quoted(&address.schema));
            let version = session.optional(&sql, &[])?.map(|row| row.try_get::<_, i64>(0)).transpose()?;
            Ok((version, true))
        };
        let (version, is_used) = read().map_err(|fault: EngineFault| match fault {
            EngineFault::Engine(error) if is_of_another_form(&error) => {
                PostgresError::Foreign { place: place(), schema: address.schema.clone() }
            }
            EngineFault::Engine(error) => PostgresError::of(&address.shown, error),
            EngineFault::Value(what) => PostgresError::Damaged { place: place(), what },
        })?;
        match version.map(u32::try_from) {
            Some(Ok(found)) if found > self.newest() => {
                Err(PostgresError::Newer { place: place(), found, known: self.newest() })
            }
            Some(Ok(found)) => Ok(Some(found)),
            None if !is_used => Ok(None),
            _ => Err(PostgresError::Foreign { place: place(), schema: address.schema.clone() }),
        }
    }
}

fn is_of_another_form(error: &tokio_postgres::Error) -> bool {
    let forms = [SqlState::UNDEFINED_COLUMN, SqlState::UNDEFINED_TABLE, SqlState::DATATYPE_MISMATCH];
    error.code().map_or(!error.is_closed(), |code| forms.contains(code))
}

/// Returns `true` if another process made the same tables at the same time.
fn is_race(error: &tokio_postgres::Error) -> bool {
    let races = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    error.code().is_some_and(|code| races.contains(code))
}
