//! Tests of opening and migrating SQLite files.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
    sync::Barrier,
    thread,
};

use rusqlite::Connection;

use super::{Beside, DatabaseError, Schema, backup_path, compact, open_reader};

const FIRST: &str = "CREATE TABLE IF NOT EXISTS word (text TEXT NOT NULL)";
const SECOND: &str = "CREATE TABLE later (number INTEGER); INSERT INTO later SELECT length(text) FROM word";

fn schema(steps: &'static [&'static str]) -> Schema {
    let settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";
    Schema { application_id: 0x696e_7374, steps, settings, has_unnumbered_files: false }
}

fn version(connection: &Connection) -> u32 {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

fn number(connection: &Connection) -> i64 {
    connection.query_row("SELECT number FROM later", [], |row| row.get(0)).unwrap()
}

fn write_first(path: &Path) {
    let old = schema(&[FIRST]).open(path).unwrap();
    old.execute("INSERT INTO word VALUES ('seven..')", []).unwrap();
}

#[test]
fn an_older_file_is_migrated_and_kept_beside_and_a_newer_one_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    write_first(&path);
    let new = schema(&[FIRST, SECOND]).open(&path).unwrap();
    assert_eq!((version(&new), number(&new)), (2, 7));
    drop(new);
    let refused = schema(&[FIRST]).open(&path).unwrap_err();
    assert!(matches!(refused, DatabaseError::Newer { found: 2, known: 1, .. }), "{refused}");
    assert!(matches!(schema(&[FIRST]).open_beside(&path), Err(DatabaseError::Newer { .. })));
    let kept = schema(&[FIRST]).open(&backup_path(&path, 1)).unwrap();
    assert_eq!(version(&kept), 1);
}

#[test]
fn o477_an_older_file_in_a_folder_whose_name_is_not_utf_8_is_copied_and_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&folder).unwrap();
    let path = folder.join("state.db");
    write_first(&path);
    assert_eq!(number(&schema(&[FIRST, SECOND]).open(&path).unwrap()), 7);
    assert_eq!(version(&open_reader(&backup_path(&path, 1), 64).unwrap()), 1);
}

#[test]
fn b23_who_only_reads_an_older_file_sees_it_migrated_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    write_first(&path);
    let before = fs::read(&path).unwrap();
    let beside = schema(&[FIRST, SECOND]).open_beside(&path).unwrap();
    assert_eq!(number(&beside.connect(64).unwrap()), 7);
    let copy = beside.path().to_owned();
    drop(beside);
    assert!(!copy.exists());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!backup_path(&path, 1).exists());
    assert!(schema(&[FIRST]).open_beside(&dir.path().join("none.db")).is_err());
    assert!(!dir.path().join("none.db").exists());
}

#[test]
fn o980_reading_a_file_leaves_nothing_beside_it_unless_another_process_uses_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    write_first(&path);
    let before = files(dir.path());
    for schema in [schema(&[FIRST]), schema(&[FIRST, SECOND])] {
        let beside = schema.open_beside(&path).unwrap();
        drop(beside.connect(64).unwrap());
        drop(beside);
        assert_eq!(files(dir.path()), before);
    }
    let writer = schema(&[FIRST]).open(&path).unwrap();
    drop(schema(&[FIRST]).open_beside(&path).unwrap());
    writer.execute("INSERT INTO word VALUES ('more')", []).unwrap();
    drop(schema(&[FIRST]).open_beside(&path).unwrap());
    let count = "SELECT count(*) FROM word";
    assert_eq!(writer.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
    // As a killed process leaves it.
    let killed = dir.path().join("killed.db");
    for ending in ["", "-wal"] {
        fs::copy(format!("{}{ending}", path.display()), format!("{}{ending}", killed.display())).unwrap();
    }
    let log = fs::read(dir.path().join("killed.db-wal")).unwrap();
    drop(schema(&[FIRST]).open_beside(&killed).unwrap());
    assert_eq!(fs::read(dir.path().join("killed.db-wal")).unwrap(), log, "transactions stay where they are");
}

#[test]
fn o444_processes_that_open_an_older_file_at_the_same_time_migrate_it_once() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let path = dir.path().join(format!("{round}.db"));
        write_first(&path);
        let together = Barrier::new(8);
        let open = || {
            together.wait();
            schema(&[FIRST, SECOND]).open(&path).map(|opened| (version(&opened), number(&opened)))
        };
        thread::scope(|scope| {
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            for opened in opening {
                assert_eq!(opened.join().unwrap().unwrap(), (2, 7));
            }
        });
        assert_eq!(version(&schema(&[FIRST]).open(&backup_path(&path, 1)).unwrap()), 1);
    }
}

