//! Scans of real folders against what the catalogue then knows and has logged.

use std::{
    fs,
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    time::{Duration, SystemTime},
};

use crate::{
    NoMonitor,
    scan::{DifferenceKind, check},
};

use super::folder::Folder;

#[test]
fn the_first_scan_records_a_baseline_without_changes() {
    let folder = Folder::new();
    folder.write("a.txt", "one");
    folder.write("b/c.html", "two");
    let report = folder.scan();
    assert_eq!((report.recorded.created, report.hashed, report.seen), (2, 2, 2));
    assert!(report.at < report.completed);
    assert_eq!(folder.log(), [""; 0]);
    let resources = folder.resources();
    assert_eq!(
        resources.iter().map(|it| it.uri.as_str()).collect::<Vec<_>>(),
        ["http://x/a.txt", "http://x/b/c.html"]
    );
    let page = &resources[1].state;
    assert_eq!(page.media_type.as_ref().unwrap().as_str(), "text/html");
    assert_eq!(page.length, Some(3));
    assert_eq!(
        page.digests.to_string(),
        "sha-256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"
    );
    folder.check();
}

#[test]
fn created_updated_and_deleted_files_are_logged_once() {
    let folder = Folder::new();
    folder.write("gone", "1");
    folder.write("same", "2");
    folder.write("new", "3");
    folder.scan();
    folder.remove("gone");
    folder.write("new", "333");
    folder.write("sub/born", "4");
    folder.scan();
    folder.scan();
    assert_eq!(folder.log(), ["updated new", "created sub/born", "deleted gone"]);
    folder.check();
}

#[test]
fn a_settled_file_is_not_opened_again() {
    let folder = Folder::new();
    folder.write("a", "1");
    assert_eq!(folder.scan().hashed, 1);
    assert_eq!(folder.scan().hashed, 0);
}

#[test]
fn a_file_hashed_right_after_its_change_is_not_opened_again_and_its_next_change_is_seen() {
    let folder = Folder::new();
    folder.write("a", "0");
    folder.scan();
    for round in 1..10 {
        assert_eq!(folder.scan().hashed, 0);
        folder.write("a", &round.to_string());
        assert_eq!(folder.scan().recorded.updated, 1, "round {round}");
    }
}

#[test]
fn a_new_time_over_equal_bytes_is_no_change() {
    let folder = Folder::new();
    folder.write("a", "1");
    folder.scan();
    let published = folder.resources();
    folder.set_modified("a", SystemTime::UNIX_EPOCH + Duration::from_secs(5));
    let report = folder.scan();
    assert_eq!((report.recorded.updated, report.recorded.refreshed), (0, 1));
    assert_eq!(folder.log(), [""; 0]);
    assert_eq!(folder.resources()[0].state, published[0].state);
}

#[test]
fn s4_a_replaced_file_of_equal_size_and_time_is_found_by_its_inode() {
    let folder = Folder::new();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    folder.write("a", "one");
    folder.set_modified("a", long_ago);
    folder.scan();
    folder.write("b~", "two");
    folder.set_modified("b~", long_ago);
    fs::rename(folder.path("b~"), folder.path("a")).unwrap();
    folder.scan();
    assert_eq!(folder.log(), ["updated a"]);
    folder.check();
}

#[test]
fn a_renamed_tree_is_deleted_there_and_created_here() {
    let folder = Folder::new();
    for name in ["old/a", "old/b/c", "old-b", "old.txt", "z"] {
        folder.write(name, name);
    }
    folder.scan();
    fs::rename(folder.path("old"), folder.path("new")).unwrap();
    folder.scan();
    let mut log = folder.log();
    log.sort();
    assert_eq!(log, ["created new/a", "created new/b/c", "deleted old/a", "deleted old/b/c"]);
    folder.check();
}

#[test]
fn names_are_walked_in_the_order_of_the_catalogue() {
    let folder = Folder::new();
    for name in ["a/b", "a-b", "a.b", "a0", "a b/c", "b", "a/b.c/d", "a/b-c"] {
        folder.write(name, name);
    }
    folder.scan();
    let again = folder.scan();
    assert_eq!((again.seen, again.hashed), (8, 0));
    let keys: Vec<_> = folder.resources().into_iter().map(|resource| resource.key).collect();
    assert!(keys.is_sorted());
    folder.check();
}

