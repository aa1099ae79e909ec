//! Paths on the command line: folders that cannot be read, paths given instead of URLs, and names that are not UTF-8.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
};

use crate::support::{ServedSource, folder, instep, output_of, publish, run};

#[test]
fn o317_a_copy_that_cannot_be_read_is_not_taken_for_a_folder_without_one() {
    let folder = folder(&[("copy/a.txt", "a"), ("other/a.txt", "a")]);
    // A link to itself cannot be opened although it exists. A folder of another user would do for other users than
    // root.
    symlink(".instep", folder.path().join("copy/.instep")).unwrap();
    for arguments in [
        &["sync", "http://127.0.0.1:1/", "copy"][..],
        &["sync", "http://127.0.0.1:1/", "copy", "--adopt"],
        &["sync", "http://127.0.0.1:1/", "copy", "--into-existing", "--dry-run"],
        &["audit", "http://127.0.0.1:1/", "copy"],
        &["audit", "--offline", "copy"],
        &["status", "copy"],
    ] {
        let said = run(folder.path(), arguments, 8);
        assert!(said.contains("Cannot read copy/.instep: "), "{arguments:?}: {said}");
    }
    let said = run(folder.path(), &["sync", "http://127.0.0.1:1/", "other"], 6);
    assert!(said.contains("is not a copy and has files"), "{said}");
}

#[test]
fn o423_a_fault_of_the_disk_is_not_taken_for_a_folder_or_a_copy_that_is_not_there() {
    let folder = folder(&[("copy/a.txt", "a"), ("copy/.instep/lock", "")]);
    // As a file of which the disk or a server of files does not say what it is.
    symlink("state.sqlite", folder.path().join("copy/.instep/state.sqlite")).unwrap();
    for arguments in [
        &["sync", "http://127.0.0.1:1/", "copy"][..],
        &["sync", "http://127.0.0.1:1/", "copy", "--adopt"],
        &["audit", "--offline", "copy"],
        &["status", "copy"],
    ] {
        let said = run(folder.path(), arguments, 8);
        assert!(said.contains("Cannot read copy/.instep/state.sqlite: "), "{arguments:?}: {said}");
    }
    symlink("data", folder.path().join("data")).unwrap();
    let said = run(folder.path(), &["publish", "data", "--base-url", "http://example.org/"], 1);
    assert!(!said.contains("is not a folder"), "{said}");
}

#[test]
fn o318_a_folder_or_file_given_instead_of_a_url_is_not_taken_for_a_host() {
    let folder = folder(&[("copy/a.txt", "a"), ("data/resourcelist.xml", "<x/>")]);
    for arguments in [
        &["sync", "copy"][..],
        &["sync", "copy/"],
        &["sync", "copy", "other"],
        &["sync", "data/resourcelist.xml"],
        &["explore", "copy"],
        &["source", "add", "copy"],
    ] {
        let said = run(folder.path(), arguments, 2);
        assert!(said.contains("here, not a URL; write the URL of the Source"), "{arguments:?}: {said}");
    }
    assert!(!folder.path().join("other").exists());
}

#[test]
fn o328_a_folder_that_cannot_be_read_is_named() {
    let folder = folder(&[("data/a.txt", "a")]);
    publish(folder.path());
    // A folder whose path is too long cannot be read, not even by root.
    let below = |name: &str, steps| folder.path().join(name).join(vec!["n".repeat(200); steps].join("/"));
    fs::create_dir_all(below("lower", 15)).unwrap();
    fs::create_dir_all(below("data", 6)).unwrap();
    fs::rename(folder.path().join("lower"), below("data", 6).join("lower")).unwrap();
    let said = run(folder.path(), &["validate", "data"], 2);
    assert!(said.contains("Cannot read data/nnn") && said.contains("Check its permissions"), "{said}");
}

#[test]
fn o334_a_file_is_parsed_as_the_reference_client_does() {
    let folder = folder(&[("data/a.txt", "a")]);
    publish(folder.path());
    let list = "data/resourcesync/resourcelist.xml";
    let said = run(folder.path(), &["resync-sync", "--parse", "--sitemap", list], 0);
    assert!(
        said.contains(&format!("Running: instep validate {list}")) && said.contains("Conforms"),
        "{said}"
    );
}

#[test]
fn o414_a_word_that_is_not_utf_8_is_named() {
    let folder = folder(&[]);
    for arguments in [&["publish", "--base-url", "http://x.example/"][..], &["sync", "http://127.0.0.1:1/"]] {
        let mut command = instep(folder.path(), arguments);
        command.arg(OsStr::from_bytes(b"d\xff"));
        let said = output_of(command, 2);
        assert!(said.contains(r#""d\xFF" is not UTF-8; rename it"#), "{said}");
        assert!(!folder.path().join(OsStr::from_bytes(b"d\xff")).exists());
    }
}

#[test]
fn o897_the_state_of_a_copy_is_shown_whatever_the_name_of_its_folder_is() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    run(folder.path(), &["sync", &source.url, "copy"], 0);
    let name = OsStr::from_bytes(b"d\xff");
    fs::rename(folder.path().join("copy"), folder.path().join(name)).unwrap();
    for (form, part) in [(&["status"][..], "1 resource"), (&["status", "--json"][..], "\"held\":1")] {
        let mut status = instep(folder.path(), form);
        status.arg(name);
        let said = output_of(status, 0);
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn man_pages_that_cannot_be_written_are_named_with_their_folder() {
    let folder = folder(&[("pages/instep.1/in-the-way", "")]);
    let ended = instep(folder.path(), &["completions", "man", "--out", "pages"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("Cannot write the man pages to pages: "), "{said}");
}