#[test]
fn a_migration_that_fails_leaves_the_old_version() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    write_first(&path);
    let failed = schema(&[FIRST, "CREATE TABLE later (number); nonsense"]).open(&path).unwrap_err();
    assert!(matches!(failed, DatabaseError::Migration { from: 1, .. }), "{failed}");
    assert_eq!(version(&schema(&[FIRST]).open(&path).unwrap()), 1);
}

#[test]
fn the_database_of_another_program_is_refused_unless_it_is_of_before_the_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE word (text); INSERT INTO word VALUES ('a')")
        .unwrap();
    assert!(matches!(schema(&[FIRST]).open(&path), Err(DatabaseError::Foreign { .. })));
    let taken_up = Schema { has_unnumbered_files: true, ..schema(&[FIRST, SECOND]) }.open(&path).unwrap();
    assert_eq!((version(&taken_up), number(&taken_up)), (2, 1));
    assert!(backup_path(&path, 0).exists());
    fs::write(
        dir.path().join("text.db"),
        "no database, but longer than the header of one would have to be".repeat(4),
    )
    .unwrap();
    assert!(matches!(schema(&[FIRST]).open(&dir.path().join("text.db")), Err(DatabaseError::Open { .. })));
}

#[test]
fn c14_a_link_in_the_place_of_the_file_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (theirs, way) = (dir.path().join("theirs.db"), dir.path().join("way"));
    write_first(&theirs);
    fs::create_dir(dir.path().join("own")).unwrap();
    symlink(&theirs, dir.path().join("own/state.db")).unwrap();
    assert!(schema(&[FIRST, SECOND]).open(&dir.path().join("own/state.db")).is_err());
    assert!(open_reader(&dir.path().join("own/state.db"), 64).is_err());
    // The way to the folder is the operator's.
    symlink(dir.path(), &way).unwrap();
    assert_eq!(version(&schema(&[FIRST]).open(&way.join("theirs.db")).unwrap()), 1);
}

/// Returns the names and bytes of all files of a folder.
fn files(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn p5_a_file_that_nobody_writes_is_read_without_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["plain", "with 100%? of #them", "killed"] {
        let folder = dir.path().join(name);
        fs::create_dir(&folder).unwrap();
        let path = folder.join("state.db");
        write_first(&path);
        if name == "killed" {
            // As a killed process leaves them: a file without the last transactions, and a log that has them.
            let writing = schema(&[FIRST]).open(&path).unwrap();
            writing.execute("UPDATE word SET text = 'nineteen characters'", []).unwrap();
            for file in ["state.db", "state.db-wal"] {
                fs::copy(folder.join(file), dir.path().join(file)).unwrap();
            }
            drop(writing);
            fs::rename(dir.path().join("state.db"), &path).unwrap();
            fs::rename(dir.path().join("state.db-wal"), folder.join("state.db-wal")).unwrap();
        }
        let before = files(&folder);
        let text = |beside: &Beside| -> String {
            let connection = beside.connect(64).unwrap();
            connection.query_row("SELECT text FROM word", [], |row| row.get(0)).unwrap()
        };
        let is_killed = name == "killed";
        let expected = if is_killed { "nineteen characters" } else { "seven.." };
        assert_eq!(text(&schema(&[FIRST]).open_at_rest(&path).unwrap()), expected, "{name}");
        let migrated = schema(&[FIRST, SECOND]).open_at_rest(&path).unwrap();
        assert_eq!(number(&migrated.connect(64).unwrap()), expected.len() as i64, "{name}");
        assert_eq!(files(&folder), before, "{name}");
    }
}

#[test]
fn compacting_gives_space_back() {
    let dir = tempfile::tempdir().unwrap();
    let connection = schema(&[FIRST]).open(&dir.path().join("state.db")).unwrap();
    connection.execute("INSERT INTO word VALUES (?1)", ["x".repeat(1 << 20)]).unwrap();
    connection.execute("DELETE FROM word", []).unwrap();
    let (before, after) = compact(&connection).unwrap();
    assert!(after < before / 10, "{before} -> {after}");
}
