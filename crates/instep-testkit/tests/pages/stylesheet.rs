//! Documents that name a stylesheet: browsers that know XSLT show a page, and readers read what they read before.

use std::fs;

use instep_testkit::instep;

use crate::{
    PROGRAM,
    serving::{Serving, folder},
};

const INSTRUCTION: &str = "<?xml-stylesheet type=\"text/xsl\" href=\"/resourcesync/stylesheet.xsl\"?>\n";

#[test]
fn p14_a_stylesheet_adds_one_instruction_to_each_document_and_nothing_else() {
    let folder = folder(&[("a.txt", "abc"), ("b.txt", "def")]);
    let publish = |options: &[&str]| {
        let run = instep(["publish", "--base-url", "http://example.com/"].iter().chain(options))
            .arg(folder.path())
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let names =
        [".well-known/resourcesync", "resourcesync/capabilitylist.xml", "resourcesync/changelist.xml"];
    publish(&[]);
    let plain = names.map(read);
    assert!(!folder.path().join("resourcesync/stylesheet.xsl").exists());
    publish(&["--stylesheet"]);
    let styled = names.map(read);
    for (plain, styled) in plain.iter().zip(&styled) {
        assert_eq!(styled.matches(INSTRUCTION).count(), 1, "{styled}");
        assert_eq!(&styled.replace(INSTRUCTION, ""), plain);
    }
    assert!(read("resourcesync/resourcelist.xml").contains(INSTRUCTION));
    assert!(read("resourcesync/stylesheet.xsl").contains("<xsl:stylesheet"));
    // The instruction is removed when it is no longer wanted. The stylesheet stays for a while, like everything that
    // documents have named.
    publish(&[]);
    assert_eq!(names.map(read), plain);
}

#[test]
fn p14_validators_and_destinations_do_not_mind_a_stylesheet() {
    let folder = folder(&[("a.txt", "abc"), ("b.txt", "def")]);
    let serving = Serving::start(folder.path(), &["--stylesheet"]);
    let sheet = serving.get("resourcesync/stylesheet.xsl", PROGRAM);
    assert!(sheet.head.contains("content-type: application/xslt+xml"), "{}", sheet.head);
    assert!(serving.get("resourcesync/resourcelist.xml", PROGRAM).body.contains(INSTRUCTION));
    let validated = instep(["validate", &*serving.base, "--follow", "--strict"]).output().unwrap();
    let findings = String::from_utf8_lossy(&validated.stdout).into_owned();
    assert!(validated.status.success(), "{findings}{}", String::from_utf8_lossy(&validated.stderr));
    let copy = tempfile::tempdir().unwrap();
    let copied = instep(["sync", &*serving.base]).arg(copy.path()).output().unwrap();
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(fs::read_to_string(copy.path().join("a.txt")).unwrap(), "abc");
}
