//! Tests of the documents that `resync-build` writes.

use std::{
    fs::{self, File, Permissions},
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
};

use clap::Parser as _;
use resourcesync::{Document, ReadOptions, validate::Validator};

use super::ResyncBuild;

fn build(arguments: &[&str]) -> anyhow::Result<Option<String>> {
    ResyncBuild::try_parse_from([&["resync-build"], arguments].concat())?.run()
}

fn read(xml: &str) -> Document {
    Document::read(xml.as_bytes(), ReadOptions::new()).unwrap()
}

#[test]
fn a_resource_list_of_files_has_their_uris_lengths_and_digests() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a b")).unwrap();
    fs::write(folder.path().join("a b/é.txt"), "hello").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("a b", folder.path().join("link")).unwrap();
    let path = folder.path().to_str().unwrap();
    let mode =
        ["--write-resource-list", "--checksum", "--capabilitylist-link", "http://example.com/caps.xml"];
    let xml = build(&[&mode[..], &["http://example.com/t/", path]].concat()).unwrap().unwrap();
    let Document::ResourceList(list) = read(&xml) else { panic!("{xml}") };
    let [entry] = &list.entries[..] else { panic!("{xml}") };
    assert_eq!(entry.loc.as_str(), "http://example.com/t/a%20b/%C3%A9.txt");
    assert_eq!(entry.metadata.length, Some(5));
    assert_eq!(entry.metadata.hash.to_string(), "md5:5d41402abc4b2a76b9719d911017c592");
    assert_eq!(Validator::default().document(xml.as_bytes()).unwrap().summary.errors, 0, "{xml}");
}

#[test]
fn o92_the_state_of_a_copy_is_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".instep/state.sqlite", "d/.instep/lock", "d/file"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    let path = folder.path().to_str().unwrap();
    let Document::ResourceList(list) =
        read(&build(&["--write-resourcelist", "http://example.com/", path]).unwrap().unwrap())
    else {
        panic!("no Resource List")
    };
    let listed: Vec<_> = list.entries.iter().map(|entry| entry.loc.as_str()).collect();
    assert_eq!(listed, ["http://example.com/d/file"]);
}

#[test]
fn a_change_list_has_what_differs_between_a_list_and_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    for name in ["same", "updated", "deleted"] {
        fs::write(files.join(name), name).unwrap();
    }
    let (list, map) = (folder.path().join("list.xml"), format!("http://example.com={}", files.display()));
    let list = list.to_str().unwrap();
    assert_eq!(build(&["--write-resourcelist", "--hash", "sha-256", "--outfile", list, &map]).unwrap(), None);
    fs::write(files.join("updated"), "another").unwrap();
    fs::write(files.join("created"), "created").unwrap();
    fs::remove_file(files.join("deleted")).unwrap();
    let mode = ["--write-changelist", "--reference", list, "--hash", "sha-256"];
    let up = ["--capabilitylist-link", "http://example.com/caps.xml"];
    let xml = build(&[&mode[..], &up, &[&map]].concat()).unwrap().unwrap();
    let changes = read(&xml);
    let changes = changes.entries().iter().map(|entry| {
        let change = entry.metadata.change.as_ref().unwrap();
        (entry.loc.as_str().trim_start_matches("http://example.com/").to_owned(), change.to_string())
    });
    let changes: Vec<_> = changes.collect();
    let expected = ["updated", "deleted", "created"].map(|change| (change.to_owned(), change.to_owned()));
    assert_eq!(changes, expected);
}

#[test]
fn capability_lists_and_source_descriptions_name_documents() {
    let lists = "resourcelist=http://a/rl.xml,changelist=http://a/cl.xml";
    let links = ["--sourcedescription-link", "http://a/sd.xml", "--describedby-link", "http://a/about"];
    let xml = build(&[&["--write-capabilitylist", lists][..], &links].concat()).unwrap().unwrap();
    let Document::CapabilityList(list) = read(&xml) else { panic!("{xml}") };
    assert_eq!((list.entries.len(), list.up().unwrap().as_str()), (2, "http://a/sd.xml"));
    assert_eq!(list.describedby().unwrap().as_str(), "http://a/about");
    let link = ["--link", "alternate,http://a/sd.html,type=text/html,pri=2"];
    let xml = build(&[&["--write-source-description", "http://a/1,http://a/2"][..], &link].concat())
        .unwrap()
        .unwrap();
    let Document::SourceDescription(description) = read(&xml) else { panic!("{xml}") };
    assert_eq!((description.entries.len(), description.header.links[0].pri), (2, Some(2)));
}

#[test]
fn o672_an_earlier_document_is_replaced_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capabilitylist.xml");
    fs::write(&file, "earlier").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o604)).unwrap();
    let mut reader = File::open(&file).unwrap();
    let mode = ["--write-capabilitylist", "resourcelist=http://a/rl.xml"];
    let build_to = |path: &str| build(&[&mode[..], &["--outfile", path]].concat()).unwrap();
    assert_eq!(build_to(file.to_str().unwrap()), None);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "earlier", "a reader has the document that it opened");
    assert!(fs::read_to_string(&file).unwrap().contains("http://a/rl.xml"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o604);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file is left");
    // A link stays a link.
    let link = folder.path().join("link.xml");
    std::os::unix::fs::symlink("capabilitylist.xml", &link).unwrap();
    assert_eq!(build_to(link.to_str().unwrap()), None);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn o923_a_document_that_may_be_written_is_written_although_its_folder_may_not() {
    // Permissions do not apply to an administrator.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capabilitylist.xml");
    fs::write(&file, "earlier").unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
    let mode = ["--write-capabilitylist", "resourcelist=http://a/rl.xml", "--outfile"];
    let built = build(&[&mode[..], &[file.to_str().unwrap()]].concat());
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(built.unwrap(), None);
    assert!(fs::read_to_string(&file).unwrap().contains("http://a/rl.xml"));
}

#[test]
fn a_mode_or_option_without_a_counterpart_is_refused_with_a_reason() {
    for (arguments, reason) in [
        (&["--write-resourcedump"][..], "--dump always"),
        (&["-d", "--warc"], "--dump always"),
        (&["--write-resourcelist", "--exclude", "x"], "regular expressions"),
        (&["--write-resourcelist", "--dryrun"], "--outfile"),
        (&["--write-resourcelist"], "URI PATH"),
        (&["--write-changelist", "http://a", "b"], "--reference"),
        (&["--write-capabilitylist", "x"], "NAME=URI"),
        (&["--write-sourcedescription", "relative"], "relative"),
        (&["--write-sourcedescription", "http://a/", "--link", "up"], "REL,URI"),
    ] {
        let error = format!("{:#}", build(arguments).unwrap_err());
        assert!(error.contains(reason), "{arguments:?}: {error}");
    }
}
