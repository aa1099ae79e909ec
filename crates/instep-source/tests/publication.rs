//! Folders published, as a reader finds them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "publication/kills.rs"]
mod kills;
#[path = "publication/readers.rs"]
mod readers;
#[path = "publication/site.rs"]
mod site;

use std::{
    ffi::OsStr,
    fs,
    io::Read,
    os::unix::ffi::OsStrExt,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use instep_source::{
    Archives, Error, ErrorKind, NoMonitor, Publisher, RecordingMonitor, SetOptions, publish,
};
use readers::check_change_list;
use resourcesync::Change;
use site::{BASE, Site, expected, scratch};

#[test]
fn history_goes_with_the_lists_that_showed_it_and_not_before() {
    for archives in [None, Some(Archives::default())] {
        let mut site = Site::new(&[("a", "0")]);
        site.options.lists.rotation.entries = 2;
        site.options.lists.closed_lists = 2;
        site.options.archives = archives;
        let mut publisher = Publisher::open(site.options.clone()).unwrap();
        for round in 0..20 {
            site.write("a", &"x".repeat(round + 1));
            publisher.publish(&NoMonitor).unwrap();
            check_change_list(&site, 2);
        }
        let catalogue = rusqlite::Connection::open(site.options.state.join("catalogue.db")).unwrap();
        let left: u64 = catalogue.query_row("SELECT count(*) FROM change", [], |row| row.get(0)).unwrap();
        match archives {
            None => assert!((4..=8).contains(&left), "{left} changes"),
            Some(_) => assert_eq!(left, 19),
        }
        drop(catalogue);
        // Whatever a reader may ask for can be written again.
        drop(publisher);
        let before = site.changes();
        for document in site.documents().iter().filter(|path| path.to_string_lossy().contains("changelist-0"))
        {
            fs::remove_file(document).unwrap();
        }
        site.write("b", "new");
        site.publish();
        let after = site.changes();
        assert_eq!((&after[..before.len()], after.len()), (&before[..], before.len() + 1));
        check_change_list(&site, 2);
    }
}

#[test]
fn a_folder_is_published_and_followed() {
    let site = Site::new(&[("a.txt", "one"), ("b/c.json", "{}"), (".hidden", ""), ("old~", "")]);
    let first = site.publish();
    assert_eq!((first.created, first.unchanged, first.resources, first.bytes), (2, 0, 2, 5));
    assert_eq!(first.source_description.as_str(), "http://example.com/.well-known/resourcesync");
    assert_eq!(site.listed(), expected(&[("a.txt", 3), ("b/c.json", 2)]));
    assert!(site.changes().is_empty());

    site.write("a.txt", "three");
    site.write("d", "new");
    site.remove("b/c.json");
    let second = site.publish();
    assert_eq!((second.created, second.updated, second.deleted, second.unchanged), (1, 1, 1, 0));
    assert_eq!(site.listed(), expected(&[("a.txt", 5), ("d", 3)]));
    let changes = site.changes();
    assert_eq!(changes.len(), 3);
    assert!(changes.windows(2).all(|pair| pair[0].metadata.datetime < pair[1].metadata.datetime));
    let deleted = changes.iter().find(|it| it.metadata.change == Some(Change::Deleted)).unwrap();
    assert!(
        deleted.metadata.hash.is_empty() && deleted.metadata.length.is_none() && deleted.lastmod.is_none()
    );
}

#[test]
fn nothing_changed_nothing_rewritten() {
    let site = Site::new(&[("a", "one")]);
    site.publish();
    let times = || -> Vec<_> {
        site.documents().iter().map(|path| fs::metadata(path).unwrap().modified().unwrap()).collect()
    };
    let before = times();
    let again = site.publish();
    assert!(again.is_nothing_new(), "{again:?}");
    assert_eq!(times(), before);
}

#[test]
fn what_was_taken_away_is_written_again() {
    let site = Site::new(&[("a", "one")]);
    site.publish();
    for path in site.documents() {
        fs::remove_file(&path).unwrap();
        site.publish();
        assert!(path.exists(), "{}", path.display());
    }
    fs::remove_dir_all(site.path("")).unwrap();
    site.publish();
    assert_eq!(site.listed(), expected(&[("a", 3)]));
}

#[test]
fn an_existing_robots_txt_keeps_its_lines() {
    let site = Site::new(&[("a", "one"), ("robots.txt", "User-agent: *\n")]);
    site.publish();
    let text = fs::read_to_string(site.root.path().join("robots.txt")).unwrap();
    assert!(text.starts_with(
        "User-agent: *\n# BEGIN instep\nSitemap: http://example.com/resourcesync/resourcelist.xml"
    ));
    assert!(site.publish().is_nothing_new());
}

#[test]
fn gzip_twins_say_what_the_documents_say_and_go_when_they_are_not_wanted() {
    let mut site = Site::new(&[("a", "one")]);
    site.options.gzip_twins = true;
    site.publish();
    let twin = site.path("resourcelist.xml.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(&twin).unwrap()).read_to_string(&mut text).unwrap();
    assert_eq!(text, fs::read_to_string(site.path("resourcelist.xml")).unwrap());
    assert!(site.publish().is_nothing_new());
    fs::remove_file(&twin).unwrap();
    site.publish();
    assert!(twin.exists());
    site.options.gzip_twins = false;
    site.write("a", "three");
    site.publish();
    assert!(!twin.exists());
}

#[test]
fn another_order_of_the_sets_changes_nothing() {
    let mut site = Site::new(&[("one/a", "a"), ("two/b", "bb")]);
    let set = |name: &str| {
        let mut set = set_named(name, &site);
        set.include = vec![format!("/{name}")];
        set
    };
    let (one, two) = (set("one"), set("two"));
    site.options.sets = vec![one.clone(), two.clone()];
    site.publish();
    site.options.sets = vec![two.clone(), one.clone()];
    assert!(site.publish().is_nothing_new());
    site.options.sets = vec![set_named("three", &site), two, one];
    let report = site.publish();
    assert_eq!((report.created, report.deleted), (0, 0));
    assert_eq!(site.read("two/resourcelist.xml").1.len(), 1);
    assert_eq!(site.read("three/resourcelist.xml").1.len(), 2);
}

fn set_named(name: &str, site: &Site) -> SetOptions {
    let mut set = SetOptions::folder(site.root.path());
    set.name = name.to_owned();
    set
}

#[test]
fn documents_and_state_can_lie_elsewhere() {
    let mut site = Site::new(&[("a", "one")]);
    let elsewhere = scratch();
    site.options.out = elsewhere.path().join("documents");
    site.options.state = elsewhere.path().join("state");
    site.publish();
    let names: Vec<_> = fs::read_dir(site.root.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["a"]);
    assert_eq!(site.listed(), expected(&[("a", 3)]));
}

#[test]
fn s12_any_name_becomes_a_uri_or_is_reported() {
    let site = Site::new(&[]);
    let names: [&[u8]; 10] = [
        b"a b",
        b"a&b",
        b"100%",
        b"what?",
        b"x#y",
        "caf\u{e9}".as_bytes(),
        b"new\nline",
        b"<>\"'",
        b"\xff\xfe",
        "\u{fffe}".as_bytes(),
    ];
    names.iter().for_each(|name| site.write(OsStr::from_bytes(name), "x"));
    let monitor = RecordingMonitor::new();
    let report = publish(&site.options, &monitor).unwrap();
    let listed = site.listed();
    assert_eq!(listed.len() as u64 + report.skipped, names.len() as u64);
    for uri in ["a%20b", "a&b", "100%25", "what%3F", "x%23y", "caf%C3%A9", "new%0Aline"] {
        assert!(listed.contains_key(&format!("{BASE}{uri}")), "{uri}: {listed:?}");
    }
}

#[test]
fn xmllint_finds_every_document_well_formed() {
    let site = Site::new(&[("a&b <c>", "one"), ("d", "two")]);
    site.publish();
    let documents = site.documents();
    let xml = documents.iter().filter(|path| path.extension().is_none_or(|it| it == "xml"));
    let mut command = Command::new("xmllint");
    command.arg("--noout").args(xml);
    // It may not be installed: then our own reader has to do.
    if let Ok(output) = command.output() {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_second_publisher_is_refused() {
    let site = Site::new(&[("a", "one")]);
    let held = Publisher::open(site.options.clone()).unwrap();
    let error = publish(&site.options, &NoMonitor).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }) && error.kind() == ErrorKind::Locked);
    drop(held);
    site.publish();
}

#[test]
fn a_publication_that_was_interrupted_is_repaired_by_the_next() {
    for blocked in ["resourcelist.xml", "changelist-000001.xml", "changelist-000002.xml", "changelist.xml"] {
        let mut site = Site::new(&[("a", "one")]);
        site.options.lists.rotation.entries = 2;
        site.publish();
        for round in 0..3 {
            site.write("a", &"x".repeat(10 + round));
            site.write(format!("new{round}"), "y");
            let target = site.path(blocked);
            let aside = site.path("aside");
            let was_there = fs::rename(&target, &aside).is_ok();
            fs::create_dir_all(target.join("in the way")).unwrap();
            let interrupted = publish(&site.options, &NoMonitor);
            fs::remove_dir_all(&target).unwrap_or_default();
            if interrupted.is_err() && was_there {
                fs::rename(&aside, &target).unwrap();
            }
            site.publish();
            let names = ["a", "new0", "new1", "new2"];
            let lengths = [10 + round as u64, 1, 1, 1];
            let now: Vec<_> = names.into_iter().zip(lengths).take(round + 2).collect();
            assert_eq!(site.listed(), expected(&now), "{blocked}, round {round}");
            assert!(site.publish().is_nothing_new());
        }
        assert_eq!(site.changes().len(), 6, "{blocked}");
    }
}

#[test]
fn s6_lists_join_and_datetimes_grow_although_the_clock_steps_back() {
    let mut site = Site::new(&[("a", "0")]);
    site.options.lists.rotation.entries = 2;
    let clock = Arc::new(AtomicI64::new(1_700_000_000_000_000));
    let now = Arc::clone(&clock);
    let clock_of_site = Arc::new(move || now.load(Ordering::SeqCst));
    let mut publisher = Publisher::with_clock(site.options.clone(), clock_of_site).unwrap();
    publisher.publish(&NoMonitor).unwrap();
    for round in 1..12 {
        clock.fetch_sub(3_600_000_000, Ordering::SeqCst);
        site.write("a", &"x".repeat(round));
        publisher.publish(&NoMonitor).unwrap();
        check_change_list(&site, 2);
    }
    let times: Vec<_> = site.changes().iter().map(|change| change.metadata.datetime.unwrap()).collect();
    assert_eq!(times.len(), 11);
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
}
