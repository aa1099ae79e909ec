//! Tests beyond the contract: servers that refuse, fail and come back, and several runs over one copy.

mod earlier;
mod encrypted;
mod faults;
mod plans;
mod runs;
mod takeover;
mod together;

use instep_postgres::Session;
use instep_testkit::PostgresServer;

use super::{DatabaseCopy, PostgresError, PostgresState};
use crate::{
    Error,
    state::{
        KEPT_POINTS, ReachedPoint, ReadFollowed as _, ReadLog as _, ReadState as _, StateError,
        WriteGroups as _, WriteRecords as _,
    },
};

fn copy(url: &str, folder: &str) -> DatabaseCopy {
    DatabaseCopy::at(url, "copy", folder).unwrap()
}

fn refusal(url: &str) -> PostgresError {
    match PostgresState::open(&copy(url, "folder")) {
        Err(StateError::Postgres(error)) => error,
        other => panic!("{url}: {other:?}"),
    }
}

/// Writes a setting in a transaction of its own.
fn put(state: &mut PostgresState, name: &str, value: &str) -> Result<(), StateError> {
    state.set_setting(name, value)?;
    state.make_durable()
}

fn sql(url: &str, sql: &str) {
    Session::open(&copy(url, "").address).unwrap().batch(sql).unwrap();
}

#[test]
fn o377_what_a_server_refuses_is_said_in_a_line_with_what_to_do_and_without_the_password() {
    let Some(server) = PostgresServer::start() else { return };
    let login =
        |user: &str, database: &str| format!("postgres://{user}@127.0.0.1:{}/{database}", server.port());
    let closed = format!("postgres://locked:wrong@127.0.0.1:{}/copies", instep_testkit::free_port().unwrap());
    let refused = [
        (login("locked:wrong", "copies"), 2, "password authentication failed"),
        (login("locked:secret", "copies"), 2, "permission denied for database copies; its owner can"),
        (
            login("instep:secret", "nothing"),
            2,
            "database \"nothing\" does not exist; make it with CREATE DATABASE",
        ),
        (closed, 8, "Connection refused"),
    ];
    for (url, exit_code, words) in refused {
        let error = Error::from(StateError::from(refusal(&url)));
        let text = crate::error::error_chain(&error);
        assert_eq!(error.exit_code(), exit_code, "{text}");
        assert!(text.contains(words) && text.contains("127.0.0.1"), "{text}");
        assert!(!text.contains("wrong") && !text.contains("secret") && !text.contains('\n'), "{text}");
    }
    // Nothing has been created yet.
    let missing = PostgresState::open_beside(&copy(&server.url(), "folder")).unwrap_err();
    assert!(matches!(missing, StateError::Postgres(PostgresError::Missing { .. })), "{missing}");
}

