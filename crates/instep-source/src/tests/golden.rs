//! State files of earlier versions, as those versions wrote them: each later version opens them, and reads what they
//! say.

use std::{fs, path::Path};

use crate::catalogue::Catalogue;

/// Opens a copy of a golden catalogue: the file itself stays as that version left it.
fn open(version: &str) -> (Catalogue, tempfile::TempDir) {
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(version).join("catalogue.db");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalogue.db");
    fs::copy(golden, &path).unwrap();
    (Catalogue::open(&path).unwrap(), folder)
}

#[test]
fn the_catalogue_of_0_1_0_is_taken_up_with_all_that_it_says() {
    let (catalogue, _folder) = open("state-0.1.0");
    let snapshot = catalogue.snapshot().unwrap();
    let resources: Vec<_> = snapshot.resources(1).map(Result::unwrap).collect();
    let names: Vec<_> = resources.iter().map(|it| it.uri.as_str().rsplit_once("8198/").unwrap().1).collect();
    assert_eq!(names, ["a.txt", "b.json", "letters/c.html", "letters/e.txt"]);
    assert_eq!(
        resources[0].state.digests.to_string(),
        "sha-256:8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f"
    );
    let changes: Vec<_> = snapshot.changes(1, 0).map(Result::unwrap).collect();
    let kinds: Vec<_> = changes.iter().map(|it| it.change.as_str()).collect();
    assert_eq!(kinds, ["updated", "updated", "created", "deleted", "updated", "created", "deleted"]);
    assert!(changes[1].patch.is_some());
    assert_eq!(snapshot.head().sequence, 7);
    assert!(catalogue.now() > changes[6].datetime);
    assert!(snapshot.meta("published").unwrap().is_some());
}