#[test]
fn s11_private_hidden_and_own_files_are_not_published() {
    let mut folder = Folder::new();
    for name in
        ["a", ".hidden", "a~", "#a#", "resourcesync/list.xml", "robots.txt", "instep.toml", ".git/config"]
    {
        folder.write(name, "x");
    }
    folder.write("private", "x");
    fs::set_permissions(folder.path("private"), fs::Permissions::from_mode(0o600)).unwrap();
    folder.write("closed/a", "x");
    fs::set_permissions(folder.path("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink("/etc/passwd", folder.path("link")).unwrap();
    symlink("/etc", folder.path("linked")).unwrap();
    let report = folder.scan();
    assert_eq!(folder.uris(), ["a"]);
    assert_eq!(report.skipped, 4);
    folder.options.private_too = true;
    folder.scan();
    assert_eq!(folder.uris(), ["a", "closed/a", "private"]);
}

#[test]
fn s12_any_name_becomes_a_uri() {
    let folder = Folder::new();
    for name in ["a b&c.txt", "100%?#.txt", "caf\u{e9}"] {
        folder.write(name, "x");
    }
    folder.scan();
    assert_eq!(folder.uris(), ["100%25%3F%23.txt", "a%20b&c.txt", "caf%C3%A9"]);
    for resource in folder.resources() {
        assert_eq!(folder.holdings.key_of(resource.uri.as_str()), resource.key);
        assert!(folder.holdings.open(&resource).is_ok());
    }
}

#[test]
fn a_part_of_the_folder_is_scanned_by_itself() {
    let folder = Folder::new();
    for name in ["a", "sub/b", "sub/c", "sub-d"] {
        folder.write(name, name);
    }
    folder.scan();
    folder.write("a", "changed");
    folder.write("sub/b", "changed");
    folder.remove("sub/c");
    folder.write("sub/new/e", "created");
    folder.remove("sub-d");
    let report = folder.scan_paths(&["sub"]);
    assert_eq!(report.seen, 2);
    folder.scan_paths(&["a", "sub-d", "no/such/file", ".git/x"]);
    let mut log = folder.log();
    log.sort();
    assert_eq!(log, ["created sub/new/e", "deleted sub-d", "deleted sub/c", "updated a", "updated sub/b"]);
    folder.check();
    assert_eq!(folder.scan().recorded.updated, 0);
}

#[test]
fn a_file_that_becomes_a_folder_and_back_is_followed() {
    let folder = Folder::new();
    folder.write("a", "file");
    folder.write("a-b", "between a and a/");
    folder.scan();
    folder.remove("a");
    folder.write("a/b", "inside");
    folder.scan_paths(&["a"]);
    folder.check();
    fs::remove_dir_all(folder.path("a")).unwrap();
    folder.write("a", "file again");
    folder.scan();
    folder.check();
    assert_eq!(folder.log().len(), 4);
}

#[test]
fn other_algorithms_are_no_change_of_a_resource() {
    let mut folder = Folder::new();
    folder.write("a", "1");
    folder.write("b", "2");
    folder.scan();
    folder.options.algorithms = vec![resourcesync::Algorithm::Md5];
    folder.write("b", "3");
    let report = folder.scan();
    assert_eq!((report.hashed, report.recorded.described, report.recorded.updated), (2, 1, 1));
    assert_eq!(folder.log(), ["updated b"]);
    let digests = folder.resources()[0].state.digests.to_string();
    assert_eq!(digests, "md5:c4ca4238a0b923820dcc509a6f75849b");
    assert_eq!(folder.scan().recorded.described, 0);
}

#[test]
fn s6_datetimes_grow_strictly_although_the_clock_steps_back() {
    let mut folder = Folder::new();
    folder.write("a", "0");
    folder.scan();
    for round in 0..5 {
        folder.step_clock(-3_600_000_000);
        folder.write("a", &"x".repeat(round + 2));
        folder.write(&format!("n{round}"), "x");
        folder.scan();
        folder.reopen();
    }
    let changes = folder.changes();
    assert_eq!(changes.len(), 10);
    assert!(changes.windows(2).all(|pair| pair[0].datetime < pair[1].datetime));
    assert!(changes.iter().map(|change| change.sequence).eq(1..=10));
}

#[test]
fn new_states_are_kept_and_known_bytes_are_not() {
    let mut folder = Folder::new();
    let spool = folder.keep_states();
    folder.write("a", "one");
    folder.scan();
    folder.scan();
    assert_eq!(spool.trim().unwrap().states, 0);
    for text in ["two", "three", "two"] {
        folder.write("a", text);
        folder.scan();
    }
    assert_eq!(spool.trim().unwrap().states, 2);
    for change in folder.changes() {
        let mut text = String::new();
        spool.find(&change.state.digests).unwrap().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(Some(text.len() as u64), change.state.length);
    }
}

#[test]
fn a_check_tells_what_differs_and_records_nothing() {
    let folder = Folder::new();
    for name in ["same", "differs", "missing"] {
        folder.write(name, name);
    }
    folder.scan();
    folder.write("differs", "DIFFERS");
    folder.remove("missing");
    folder.write("unknown", "new");
    let before = folder.catalogue.snapshot().unwrap().head();
    let mut reported = Vec::new();
    let options = folder.options.clone().of_every_file();
    let report = check(&folder.holdings, &folder.catalogue, &options, &NoMonitor, &mut |it| {
        reported.push((it.uri.as_str()["http://x/".len()..].to_owned(), it.kind));
    });
    assert_eq!(report.unwrap().hashed, 3);
    reported.sort();
    let expected = [
        ("differs".to_owned(), DifferenceKind::Differs),
        ("missing".to_owned(), DifferenceKind::Missing),
        ("unknown".to_owned(), DifferenceKind::Unknown),
    ];
    assert_eq!(reported, expected);
    let snapshot = folder.catalogue.snapshot().unwrap();
    assert_eq!(snapshot.head(), before);
    assert_eq!(snapshot.damage().unwrap(), [""; 0]);
}

#[test]
fn o695_a_path_that_a_fault_hides_is_reported_and_counts_as_unreadable() {
    let folder = Folder::new();
    folder.write("a", "a");
    folder.scan();
    // No file system has names of this length, so looking for one fails.
    let hidden = "b".repeat(300);
    let report = folder.scan_paths(&[hidden.as_str()]);
    assert_eq!((report.unreadable, report.recorded.deleted), (1, 0));
}
