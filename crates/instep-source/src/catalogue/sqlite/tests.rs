//! The plans of queries over large tables.

use rusqlite::Connection;

use super::{
    reader::{CHANGES, RESOURCES},
    schema,
};

/// Returns the steps of SQLite for a query, one a line.
fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement.query_map([1, 1, 1], |row| row.get::<_, String>(3)).unwrap();
    steps.map(Result::unwrap).collect::<Vec<_>>().join("\n")
}

#[test]
fn s13_a_page_begins_behind_the_last_key_and_costs_the_same_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let connection = schema::SCHEMA.open(&folder.path().join("catalogue.db")).unwrap();
    for (sql, search) in [(RESOURCES, "(key>?)"), (CHANGES, "(rowid>?)")] {
        let plan = plan(&connection, sql);
        assert!(plan.starts_with("SEARCH") && plan.ends_with(search), "{sql}: {plan}");
    }
}
