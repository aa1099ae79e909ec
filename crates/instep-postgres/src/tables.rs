//! Tables through all their versions.

use tokio_postgres::error::SqlState;

use crate::{
    address::Address,
    error::{EngineFault, PostgresError},
    form::TablesForm,
    session::{Session, quoted},
};

/// Tables of one kind in their own schema, with a table `version` that records their version.
///
/// During an upgrade, processes of two versions work with the same tables. A version that needs more tables or
/// columns therefore adds them by [`TableStep::Adds`]. Only changes that cannot be additions are a
/// [`TableStep::Breaks`]; older programs refuse such tables.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The statements that lead from one form of the tables to the next. Never edited once released.
    pub steps: &'static [TableStep],
}

/// A step from one form of tables to the next.
#[derive(Clone, Copy, Debug)]
pub enum TableStep {
    /// Statements after which only a program that knows them may use the tables: each has its own version number.
    Breaks(&'static str),
    /// Statements that only add: a table, an index, a column with a default value. A program of the same version that
    /// does not know them continues, and may also start afterwards.
    Adds(&'static str),
}

/// The most attempts to create the tables. An attempt fails if another process creates them at the same time.
const ATTEMPTS: u32 = 5;

impl Tables {
    fn newest(self) -> TablesForm {
        let breaks = self.steps.iter().filter(|step| matches!(step, TableStep::Breaks(_))).count();
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        TablesForm { version: count(breaks), additions: count(self.steps.len() - breaks) }
    }

    /// Creates the tables, or migrates older ones, in one transaction.
    ///
    /// # Errors
    /// If they are newer or foreign, the login may not create them, or the server fails.
    pub fn migrate(self, session: &Session, address: &Address) -> Result<(), PostgresError> {
        let found = self.found(session, address)?;
        self.migrate_from(found, session, address)
    }

    fn migrate_from(
        self,
        mut found: Option<TablesForm>,
        session: &Session,
        address: &Address,
    ) -> Result<(), PostgresError> {
        let mut attempt = 1;
        loop {
            let form = found.unwrap_or_default();
            if self.has_all(form) {
                return Ok(());
            }
            session.note_form(None);
            match session.batch(&self.script(form, &address.schema)) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    // A failure of this is not the cause of the error, and a lost connection has no open transaction.
                    let _ = session.batch("ROLLBACK");
                    if attempt == ATTEMPTS || !is_race(&error) {
                        return Err(PostgresError::of(&address.shown, error));
                    }
                    attempt += 1;
                    found = self.found(session, address)?;
                }
            }
        }
    }

    /// Checks that nothing prevents the creation of the tables.
    ///
    /// # Errors
    /// If they are newer or foreign, or the server fails.
    pub fn probe(self, session: &Session, address: &Address) -> Result<(), PostgresError> {
        self.found(session, address).map(drop)
    }

    /// Checks that the tables exist, and migrates older ones.
    ///
    /// # Errors
    /// If they do not, or the server fails.
    pub fn check(self, session: &Session, address: &Address) -> Result<(), PostgresError> {
        match self.found(session, address)? {
            Some(form) => self.migrate_from(Some(form), session, address),
            None => Err(PostgresError::Missing { place: address.shown.clone() }),
        }
    }

    /// Returns `true` if nothing is left to be made; tables of a later program may have more.
    fn has_all(self, found: TablesForm) -> bool {
        let newest = self.newest();
        found.version == newest.version && found.additions >= newest.additions
    }

    fn script(self, from: TablesForm, schema: &str) -> String {
        let schema = quoted(schema);
        let mut script = "BEGIN; SET LOCAL synchronous_commit TO on;".to_owned();
        if from == TablesForm::default() {
            // An operator may have made the schema: then the login needs no permission for the database.
            script.push_str(&format!(
                "DO $$ BEGIN IF to_regnamespace($name${schema}$name$) IS NULL THEN CREATE SCHEMA {schema}; END IF; END $$;
                 CREATE TABLE {schema}.version (version bigint NOT NULL); INSERT INTO {schema}.version VALUES (0);"
            ));
        }
        // `ALTER TABLE` waits for other processes that migrate. If they have changed the form meanwhile, the script ends
        // with a serialization failure, and the attempt is repeated.
        script.push_str(&format!(
            "ALTER TABLE {schema}.version ADD COLUMN IF NOT EXISTS additions bigint NOT NULL DEFAULT 0;
             DO $$ BEGIN IF (SELECT (version, additions) <> ({}, {}) FROM {schema}.version)
             THEN RAISE EXCEPTION USING ERRCODE = 'serialization_failure'; END IF; END $$;",
            from.version, from.additions
        ));
        for step in self.steps.iter().skip((from.version + from.additions) as usize) {
            let (TableStep::Breaks(statements) | TableStep::Adds(statements)) = step;
            script.push_str(statements);
        }
        let TablesForm { version, additions } = self.newest();
        script.push_str(&format!(
            "UPDATE {schema}.version SET version = {version}, additions = {additions}; COMMIT;"
        ));
        script
    }

    /// Returns the form of the tables; `None` if there are none.
    fn found(self, session: &Session, address: &Address) -> Result<Option<TablesForm>, PostgresError> {
        if let Some(known) = session.form().filter(|known| known.version <= self.newest().version) {
            return Ok(Some(known));
        }
        let place = || address.shown.clone();
        let read = || {
            // The list of all tables is read only if the schema has none of ours: it takes longer than all statements
            // of a small run.
            let name = format!("{}.version", quoted(&address.schema));
            let sql = "SELECT to_regclass($1) IS NOT NULL";
            if !session.one(sql, &[&name])?.try_get::<_, bool>(0)? {
                // Both in one statement: another process may make them just now.
                let sql = "SELECT COALESCE(bool_or(tablename = 'version'), false), COUNT(*) > 0
                           FROM pg_catalog.pg_tables WHERE schemaname = $1";
                let row = session.one(sql, &[&address.schema])?;
                if !row.try_get::<_, bool>(0)? {
                    return Ok((None, row.try_get(1)?));
                }
            }
            // The first tables had no column for additions.
            let sql = format!(
                "SELECT version, COALESCE((to_jsonb(form)->>'additions')::bigint, 0) FROM {}.version AS form",
                quoted(&address.schema)
            );
            let read = |row: tokio_postgres::Row| Ok::<_, EngineFault>((row.try_get(0)?, row.try_get(1)?));
            let form: Option<(i64, i64)> = session.optional(&sql, &[])?.map(read).transpose()?;
            Ok((form, true))
        };
        let (form, is_used) = read().map_err(|fault: EngineFault| match fault {
            EngineFault::Engine(error) if is_of_another_form(&error) => {
                PostgresError::Foreign { place: place(), schema: address.schema.clone() }
            }
            EngineFault::Engine(error) => PostgresError::of(&address.shown, error),
            EngineFault::Value(what) => PostgresError::Damaged { place: place(), what },
        })?;
        let known = self.newest().version;
        match form.map(|(version, additions)| (u32::try_from(version), u32::try_from(additions))) {
            Some((Ok(found), _)) if found > known => {
                Err(PostgresError::Newer { place: place(), found, known })
            }
            Some((Ok(version), Ok(additions))) => {
                let form = TablesForm { version, additions };
                session.note_form(Some(form));
                Ok(Some(form))
            }
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
