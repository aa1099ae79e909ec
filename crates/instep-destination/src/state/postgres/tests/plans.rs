//! The plans by which the server finds rows.

use super::*;
use crate::state::postgres::{held::NAMED, packs};

#[test]
fn o273_names_are_found_by_their_index_in_a_database_without_statistics_too() {
    let Some(server) = PostgresServer::start() else { return };
    let copy = copy(&server.url(), "folder");
    drop(PostgresState::open(&copy).unwrap());
    let session = Session::open(&copy.address).unwrap();
    let named = format!("SELECT uri{NAMED}");
    let statements = [
        (&*named, "bigint, text", "1, 'a'"),
        (packs::IN_FOLDER, "bigint, text, text, text, text", "1, 'a/', 'a0', 'a/', 'a0'"),
        (packs::FREE_NAMES, "bigint, text[], text[]", "1, '{a}', '{a}'"),
    ];
    let planned = |number: usize, (statement, types, values): (&str, &str, &str)| {
        session.batch(&format!("PREPARE with_{number} ({types}) AS {statement}")).unwrap();
        let rows = session.query(&format!("EXPLAIN EXECUTE with_{number} ({values})"), &[]).unwrap();
        let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        lines.join("\n")
    };
    let expect_the_index = |round: usize| {
        for (number, statement) in statements.into_iter().enumerate() {
            let plan = planned(10 * round + number, statement);
            assert!(plan.contains("held_by_name") && !plan.contains("held_pkey"), "{plan}");
            assert!(!plan.contains("Seq Scan"), "{plan}");
        }
    };
    expect_the_index(0);
    let rows = "INSERT INTO held (copy, uri, id, sets, length, digests, path)
                SELECT 1, 'http://x.example/' || n, n, 1, 5, '', 'folder/' || n FROM generate_series(1, 3000) n";
    session.batch(rows).unwrap();
    expect_the_index(1);
    session.batch("ANALYZE held").unwrap();
    expect_the_index(2);
}