#[test]
fn o1090_o1091_a_missing_password_and_a_reserved_schema_are_wrong_usage() {
    let Some(server) = PostgresServer::start() else { return };
    let without_password = format!("postgres://locked@127.0.0.1:{}/copies", server.port());
    let reserved = format!("{}?schema=pg_mine", server.url());
    let refused =
        [(without_password, "asks for a password: set PGPASSWORD"), (reserved, "schema name \"pg_mine\"")];
    for (url, words) in refused {
        let error = Error::from(StateError::from(refusal(&url)));
        assert_eq!(error.exit_code(), 2, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn tables_of_a_newer_version_or_of_others_are_left_alone() {
    let Some(server) = PostgresServer::start() else { return };
    let url = server.url();
    drop(PostgresState::open(&copy(&url, "folder")).unwrap());
    sql(&url, "UPDATE version SET version = 99");
    for error in [refusal(&url).into(), PostgresState::open_beside(&copy(&url, "folder")).unwrap_err()] {
        let error = Error::from(error);
        assert_eq!(error.exit_code(), 10, "{error}");
        assert!(error.to_string().contains("has version 99"), "{error}");
    }
    sql(
        &url,
        "CREATE SCHEMA other; CREATE TABLE other.version (number text); CREATE SCHEMA more; CREATE TABLE more.x ()",
    );
    for schema in ["other", "more"] {
        let error = refusal(&format!("{url}?schema={schema}"));
        assert!(matches!(error, PostgresError::Foreign { .. }), "{error}");
    }
}

#[test]
fn copies_of_one_database_do_not_see_each_other() {
    let Some(server) = PostgresServer::start() else { return };
    let [one, two] = ["one", "two"].map(|name| DatabaseCopy::at(&server.url(), name, name).unwrap());
    let [mut first, mut second] = [&one, &two].map(|copy| PostgresState::open(copy).unwrap());
    put(&mut first, "url", "http://one/").unwrap();
    put(&mut second, "url", "http://two/").unwrap();
    assert_eq!(first.set("http://two/l.xml").unwrap().0, 0);
    assert_eq!(second.known_set("http://two/l.xml").unwrap(), None);
    let by_url = format!("{}?copy=two", server.url());
    let named = PostgresState::open_beside(&DatabaseCopy::at(&by_url, "one", "").unwrap()).unwrap();
    assert_eq!(named.setting("url").unwrap().as_deref(), Some("http://two/"));
    assert!(!named.place().contains("copy="));
}

#[test]
fn one_run_at_a_time_writes_a_copy() {
    let Some(server) = PostgresServer::start() else { return };
    let mut first = PostgresState::open(&copy(&server.url(), "here")).unwrap();
    put(&mut first, "by", "first").unwrap();
    // A run on another machine waits, because the heartbeat shows that the first one is alive.
    let refused = PostgresState::open(&copy(&server.url(), "elsewhere")).unwrap_err();
    let error = Error::from(refused);
    assert_eq!(error.exit_code(), 7, "{error}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    put(&mut first, "by", "first again").unwrap();
    // A run that has the lock of the folder knows that the last run is dead. If it was not, it writes nothing more.
    let mut second = PostgresState::open(&copy(&server.url(), "here")).unwrap();
    let refused = put(&mut first, "by", "a zombie").unwrap_err();
    assert!(matches!(refused, StateError::Postgres(PostgresError::Taken { .. })), "{refused}");
    drop(first);
    put(&mut second, "by", "second").unwrap();
    drop(second);
    // The right was given back, so nobody waits.
    let mut third = PostgresState::open(&copy(&server.url(), "elsewhere")).unwrap();
    assert_eq!(third.setting("by").unwrap().as_deref(), Some("second"));
    put(&mut third, "by", "third").unwrap();
    drop(third);
    // A run was killed on another machine, and its heartbeat is unchanged.
    sql(&server.url(), "UPDATE copy SET token = 'of the dead', folder = 'far away'");
    let fourth = PostgresState::open(&copy(&server.url(), "here")).unwrap();
    assert_eq!(fourth.setting("by").unwrap().as_deref(), Some("third"));
}

#[test]
fn the_points_of_a_copy_are_bounded() {
    let Some(server) = PostgresServer::start() else { return };
    let mut state = PostgresState::open(&copy(&server.url(), "here")).unwrap();
    let minutes = format!(
        "INSERT INTO reached (copy, minute, at, datetime)
         SELECT (SELECT id FROM copy), n, n * 60000000, n FROM generate_series(0::bigint, {}) AS n",
        KEPT_POINTS + 2
    );
    sql(&server.url(), &minutes);
    let at = |minute: i64| resourcesync::DateTime::from_unix_micros(minute * 60_000_000);
    state.note_reached(ReachedPoint::new(at(KEPT_POINTS + 3), at(0))).unwrap();
    state.make_durable().unwrap();
    let all = state.reached_since(at(0)).unwrap();
    assert_eq!((all.len() as i64, all[0].at), (KEPT_POINTS, at(4)));
}
