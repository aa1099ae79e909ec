//! Contracts: the same tests for each engine of a database. Those that need a server share one, and run as one test.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the tests of a contract one after the other.
///
/// # Panics
/// At the end, with the names of the tests that failed.
pub fn keep_contract<T: FnOnce()>(tests: impl IntoIterator<Item = (&'static str, T)>) {
    let tests = tests.into_iter();
    let failed =
        tests.filter_map(|(name, test)| catch_unwind(AssertUnwindSafe(test)).is_err().then_some(name));
    let failed: Vec<_> = failed.collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// Returns statements that add to tables what a later version may add while this version still works with them: a column
/// and an index for each table, and a further table whose rows belong to an `owner`.
#[must_use]
pub fn additions_of_a_later_version(owner: &str) -> String {
    format!(
        "DO $$ DECLARE name text; BEGIN
             FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
                 EXECUTE format('ALTER TABLE %I ADD COLUMN of_later text NOT NULL DEFAULT ''x''', name);
                 EXECUTE format('CREATE INDEX %I ON %I (of_later)', name || '_of_later', name);
             END LOOP;
         END $$;
         CREATE TABLE of_later ({owner} bigint NOT NULL);
         ALTER TABLE version ADD COLUMN IF NOT EXISTS additions bigint NOT NULL DEFAULT 0;
         UPDATE version SET additions = additions + 1"
    )
}
