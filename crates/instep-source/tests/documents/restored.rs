//! A Source whose catalogue was restored from a backup.

use std::fs;

use instep_source::{ErrorKind, NoMonitor, backup, publish, restore};

use super::{folder, options, read, write};

/// The resource is published as created after the backup, and is gone before the restoration, so that nothing in the
/// catalogue can show that it was deleted.
#[test]
fn o137_change_lists_begin_anew_after_a_restoration_because_changes_since_the_backup_are_unknown() {
    let folder = folder(&[("a", b"a")]);
    let options = options(folder.path());
    publish(&options, &NoMonitor).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("backup.zip");
    backup(&options.state, &file).unwrap();
    write(folder.path(), "b", b"b");
    publish(&options, &NoMonitor).unwrap();
    let member = read(folder.path(), "changelist.xml").1.remove(0);
    let lost = read(folder.path(), member.loc.as_str()).1.remove(0).metadata.datetime.unwrap();

    fs::remove_file(folder.path().join("b")).unwrap();
    fs::rename(&options.state, elsewhere.path().join("lost")).unwrap();
    restore(&file, &options.state).unwrap();
    write(folder.path(), "c", b"c");
    publish(&options, &NoMonitor).unwrap();

    let (index, members) = read(folder.path(), "changelist.xml");
    let from = index.metadata.unwrap().from.unwrap();
    assert!(from > lost, "a reader that has the change of {lost} sees a gap before {from}");
    let changes = read(folder.path(), members[0].loc.as_str()).1;
    let names: Vec<_> = changes.iter().map(|change| change.loc.as_str()).collect();
    assert_eq!(names, ["http://example.org/c"], "later changes are listed");
    let (list, resources) = read(folder.path(), "resourcelist.xml");
    assert!(list.metadata.unwrap().at.unwrap() > lost);
    assert_eq!(resources.len(), 2);
}

/// A killed process leaves the log of its catalogue, and the catalogue alone is moved away.
#[test]
fn o431_no_backup_is_restored_beside_the_log_of_another_catalogue() {
    let folder = folder(&[("a", b"a")]);
    let options = options(folder.path());
    publish(&options, &NoMonitor).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("backup.zip");
    backup(&options.state, &file).unwrap();
    for database in ["catalogue.db", "hub.db"] {
        let log = options.state.join(format!("{database}-wal"));
        fs::write(&log, "pages of another one").unwrap();
        let _ = fs::remove_file(options.state.join("catalogue.db"));
        let refused = restore(&file, &options.state).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Usage);
        assert!(refused.to_string().contains(&log.display().to_string()), "{refused}");
        assert!(!options.state.join("catalogue.db").exists());
        fs::remove_file(log).unwrap();
    }
    restore(&file, &options.state).unwrap();
    publish(&options, &NoMonitor).unwrap();
}
