//! Files of the operator at the names of documents (C15).

use std::fs;

use instep_source::{Error, ErrorKind, NoMonitor, publish};

use super::{folder, options, write};

#[test]
fn c15_files_that_the_source_did_not_write_are_refused_by_name_and_keep_their_bytes() {
    for name in ["resourcesync/resourcelist.xml", ".well-known/resourcesync", "resourcesync/about.html"] {
        let folder = folder(&[("a.txt", b"a"), (name, b"theirs")]);
        let mut options = options(folder.path());
        let refused = publish(&options, &NoMonitor).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        let Error::DocumentsInTheWay { names, .. } = &refused else { panic!("{refused}") };
        assert_eq!(names, &[name]);
        assert!(refused.to_string().contains(name), "{refused}");
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"theirs");
        assert!(
            !folder.path().join("resourcesync/changelist.xml").exists(),
            "nothing is published by halves"
        );
        assert!(!folder.path().join("resourcesync/.stage").exists());

        options.overwrite_documents = true;
        publish(&options, &NoMonitor).unwrap();
        assert_ne!(fs::read(folder.path().join(name)).unwrap(), b"theirs");
        options.overwrite_documents = false;
        write(folder.path(), "a.txt", b"changed");
        publish(&options, &NoMonitor).unwrap();
    }
}

#[test]
fn c15_a_document_that_is_new_to_a_source_overwrites_nothing_either() {
    let folder = folder(&[("a.txt", b"a"), ("resourcesync/sitemap.xml", b"theirs")]);
    let mut options = options(folder.path());
    publish(&options, &NoMonitor).unwrap();
    options.sitemap_twin = true;
    let refused = publish(&options, &NoMonitor).unwrap_err();
    assert!(matches!(refused, Error::DocumentsInTheWay { .. }), "{refused}");
    assert_eq!(fs::read(folder.path().join("resourcesync/sitemap.xml")).unwrap(), b"theirs");
    fs::remove_file(folder.path().join("resourcesync/sitemap.xml")).unwrap();
    publish(&options, &NoMonitor).unwrap();
}

#[test]
fn c15_robots_txt_keeps_its_bytes_and_other_well_known_files_stay() {
    let theirs = b"# caf\xe9\nUser-agent: *\nDisallow: /\n";
    let folder = folder(&[("a", b"a"), ("robots.txt", theirs), (".well-known/security.txt", b"theirs")]);
    let options = options(folder.path());
    for text in ["a", "b"] {
        write(folder.path(), "a", text.as_bytes());
        publish(&options, &NoMonitor).unwrap();
        let robots = fs::read(folder.path().join("robots.txt")).unwrap();
        let ours = robots.strip_prefix(theirs).unwrap();
        let lines =
            format!("# BEGIN instep\nSitemap: {}resourcesync/resourcelist.xml\n# END instep\n", super::BASE);
        assert_eq!(String::from_utf8_lossy(ours), lines);
    }
    assert_eq!(fs::read(folder.path().join(".well-known/security.txt")).unwrap(), b"theirs");
}

#[test]
fn a11_robots_txt_names_the_list_that_leads_to_the_source_and_the_plain_sitemap() {
    let folder = folder(&[("a", b"a")]);
    let mut options = options(folder.path());
    options.sitemap_twin = true;
    publish(&options, &NoMonitor).unwrap();
    let robots = fs::read_to_string(folder.path().join("robots.txt")).unwrap();
    let named: Vec<_> = robots.lines().filter_map(|line| line.strip_prefix("Sitemap: ")).collect();
    let expected =
        ["resourcelist.xml", "sitemap.xml"].map(|name| format!("{}resourcesync/{name}", super::BASE));
    assert_eq!(named, expected);
    let (header, _) = super::read(folder.path(), "resourcelist.xml");
    assert!(header.up().is_some());
}
