//! The file of the catalogue; what each engine does is in its contract.

use crate::catalogue::{Catalogue, CatalogueError, DatabaseError, Observation, Resource};
use resourcesync::Uri;

fn found(number: usize) -> Observation {
    let uri = format!("http://x/{number}");
    Observation::Found(Resource::new([&[0], uri.as_bytes()].concat(), Uri::parse(&uri).unwrap()))
}

fn new() -> (tempfile::TempDir, Catalogue) {
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
    catalogue.complete_baseline(1).unwrap();
    (folder, catalogue)
}

#[test]
fn a_newer_schema_and_a_foreign_database_are_refused() {
    let (folder, catalogue) = new();
    let path = catalogue.place().to_owned();
    drop(catalogue);
    let database = rusqlite::Connection::open(&path).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    let refused = Catalogue::open(&path).unwrap_err();
    let database = |error| match error {
        CatalogueError::Database(error) => error,
        other => panic!("{other}"),
    };
    assert!(matches!(*database(refused), DatabaseError::Newer { found: 99, .. }));
    let foreign = folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute("CREATE TABLE a (b)", []).unwrap();
    assert!(matches!(*database(Catalogue::open(&foreign).unwrap_err()), DatabaseError::Foreign { .. }));
    let none = folder.path().join("none.db");
    std::fs::write(&none, "this is no database, but a text that is long enough for its header").unwrap();
    assert!(matches!(*database(Catalogue::open(&none).unwrap_err()), DatabaseError::Open { .. }));
}

#[test]
fn dropped_changes_give_their_space_back() {
    let (_folder, catalogue) = new();
    catalogue.record((0..20_000).map(found).collect()).unwrap();
    catalogue.forget_changes(20_000).unwrap();
    let (before, after) = catalogue.compact().unwrap();
    assert!(after < before);
    let snapshot = catalogue.snapshot().unwrap();
    assert_eq!((snapshot.resources(1).count(), snapshot.changes(1, 0).count()), (20_000, 0));
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}
