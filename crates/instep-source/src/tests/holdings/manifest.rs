//! Resources that a manifest or an application names.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::{
    Content, NoMonitor,
    scan::{ReportedChange, record_reported},
};
use resourcesync::Uri;

use super::folder::Folder;

/// Returns a Source without a folder whose only content is a manifest.
fn listed(name: &str) -> Folder {
    let mut folder = Folder::new();
    folder.remove_content();
    let (path, root) = (folder.path(name), folder.path(""));
    folder.add_content(Content::Manifest { path, root });
    folder
}

#[test]
fn csv_and_json_lines_say_the_same() {
    let csv = "uri,path,length,hash,type,lastmod,changefreq,links\n\
        http://x/b,,5,md5:1584abdf8ebdc9802ac0c6a7402c03b6,text/plain,2013-01-03,daily,\n\
        http://x/a,,,,,,,\"[{\"\"rel\"\":\"\"describedby\"\",\"\"href\"\":\"\"http://x/a.xml\"\"}]\"\n";
    let json = r#"{"uri":"http://x/b","length":5,"hash":"md5:1584abdf8ebdc9802ac0c6a7402c03b6","type":"text/plain","lastmod":"2013-01-03","changefreq":"daily"}
        {"uri":"http://x/a","links":[{"rel":"describedby","href":"http://x/a.xml"}]}"#;
    let resources = [("list.csv", csv), ("list.jsonl", json)].map(|(name, text)| {
        let folder = listed(name);
        folder.write(name, text);
        assert_eq!(folder.scan().recorded.created, 2);
        folder.scan();
        assert_eq!(folder.log(), [""; 0]);
        folder.resources()
    });
    assert_eq!(resources[0], resources[1]);
    let [a, b] = resources[0].as_slice() else { panic!("two resources") };
    assert_eq!((a.uri.as_str(), b.state.length), ("http://x/a", Some(5)));
    assert_eq!(a.state.links[0].href.as_str(), "http://x/a.xml");
    assert_eq!(b.state.lastmod.unwrap().to_string(), "2013-01-03");
}

#[test]
fn o1026_a_byte_order_mark_before_the_first_line_is_no_part_of_it() {
    for (name, text) in [
        ("list.csv", "\u{feff}uri,length\nhttp://x/a,1\n"),
        ("list.jsonl", "\u{feff}{\"uri\":\"http://x/a\",\"length\":1}\n"),
    ] {
        let folder = listed(name);
        folder.write(name, text);
        assert_eq!(folder.scan().skipped, 0, "{name}");
        assert_eq!(folder.uris(), ["a"], "{name}");
    }
}

#[test]
fn what_a_manifest_names_no_longer_is_gone_and_what_it_describes_anew_is_updated() {
    let folder = listed("list.csv");
    folder.write("list.csv", "uri,length\nhttp://x/a,1\nhttp://x/b,2\nhttp://x/c,3\n");
    folder.scan();
    folder.write("list.csv", "uri,length\nhttp://x/d,1\nhttp://x/c,4\nhttp://x/a,1\n");
    folder.scan();
    assert_eq!(folder.log(), ["updated c", "created d", "deleted b"]);
    assert_eq!(folder.scan().recorded.sequence, 0);
}

#[test]
fn a_wrong_line_costs_itself_and_no_resource() {
    let folder = listed("list.csv");
    folder.write("list.csv", "uri,length\nhttp://x/a,1\nhttp://x/b,2\n");
    folder.scan();
    folder.write("list.csv", "uri,length\nnot a uri,1\nhttp://x/c,many\nhttp://x/d,4\nhttp://x/d,5\n");
    assert_eq!(folder.scan().skipped, 3);
    assert_eq!(folder.uris(), ["a", "b", "d"]);
}

