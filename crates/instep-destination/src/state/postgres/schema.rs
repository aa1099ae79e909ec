//! The tables of states in PostgreSQL, through all versions. All copies of a database share them; each statement names
//! one copy.

use tokio_postgres::error::SqlState;

use super::{
    address::Address,
    error::{EngineFault, PostgresError},
    link::{Session, quoted},
};

/// The statements that lead from version `n` to version `n + 1`. Never edited once released.
const STEPS: &[&str] = &[VERSION_1];

/// `COLLATE "C"` is the order of bytes, as everywhere. Rows that are updated often leave room in their pages.
const VERSION_1: &str = r#"
CREATE TABLE copy (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE,
    next_id bigint NOT NULL DEFAULT 1, token text, holder text, folder text, grp bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE beat (
    copy bigint PRIMARY KEY, token text NOT NULL, beat bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE held (
    copy bigint NOT NULL, uri text COLLATE "C" NOT NULL, id bigint NOT NULL, sets bigint NOT NULL,
    length bigint NOT NULL, digests bytea NOT NULL, lastmod text, datetime text, etag text, media_type text, links text,
    path text COLLATE "C" NOT NULL, name text COLLATE "C", racy boolean NOT NULL DEFAULT false, pack bigint,
    "offset" bigint, packed bigint, PRIMARY KEY (copy, uri)
) WITH (fillfactor = 90);
CREATE INDEX held_by_name ON held (copy, left(COALESCE(name, path), 600));
CREATE TABLE owed (
    copy bigint NOT NULL, set_id bigint NOT NULL, uri text COLLATE "C" NOT NULL, change text NOT NULL,
    attempts bigint NOT NULL, why text NOT NULL, length bigint, digests bytea NOT NULL, lastmod text, datetime text,
    etag text, media_type text, links text, extra text, PRIMARY KEY (copy, set_id, uri)
);
CREATE TABLE gone (
    copy bigint NOT NULL, set_id bigint NOT NULL, uri text COLLATE "C" NOT NULL, micros bigint NOT NULL,
    PRIMARY KEY (copy, set_id, uri)
);
CREATE TABLE pack (
    id bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, key text COLLATE "C" NOT NULL, bytes bigint,
    dead bigint NOT NULL DEFAULT 0, PRIMARY KEY (copy, id), UNIQUE (copy, key)
);
CREATE TABLE source (
    id bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, url text COLLATE "C" NOT NULL,
    PRIMARY KEY (copy, id), UNIQUE (copy, url)
);
CREATE TABLE set_of_resources (
    copy bigint NOT NULL, id bigint NOT NULL, uri text COLLATE "C" NOT NULL, source bigint, datetime text, last_uri text,
    last_datetime text, last_change text, document text, position bigint NOT NULL DEFAULT 0, newest text, leading_digest bytea,
    PRIMARY KEY (copy, id), UNIQUE (copy, uri)
);
CREATE TABLE document (
    copy bigint NOT NULL, uri text COLLATE "C" NOT NULL, etag text, last_modified text, digest bytea, at text, extra text,
    PRIMARY KEY (copy, uri)
);
CREATE TABLE setting (
    copy bigint NOT NULL, name text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (copy, name)
);
CREATE TABLE intent (
    id bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, version bigint NOT NULL, operations bytea NOT NULL,
    PRIMARY KEY (copy, id)
);
CREATE TABLE change (
    sequence bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, change text NOT NULL, uri text NOT NULL,
    path text NOT NULL, length bigint, digests bytea NOT NULL, lastmod text, datetime text, PRIMARY KEY (copy, sequence)
);
CREATE TABLE run (
    id bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, started text NOT NULL, finished text, what text NOT NULL,
    exit_code bigint, summary text, source bigint, PRIMARY KEY (copy, id)
);
CREATE TABLE problem (
    copy bigint NOT NULL, run bigint NOT NULL, kind text COLLATE "C" NOT NULL, count bigint NOT NULL, uri text,
    message text NOT NULL, PRIMARY KEY (copy, run, kind)
);
CREATE TABLE reached (
    copy bigint NOT NULL, minute bigint NOT NULL, at bigint NOT NULL, datetime bigint NOT NULL, PRIMARY KEY (copy, minute)
);
"#;

/// Attempts at making the tables: others may be making them at the same time.
const ATTEMPTS: u32 = 5;

fn newest() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

/// Makes the tables, or brings older ones up to date, in one transaction.
///
/// # Errors
/// If they are newer or something else's, the login may not make them, or the server fails.
pub(super) fn migrate(session: &Session, address: &Address) -> Result<(), PostgresError> {
    let mut attempt = 1;
    loop {
        let found = found(session, address)?.unwrap_or(0);
        if found == newest() {
            return Ok(());
        }
        match session.batch(&script(found, &address.schema)) {
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
pub(super) fn probe(session: &Session, address: &Address) -> Result<(), PostgresError> {
    found(session, address).map(drop)
}

/// Checks that the tables are there and of this version.
///
/// # Errors
/// If they are not, or the server fails.
pub(super) fn check(session: &Session, address: &Address) -> Result<(), PostgresError> {
    match found(session, address)? {
        Some(found) if found == newest() => Ok(()),
        _ => Err(PostgresError::Missing { place: address.shown.clone() }),
    }
}

fn script(from: u32, schema: &str) -> String {
    let schema = quoted(schema);
    let mut script = "BEGIN; SET LOCAL synchronous_commit TO on;".to_owned();
    if from == 0 {
        // An operator may have made the schema: then the login needs no permission for the database.
        script.push_str(&format!(
            "DO $$ BEGIN IF to_regnamespace($name${schema}$name$) IS NULL THEN CREATE SCHEMA {schema}; END IF; END $$;
             CREATE TABLE {schema}.version (version bigint NOT NULL); INSERT INTO {schema}.version VALUES (0);"
        ));
    }
    for step in STEPS.iter().skip(from as usize) {
        script.push_str(step);
    }
    script.push_str(&format!("UPDATE {schema}.version SET version = {}; COMMIT;", newest()));
    script
}

/// Returns the version of the tables; `None` if there are none.
fn found(session: &Session, address: &Address) -> Result<Option<u32>, PostgresError> {
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
        EngineFault::Value(what) | EngineFault::TooManySets(what) => {
            PostgresError::Damaged { place: place(), what }
        }
    })?;
    match version.map(u32::try_from) {
        Some(Ok(found)) if found > newest() => {
            Err(PostgresError::Newer { place: place(), found, known: newest() })
        }
        Some(Ok(found)) => Ok(Some(found)),
        None if !is_used => Ok(None),
        _ => Err(PostgresError::Foreign { place: place(), schema: address.schema.clone() }),
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
