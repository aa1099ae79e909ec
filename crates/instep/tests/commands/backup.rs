//! Backups of a Source, and Sources that are restored from them.

use std::fs;

use crate::support::{folder, publish, run};

#[test]
fn p1_a_backup_brings_back_what_a_source_knows_of_its_resources() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    publish(folder.path());
    fs::write(folder.path().join("data/a.txt"), "changed").unwrap();
    publish(folder.path());
    let written = run(folder.path(), &["catalogue", "backup", "data", "source.zip"], 0);
    assert!(written.contains("catalogue.db"), "{written}");
    let again = run(folder.path(), &["catalogue", "backup", "data", "source.zip"], 2);
    assert!(again.contains("exists"), "{again}");
    let refused = run(folder.path(), &["catalogue", "restore", "data", "source.zip"], 2);
    assert!(refused.contains("has a catalogue"), "{refused}");

    fs::remove_dir_all(folder.path().join("data/.instep")).unwrap();
    run(folder.path(), &["catalogue", "restore", "data", "source.zip"], 0);
    run(folder.path(), &["catalogue", "check", "data"], 0);
    fs::remove_file(folder.path().join("data/b.txt")).unwrap();
    publish(folder.path());
    let changes = fs::read_to_string(folder.path().join("data/resourcesync/changelist-000002.xml")).unwrap();
    // The list begins at the restore and has only the change after it: the resources are known and not new (O137).
    assert!(changes.contains("change=\"deleted\""), "{changes}");
    assert!(!changes.contains("change=\"created\"") && !changes.contains("change=\"updated\""), "{changes}");
}

#[test]
fn p1_what_is_not_a_backup_leaves_nothing_behind() {
    let folder = folder(&[("data/a.txt", "a"), ("broken.zip", "PK")]);
    run(folder.path(), &["catalogue", "restore", "data", "broken.zip"], 1);
    assert!(!folder.path().join("data/.instep/catalogue.db").exists());
    run(folder.path(), &["catalogue", "backup", "data", "source.zip"], 2);
    assert!(!folder.path().join("source.zip").exists());
}

#[test]
fn o805_a_file_that_is_no_backup_is_called_so() {
    let folder = folder(&[("data/a.txt", "a"), ("notes.txt", "no backup at all")]);
    let refused = run(folder.path(), &["catalogue", "restore", "data", "notes.txt"], 1);
    assert!(refused.contains("Cannot read notes.txt: it is not a backup of a Source"), "{refused}");
}

#[test]
fn o412_a_state_that_was_copied_is_restored_too_and_begins_new_lists() {
    let folder = folder(&[("data/a.txt", "a")]);
    publish(folder.path());
    let state = folder.path().join("data/.instep");
    let saved = folder.path().join("saved");
    fs::create_dir(&saved).unwrap();
    fs::copy(state.join("catalogue.db"), saved.join("catalogue.db")).unwrap();
    fs::write(folder.path().join("data/b.txt"), "b").unwrap();
    publish(folder.path());
    fs::remove_file(folder.path().join("data/b.txt")).unwrap();
    fs::remove_dir_all(&state).unwrap();
    let empty = run(folder.path(), &["catalogue", "restore", "data", "data"], 2);
    assert!(empty.contains("no Source was published from"), "{empty}");
    run(folder.path(), &["catalogue", "restore", "data", "saved"], 0);
    publish(folder.path());
    let index = fs::read_to_string(folder.path().join("data/resourcesync/changelist.xml")).unwrap();
    assert!(index.contains("changelist-000002.xml") && !index.contains("changelist-000001.xml"), "{index}");
}