#[test]
fn a_line_that_is_not_utf_8_costs_itself() {
    for (name, good, bad) in [
        ("list.jsonl", "{\"uri\":\"http://x/a\"}\n", &b"{\"uri\":\"http://x/\xe9\"}\n"[..]),
        ("list.csv", "uri,title\nhttp://x/a,\n", b"http://x/\xe9,\n"),
    ] {
        let folder = listed(name);
        let last = if name.ends_with("csv") { "http://x/z,\n" } else { "{\"uri\":\"http://x/z\"}\n" };
        fs::write(folder.path(name), [good.as_bytes(), bad, last.as_bytes()].concat()).unwrap();
        assert_eq!(folder.scan().skipped, 1, "{name}");
        assert_eq!(folder.uris(), ["a", "z"], "{name}");
    }
}

#[test]
fn a_file_without_digests_in_the_manifest_is_hashed_when_it_moves() {
    let folder = listed("list.jsonl");
    folder.write("list.jsonl", r#"{"uri":"urn:x:1","path":"data/1.txt"}"#);
    folder.write("data/1.txt", "one");
    folder.scan();
    let resource = &folder.resources()[0];
    assert_eq!((resource.state.length, resource.file.clone()), (Some(3), Some(folder.path("data/1.txt"))));
    assert_eq!(resource.state.media_type.as_ref().unwrap().as_str(), "text/plain");
    assert_eq!(folder.scan().hashed, 0);
    folder.write("data/1.txt", "three");
    assert_eq!(folder.scan().recorded.updated, 1);
    let found = folder.holdings.find(&folder.catalogue.snapshot().unwrap(), "urn:x:1", u64::MAX).unwrap();
    assert_eq!(found.unwrap().state.length, Some(5));
}

#[test]
fn a_list_of_changes_leaves_the_rest_alone() {
    let folder = listed("list.csv");
    folder.write("list.csv", "uri,length\nhttp://x/a,1\nhttp://x/b,2\n");
    folder.scan();
    folder.write("list.csv", "uri,length,change\nhttp://x/b,,deleted\nhttp://x/c,3,created\n");
    folder.scan();
    folder.scan();
    assert_eq!(folder.uris(), ["a", "c"]);
    assert_eq!(folder.log(), ["deleted b", "created c"]);
}

#[test]
fn a_folder_decides_about_its_uris_whatever_a_manifest_says_of_them() {
    let mut folder = Folder::new();
    folder.write("a", "the file");
    folder.write("list.csv", "uri,length\nhttp://x/a,1\nhttp://x/absent,2\nurn:record:7,3\n");
    let listed = Content::Manifest { path: folder.path("list.csv"), root: folder.path("") };
    folder.add_content(listed);
    for _ in 0..2 {
        assert_eq!(folder.scan().skipped, 2, "each is reported, and nothing else is lost");
        let resources = folder.resources();
        let named: Vec<_> = resources.iter().map(|it| (it.uri.as_str(), it.state.length.unwrap())).collect();
        assert_eq!(named, [("http://x/a", 8), ("http://x/list.csv", 57), ("urn:record:7", 3)]);
    }
    folder.write("a", "another file");
    folder.write("list.csv", "uri,length\nhttp://x/a,,\nhttp://x/absent,2\nurn:record:7,33\n");
    folder.scan();
    assert_eq!(folder.resources()[0].state.length, Some(12));
}

#[test]
fn an_application_speaks_of_the_resource_that_a_manifest_names() {
    let folder = listed("list.csv");
    folder.write("list.csv", "uri,length\nhttp://y/a,1\nhttp://y/b,2\n");
    folder.scan();
    let uri = |text: &str| Uri::parse(text).unwrap();
    let said = vec![ReportedChange::add(uri("http://y/a")), ReportedChange::remove(uri("http://y/b"))];
    let recorded =
        record_reported(&folder.holdings, &folder.catalogue, said, &folder.options, &NoMonitor).unwrap();
    assert_eq!((recorded.created, recorded.updated, recorded.deleted), (0, 1, 1));
    let left: Vec<_> = folder.resources().into_iter().map(|resource| resource.uri.into_string()).collect();
    assert_eq!(left, ["http://y/a"]);
}

#[test]
fn o815_a_reported_change_of_a_file_that_a_manifest_names_is_read_from_the_file() {
    let folder = listed("list.jsonl");
    folder.write("list.jsonl", r#"{"uri":"http://y/1","path":"data/1.txt","type":"text/x-one"}"#);
    folder.write("data/1.txt", "one");
    folder.scan();
    let report = || {
        let changed = vec![ReportedChange::add(Uri::parse("http://y/1").unwrap())];
        record_reported(&folder.holdings, &folder.catalogue, changed, &folder.options, &NoMonitor).unwrap()
    };
    assert_eq!(report().updated, 0, "it is as it was");
    folder.write("data/1.txt", "three");
    assert_eq!(report().updated, 1);
    let resource = &folder.resources()[0];
    assert_eq!((resource.state.length, resource.file.clone()), (Some(5), Some(folder.path("data/1.txt"))));
    assert_eq!(resource.state.media_type.as_ref().unwrap().as_str(), "text/x-one");
    assert_eq!(folder.scan().hashed, 0);
    folder.remove("data/1.txt");
    assert_eq!(report().deleted, 0);
    assert_eq!(folder.resources().len(), 1);
}

/// Reports that resources have changed.
fn report(folder: &Folder, uris: &[&str]) {
    let changed = uris.iter().map(|uri| ReportedChange::add(Uri::parse(uri).unwrap())).collect();
    record_reported(&folder.holdings, &folder.catalogue, changed, &folder.options, &NoMonitor).unwrap();
}

/// Returns the URIs of all resources, sorted.
fn complete_uris(folder: &Folder) -> Vec<String> {
    let mut uris: Vec<_> =
        folder.resources().into_iter().map(|resource| resource.uri.into_string()).collect();
    uris.sort();
    uris
}

#[test]
fn o729_a_reported_resource_that_a_manifest_names_later_is_listed_once_and_deleted_with_its_line() {
    let folder = listed("list.csv");
    folder.write("list.csv", "uri,length\nhttp://y/a,1\n");
    folder.scan();
    report(&folder, &["http://y/b", "http://y/c"]);
    folder.write("list.csv", "uri,length\nhttp://y/a,1\nhttp://y/b,2\n");
    folder.scan();
    assert_eq!(complete_uris(&folder), ["http://y/a", "http://y/b", "http://y/c"]);
    assert_eq!(folder.log(), ["created b", "created c", "created b"]);
    folder.write("list.csv", "uri,length\nhttp://y/a,1\n");
    folder.scan();
    assert_eq!(complete_uris(&folder), ["http://y/a", "http://y/c"]);
    folder.write("list.csv", "uri,change\nhttp://y/c,deleted\n");
    folder.scan();
    assert_eq!(complete_uris(&folder), ["http://y/a"]);
    assert_eq!(folder.log()[3..], ["deleted b", "deleted c"]);
}

#[test]
fn o888_a_resource_that_all_of_its_manifests_leave_out_at_once_is_deleted() {
    let mut folder = listed("one.csv");
    let (path, root) = (folder.path("two.csv"), folder.path(""));
    folder.add_content(Content::Manifest { path, root });
    folder.write("one.csv", "uri,length\nhttp://y/a,1\nhttp://y/b,2\nhttp://y/c,3\n");
    folder.write("two.csv", "uri,length\nhttp://y/b,2\nhttp://y/c,3\n");
    folder.scan();
    folder.write("one.csv", "uri,length\nhttp://y/a,1\n");
    folder.write("two.csv", "uri,length\nhttp://y/c,3\n");
    folder.scan();
    assert_eq!(folder.log(), ["deleted b"], "c has a place still");
    assert_eq!(complete_uris(&folder), ["http://y/a", "http://y/c"]);
}

#[test]
fn o908_a_resource_that_two_manifests_of_a_set_list_is_deleted_once_if_an_application_reports_it() {
    let mut folder = listed("one.csv");
    let (path, root) = (folder.path("two.csv"), folder.path(""));
    folder.add_content(Content::Manifest { path, root });
    ["one.csv", "two.csv"].iter().for_each(|name| folder.write(name, "uri,length\nhttp://y/a,1\n"));
    folder.scan();
    let removed = vec![ReportedChange::remove(Uri::parse("http://y/a").unwrap())];
    record_reported(&folder.holdings, &folder.catalogue, removed, &folder.options, &NoMonitor).unwrap();
    assert_eq!(folder.log(), ["deleted a"]);
    assert!(complete_uris(&folder).is_empty());
}

#[test]
fn o886_a_reported_resource_stays_until_the_file_of_the_line_that_takes_it_over_can_be_read() {
    let folder = listed("list.jsonl");
    let (a, b) = (r#"{"uri":"http://y/a","length":1}"#, r#"{"uri":"http://y/b","path":"data/b.txt"}"#);
    folder.write("list.jsonl", a);
    folder.scan();
    report(&folder, &["http://y/b", "http://y/c"]);
    folder.write("list.jsonl", &format!("{a}\n{b}\n"));
    assert_eq!(folder.scan().unreadable, 1);
    assert_eq!(complete_uris(&folder), ["http://y/a", "http://y/b", "http://y/c"]);
    assert_eq!(folder.log(), ["created b", "created c"]);
    folder.write("data/b.txt", "b");
    folder.scan();
    assert_eq!(complete_uris(&folder), ["http://y/a", "http://y/b", "http://y/c"]);
    folder.write("list.jsonl", a);
    folder.scan();
    assert_eq!(folder.log()[2..], ["created b", "deleted b"]);
}

#[test]
fn o729_a_reported_resource_at_a_uri_of_a_new_folder_is_the_file_there_or_gone() {
    let mut folder = Folder::new();
    folder.scan();
    report(&folder, &["http://y/r/1", "http://y/r/2", "http://y/r/?q", "http://y/s"]);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("1"), "one").unwrap();
    let (root, prefix) = (elsewhere.path().to_owned(), Some("http://y/r/".to_owned()));
    folder.add_content(Content::Folder { root, prefix });
    folder.scan();
    assert_eq!(complete_uris(&folder), ["http://y/r/1", "http://y/r/?q", "http://y/s"]);
    assert_eq!(folder.log()[4..], ["created r/1", "deleted r/2"]);
}

#[test]
fn o886_a_reported_resource_stays_until_the_file_of_the_folder_that_takes_it_over_can_be_read() {
    let mut folder = Folder::new();
    folder.scan();
    report(&folder, &["http://y/r/1", "http://y/s"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("1");
    fs::write(&file, "one").unwrap();
    // Nobody but its owner may read it, so it is not published.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let (root, prefix) = (elsewhere.path().to_owned(), Some("http://y/r/".to_owned()));
    folder.add_content(Content::Folder { root, prefix });
    folder.scan();
    assert_eq!(folder.log(), ["created r/1", "created s"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    folder.scan();
    assert_eq!(complete_uris(&folder), ["http://y/r/1", "http://y/s"]);
    assert_eq!(folder.log()[2..], ["created r/1"]);
}

#[test]
fn an_application_records_its_own_changes() {
    let folder = Folder::new();
    folder.write("file", "1");
    folder.scan();
    let say = |said: Vec<ReportedChange>| {
        record_reported(&folder.holdings, &folder.catalogue, said, &folder.options, &NoMonitor).unwrap()
    };
    let uri = |text: &str| Uri::parse(text).unwrap();
    folder.write("file", "22");
    folder.write("later", "3");
    let recorded =
        say(vec![ReportedChange::add(uri("http://x/file")), ReportedChange::add(uri("urn:record:7"))]);
    assert_eq!((recorded.created, recorded.updated), (1, 1));
    say(vec![ReportedChange::add(uri("urn:record:7")), ReportedChange::remove(uri("urn:record:8"))]);
    say(vec![ReportedChange::remove(uri("urn:record:7"))]);
    folder.scan();
    let log: Vec<String> =
        folder.changes().iter().map(|change| format!("{} {}", change.change, change.uri)).collect();
    assert_eq!(
        log,
        [
            "created urn:record:7",
            "updated http://x/file",
            "updated urn:record:7",
            "deleted urn:record:7",
            "created http://x/later"
        ]
    );
    fs::remove_file(folder.path("file")).unwrap();
    assert_eq!(say(vec![ReportedChange::remove(uri("http://x/file"))]).deleted, 1);
}
