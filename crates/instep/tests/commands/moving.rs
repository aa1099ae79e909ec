//! A Source or a republished copy that moves to another base URL, and a manifest that gets another name.

use std::{
    fs::{self, File},
    path::Path,
};

use crate::support::{ServedSource, folder, instep, output_of, run};

/// Writes a manifest of five resources below a base URL.
fn manifest(folder: &Path, base: &str, more: &str) {
    let lines =
        (1..=5).map(|n| format!("{{\"uri\":\"{base}f{n}\",\"path\":\"f{n}\"}}\n")).collect::<String>();
    fs::write(folder.join("manifest.jsonl"), lines + more).unwrap();
}

#[test]
fn c34_a_manifest_with_the_uris_from_before_a_move_deletes_nothing() {
    let files = ["f1", "f2", "f3", "f4", "f5"].map(|name| (format!("data/{name}"), name));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    for (old, new) in
        [("http://old/", "http://new/"), ("http://x/", "http://x/f/"), ("http://x/f/", "http://x/")]
    {
        let folder = folder(&files);
        let folder = folder.path();
        let from = ["publish", "data", "--from", "manifest.jsonl"];
        let publish = |more: &[&str], code| run(folder, &[&from[..], more].concat(), code);
        manifest(folder, old, "");
        publish(&["--base-url", old], 0);
        let list = fs::read(folder.join("data/resourcesync/resourcelist.xml")).unwrap();
        for more in [&["--rebase", old, new][..], &["--rebase", old, new, "--dry-run"]] {
            let said = publish(more, 2);
            assert!(said.contains(&format!("Replace {old} by {new} in it")), "{said}");
            assert!(said.contains("manifest.jsonl"), "{said}");
        }
        // Nothing was moved.
        assert_eq!(fs::read(folder.join("data/resourcesync/resourcelist.xml")).unwrap(), list);
        assert!(publish(&["--base-url", old], 0).contains("+0 ~0 -0 =5"));

        manifest(folder, new, "");
        let would = publish(&["--rebase", old, new, "--dry-run"], 0);
        assert!(would.contains("Would publish: +0 ~0 -0"), "{would}");
        assert!(publish(&["--rebase", old, new], 0).contains("+0 ~0 -0 =5"));
        // The manifest with the old URIs is given again by mistake, with an additional line and without.
        for more in ["", "{\"uri\":\"http://elsewhere/\",\"length\":1}\n"] {
            manifest(folder, old, more);
            assert!(publish(&["--base-url", new], 2).contains("Replace "), "{old} {new}");
        }
        manifest(folder, new, "");
        assert!(publish(&["--base-url", new], 0).contains("+0 ~0 -0 =5"));
        let changes = fs::read_to_string(folder.join("data/resourcesync/changelist-000001.xml")).unwrap();
        assert!(!changes.contains("<url>"), "{changes}");
    }
}

#[test]
fn c35_a_dry_run_of_a_move_shows_what_changed_and_not_the_move() {
    let folder = folder(&[("data/a.txt", "one"), ("data/b.txt", "two")]);
    let folder = folder.path();
    run(folder, &["publish", "data", "--base-url", "http://old/"], 0);
    fs::write(folder.join("data/c.txt"), "new").unwrap();
    let would = run(folder, &["publish", "data", "--rebase", "http://old/", "http://new/", "--dry-run"], 0);
    assert!(would.contains("+ http://new/c.txt\n") && would.contains("Would publish: +1 ~0 -0"), "{would}");
    assert!(!would.contains("a.txt"), "{would}");
    run(folder, &["publish", "data", "--rebase", "http://old/", "http://new/"], 0);
}

#[test]
fn o347_a_copy_that_is_published_moves_as_its_advice_says() {
    let folder = folder(&[("data/a.txt", "one"), ("data/b.txt", "two")]);
    let source = ServedSource::start(folder.path());
    let folder = folder.path();
    run(folder, &["sync", &source.url, "copy"], 0);
    let republish = |more: &[&str], code| run(folder, &[&["republish", "copy"][..], more].concat(), code);
    republish(&["--base-url", "http://old/"], 0);
    let said = republish(&["--base-url", "http://new/"], 6);
    assert!(said.contains("for a copy: instep republish DIR --rebase OLD NEW"), "{said}");
    let said = republish(&["--rebase", "http://old/", "http://new/", "--listen", "127.0.0.1:0"], 2);
    assert!(said.contains("give it without --listen"), "{said}");
    let said = republish(&["--rebase", "http://old/", "http://new/"], 0);
    assert!(said.contains("+0 ~0 -0 =2"), "{said}");
    let list = fs::read_to_string(folder.join("copy/resourcesync/resourcelist.xml")).unwrap();
    assert!(list.contains("<loc>http://new/a.txt</loc>") && !list.contains("http://old/"), "{list}");
    assert!(list.contains(&format!("{}a.txt", source.url)), "{list}");
    assert!(republish(&["--base-url", "http://new/"], 0).contains("Nothing new"));
    assert!(!folder.join("copy/.instep/catalogue.db").exists());
}

