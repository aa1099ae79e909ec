//! The guard of a Source: a scan that finds nearly everything deleted is not published.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use instep_source::{
    Content, Error, ErrorKind, LeftOut, MaxDeletions, NoMonitor, PublishMonitor, PublishOptions, Publisher,
    RecordingMonitor, ReportedChange, Unreadable, preview, publish,
};
use resourcesync::Uri;

const BASE: &str = "http://example.org/";

fn folder(files: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..files {
        fs::write(folder.path().join(format!("{number:03}.txt")), number.to_string()).unwrap();
    }
    folder
}

fn remove_all(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().extension().is_some_and(|end| end == "txt") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

fn document(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

fn lists(folder: &Path) -> String {
    let list = document(folder, "resourcesync/resourcelist.xml");
    list + &document(folder, "resourcesync/changelist-000001.xml")
}

#[test]
fn c2_an_emptied_folder_is_refused_and_published_as_deleted_only_when_asked_for() {
    let folder = folder(8);
    let mut options = PublishOptions::new(folder.path(), BASE);
    publish(&options, &NoMonitor).unwrap();
    let before = lists(folder.path());
    remove_all(folder.path());
    for _ in 0..2 {
        let error = publish(&options, &NoMonitor).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(matches!(error, Error::DeletionsRefused { deletions: 8, resources: 8, empty: true, .. }));
        assert_eq!(lists(folder.path()), before);
    }
    options.guard.allow_empty = true;
    assert_eq!(publish(&options, &NoMonitor).unwrap().deleted, 8);
}

#[test]
fn c2_more_deletions_than_allowed_are_refused_and_other_changes_are_published_with_the_next_run() {
    let folder = folder(40);
    let mut options = PublishOptions::new(folder.path(), BASE);
    publish(&options, &NoMonitor).unwrap();
    for number in 0..11 {
        fs::remove_file(folder.path().join(format!("{number:03}.txt"))).unwrap();
    }
    fs::write(folder.path().join("new.txt"), "new").unwrap();
    let error = publish(&options, &NoMonitor).unwrap_err();
    let Error::DeletionsRefused { deletions: 11, limit: 10, empty: false, .. } = error else {
        panic!("{error}")
    };
    assert!(!lists(folder.path()).contains("deleted"));
    fs::write(folder.path().join("000.txt"), "back").unwrap();
    let report = publish(&options, &NoMonitor).unwrap();
    assert_eq!(report.deleted, 10);
    assert!(lists(folder.path()).contains("new.txt"));
    options.guard.most = MaxDeletions::Percent(50);
    for number in 11..20 {
        fs::remove_file(folder.path().join(format!("{number:03}.txt"))).unwrap();
    }
    assert_eq!(publish(&options, &NoMonitor).unwrap().deleted, 9);
}

#[test]
fn o750_a_preview_shows_deletions_and_is_refused_if_the_publication_would_be() {
    let folder = folder(40);
    let mut options = PublishOptions::new(folder.path(), BASE);
    publish(&options, &NoMonitor).unwrap();
    for number in 0..11 {
        fs::remove_file(folder.path().join(format!("{number:03}.txt"))).unwrap();
    }
    for _ in 0..2 {
        let mut gone = 0;
        let error = preview(&options, &NoMonitor, &mut |_| gone += 1).unwrap_err();
        assert!(matches!(error, Error::DeletionsRefused { deletions: 11, limit: 10, .. }), "{error}");
        assert_eq!(gone, 11);
    }
    options.guard.most = MaxDeletions::Percent(50);
    preview(&options, &NoMonitor, &mut |_| {}).unwrap();
    assert_eq!(publish(&options, &NoMonitor).unwrap().deleted, 11);
}

#[test]
fn o750_a_preview_counts_what_is_new_as_the_guard_of_the_publication_does() {
    let folder = folder(8);
    let options = PublishOptions::new(folder.path(), BASE);
    publish(&options, &NoMonitor).unwrap();
    for number in 0..8 {
        let name = folder.path().join(format!("{number:03}.txt"));
        fs::rename(&name, name.with_extension("text")).unwrap();
    }
    // The set is not emptied: it has as many resources as before.
    preview(&options, &NoMonitor, &mut |_| {}).unwrap();
    let report = publish(&options, &NoMonitor).unwrap();
    assert_eq!((report.created, report.deleted), (8, 8));
}

#[test]
fn o810_changes_that_an_application_reports_delete_no_more_than_the_guard_allows() {
    let folder = folder(1);
    let names: Vec<String> = (0..20).map(|number| format!("disk/{number}.txt")).collect();
    fs::create_dir(folder.path().join("disk")).unwrap();
    names.iter().for_each(|name| fs::write(folder.path().join(name), name).unwrap());
    let mut publisher = Publisher::open(PublishOptions::new(folder.path(), BASE)).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    // As if the disk was unmounted.
    names.iter().for_each(|name| fs::remove_file(folder.path().join(name)).unwrap());
    fs::write(folder.path().join("new.txt"), "new").unwrap();
    let uri = |path: &str| Uri::parse(&format!("{BASE}{path}")).unwrap();
    let files: Vec<_> = names.iter().map(|name| ReportedChange::add(uri(name))).collect();
    for mut changed in [files, vec![ReportedChange::add(uri("disk"))]] {
        changed.push(ReportedChange::add(uri("new.txt")));
        let monitor = RecordingMonitor::new();
        assert_eq!(publisher.record(changed, &monitor).unwrap().deleted, 0);
        let problems = monitor.seen().problems;
        assert!(problems.len() == 1 && problems[0].what.contains("20"), "{problems:?}");
    }
    publisher.publish_recorded(&NoMonitor).unwrap();
    assert!(lists(folder.path()).contains("new.txt"));
    let removed = vec![ReportedChange::remove(uri("disk"))];
    assert_eq!(publisher.record(removed, &NoMonitor).unwrap().deleted, 20);
}

#[test]
fn c2_an_empty_manifest_is_refused() {
    let folder = folder(0);
    let list = folder.path().join("list.csv");
    fs::write(&list, "uri,length\nhttp://example.org/a,1\nhttp://example.org/b,2\n").unwrap();
    let mut options = PublishOptions::new(folder.path(), BASE);
    options.sets[0].content = vec![Content::Manifest { path: list.clone(), root: folder.path().into() }];
    publish(&options, &NoMonitor).unwrap();
    fs::write(&list, "uri,length\n").unwrap();
    let error = publish(&options, &NoMonitor).unwrap_err();
    assert!(matches!(error, Error::DeletionsRefused { empty: true, .. }), "{error}");
}

#[test]
fn c2_a_file_that_becomes_private_is_reported_and_not_deleted() {
    let folder = folder(3);
    let private = folder.path().join("001.txt");
    let mut options = PublishOptions::new(folder.path(), BASE);
    publish(&options, &NoMonitor).unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(folder.path().join("000.txt"), "changed").unwrap();
    let report = publish(&options, &NoMonitor).unwrap();
    assert_eq!((report.deleted, report.updated, report.resources, report.left_out.private), (0, 1, 3, 1));
    assert!(lists(folder.path()).contains("001.txt"));
    options.unreadable = Unreadable::Fail;
    let error = publish(&options, &NoMonitor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
}

#[derive(Default)]
struct LeftOutMonitor(std::sync::Mutex<Vec<(String, LeftOut)>>);

impl PublishMonitor for LeftOutMonitor {
    fn left_out(&self, path: &str, reason: LeftOut) {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        self.0.lock().unwrap().push((name, reason));
    }
}

#[test]
fn c2_what_is_left_out_by_mode_kind_or_name_is_counted_and_can_be_listed() {
    let folder = folder(1);
    fs::write(folder.path().join(".hidden"), "x").unwrap();
    fs::write(folder.path().join("a.txt~"), "x").unwrap();
    fs::write(folder.path().join("private"), "x").unwrap();
    fs::set_permissions(folder.path().join("private"), fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("000.txt", folder.path().join("link")).unwrap();
    let monitor = LeftOutMonitor::default();
    let report = publish(&PublishOptions::new(folder.path(), BASE), &monitor).unwrap();
    let counts = report.left_out;
    assert_eq!((counts.private, counts.links, counts.special, counts.names), (1, 1, 0, 2));
    let mut listed = monitor.0.into_inner().unwrap();
    listed.sort();
    let expected = [
        (".hidden", LeftOut::Name),
        ("a.txt~", LeftOut::Name),
        ("link", LeftOut::Link),
        ("private", LeftOut::Private),
    ];
    assert_eq!(listed, expected.map(|(name, reason)| (name.to_owned(), reason)));
}

#[test]
fn c1_another_base_url_is_refused_unless_the_source_is_moved_and_then_keeps_its_history() {
    let folder = folder(4);
    let options = PublishOptions::new(folder.path(), BASE);
    publish(&options, &NoMonitor).unwrap();
    fs::write(folder.path().join("002.txt"), "changed").unwrap();
    publish(&options, &NoMonitor).unwrap();
    let before = lists(folder.path());

    let mut moved = PublishOptions::new(folder.path(), "https://new.example.org/data/");
    let error = publish(&moved, &NoMonitor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains(BASE), "{error}");
    assert_eq!(lists(folder.path()), before);
    moved.rebase_from = Some("http://elsewhere.example.org/".into());
    assert_eq!(publish(&moved, &NoMonitor).unwrap_err().kind(), ErrorKind::Usage);

    moved.rebase_from = Some(BASE.into());
    let monitor = RecordingMonitor::new();
    let report = publish(&moved, &monitor).unwrap();
    assert_eq!((report.created, report.updated, report.deleted, report.resources), (0, 0, 0, 4));
    assert!(monitor.seen().changes.is_empty());
    let after = lists(folder.path());
    assert!(!after.contains(BASE) && !after.contains("deleted"), "{after}");
    assert_eq!(after.matches("https://new.example.org/data/002.txt").count(), 2, "the list and its change");
    assert_eq!(report.host.moved[0].from, BASE);
    assert_eq!(report.host.moved[0].to.as_str(), "https://new.example.org/data/");

    // The move is done: it needs no option any more, and scans see nothing new.
    moved.rebase_from = None;
    assert!(publish(&moved, &NoMonitor).unwrap().is_nothing_new());
}

#[test]
fn c11_a_root_that_is_replaced_is_published_anew_and_one_that_is_removed_is_an_error() {
    let parent = tempfile::tempdir().unwrap();
    let (one, two) = (parent.path().join("one"), parent.path().join("two"));
    for (folder, text) in [(&one, "1"), (&two, "22")] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("a.txt"), text).unwrap();
    }
    let link = parent.path().join("current");
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let mut options = PublishOptions::new(&link, BASE);
    options.out = parent.path().join("documents");
    options.state = parent.path().join("state");
    fs::create_dir(&options.out).unwrap();
    let mut publisher = instep_source::Publisher::open(options).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&two, &link).unwrap();
    let report = publisher.publish(&NoMonitor).unwrap();
    assert_eq!((report.updated, report.bytes), (1, 2));
    fs::remove_dir_all(&two).unwrap();
    let error = publisher.publish(&NoMonitor).unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error}");
    assert!(document(&parent.path().join("documents"), "resourcesync/resourcelist.xml").contains("a.txt"));
}