#[test]
fn o349_documents_of_an_earlier_base_url_in_another_folder_are_written_again() {
    let folder = folder(&[("data/a.txt", "a"), ("data/b.txt", "b")]);
    let folder = folder.path();
    let publish = |out: &str, more: &[&str]| {
        run(folder, &[&["publish", "data", "--out", out][..], more].concat(), 0);
        let list = folder.join(out).join("resourcesync/resourcelist.xml");
        run(folder, &["validate", out, "--strict"], 0);
        fs::read_to_string(list).unwrap()
    };
    // Digests, times and URIs before and after the move have the same length, so that the length of a document shows
    // nothing.
    publish("one", &["--base-url", "http://old/"]);
    publish("two", &["--base-url", "http://old/"]);
    fs::write(folder.join("data/a.txt"), "A").unwrap();
    let entries = |list: &str| list.lines().filter(|line| line.contains("hash=")).collect::<String>();
    let (two, one) =
        (publish("two", &["--base-url", "http://old/"]), publish("one", &["--base-url", "http://old/"]));
    assert_eq!(entries(&one), entries(&two));
    publish("two", &["--rebase", "http://old/", "http://new/"]);
    let one = publish("one", &["--base-url", "http://new/"]);
    assert!(one.contains("http://new/a.txt") && !one.contains("http://old/"), "{one}");
    let again = run(folder, &["publish", "data", "--out", "one", "--base-url", "http://new/"], 0);
    assert!(again.contains("0 documents written"), "{again}");
}

#[test]
fn o415_a_manifest_with_another_name_announces_nothing() {
    let files = ["f1", "f2", "f3", "f4", "f5"].map(|name| (format!("data/{name}"), name));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let folder = folder(&files);
    let folder = folder.path();
    let publish =
        |name: &str, code| run(folder, &["publish", "data", "--base-url", "http://x/", "--from", name], code);
    manifest(folder, "http://x/", "");
    publish("manifest.jsonl", 0);
    let mut before = folder.join("manifest.jsonl");
    for name in ["monday.jsonl", "tuesday.jsonl"] {
        fs::rename(&before, folder.join(name)).unwrap();
        before = folder.join(name);
        let said = publish(name, 0);
        assert!(said.contains("Nothing new: +0 ~0 -0 =5"), "{name}: {said}");
    }
    // A manifest of other resources is still a mistake.
    fs::write(folder.join("other.jsonl"), "{\"uri\":\"http://x/g1\",\"path\":\"f1\"}\n").unwrap();
    publish("other.jsonl", 6);
    assert!(publish("tuesday.jsonl", 0).contains("5 resources"), "nothing of it was deleted");
}

#[test]
fn o725_a_manifest_that_comes_from_standard_input_instead_of_a_file_announces_nothing() {
    let files = ["f1", "f2", "f3", "f4", "f5"].map(|name| (format!("data/{name}"), name));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let folder = folder(&files);
    let folder = folder.path();
    let publish = |from: &str, more: &[&str], code| {
        let arguments = ["publish", "data", "--base-url", "http://x/", "--from", from];
        let mut command = instep(folder, &[&arguments[..], more].concat());
        command.stdin(File::open(folder.join("manifest.jsonl")).unwrap());
        output_of(command, code)
    };
    manifest(folder, "http://x/", "");
    publish("manifest.jsonl", &[], 0);
    let would = publish("-", &["--dry-run"], 0);
    assert!(would.contains("Would publish: +0 ~0 -0"), "{would}");
    for from in ["-", "-", "manifest.jsonl"] {
        let said = publish(from, &[], 0);
        assert!(said.contains("Nothing new: +0 ~0 -0 =5"), "{from}: {said}");
    }
    // Other resources are still a mistake.
    fs::write(folder.join("manifest.jsonl"), "{\"uri\":\"http://x/g1\",\"path\":\"f1\"}\n").unwrap();
    publish("-", &[], 6);
}
