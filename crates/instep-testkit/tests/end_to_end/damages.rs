//! Damage to a folder of documents that shows only in several documents together, or that readers tolerate.

use std::fs;

use super::{
    configurations::{Configuration, change, content},
    conforming::{document_of, findings, publish, shown, validate},
};

const CAPABILITIES: &str = "http://example.com/data/resourcesync/capabilitylist.xml";

/// The rule, the document, the text that is replaced, and what replaces it.
const DAMAGES: [(&str, &str, &str, &str); 17] = [
    ("GEN-24", "resourcelist.xml", "encoding=\"UTF-8\"", "encoding=\"UTF-16\""),
    ("GEN-24", "changelist.xml", "encoding=\"UTF-8\"", "encoding=\"no-such-encoding\""),
    ("GEN-22", "resourcelist.xml", "<url>", "<url xml:lang=\"de\">"),
    ("GEN-22", "changelist.xml", "<sitemap>", "<sitemap xml:space=\"preserve\">"),
    ("NAV-1", "changelist-000002.xml", CAPABILITIES, "http://example.com/data/resourcesync/nowhere.xml"),
    (
        "NAV-1",
        "changelist-000002.xml",
        CAPABILITIES,
        "http://example.org/data/resourcesync/capabilitylist.xml",
    ),
    ("NAV-1", "resourcelist.xml", CAPABILITIES, "http://example.org/data/resourcesync/capabilitylist.xml"),
    ("NAV-1", "changelist.xml", CAPABILITIES, "http://example.com/data/capabilitylist.xml"),
    ("NAV-1", "resourcedump.xml", CAPABILITIES, "http://example.com/capabilitylist.xml"),
    ("GEN-24", "resourcelist.xml", "version=\"1.0\"", "version=1.0"),
    ("GEN-24", "changelist.xml", "encoding=\"UTF-8\"", "encoding\"UTF-8\""),
    ("GEN-24", "resourcedump.xml", "<?xml ", "<?x<?xml "),
    ("GEN-2", "changedump.xml", "openarchives.org/rs/terms/", "openarhives.org/rs/terms/"),
    (
        "GEN-2",
        "changelist-archive.xml",
        "http://www.openarchives.org/rs/terms/",
        "http:6/www.openarchives.org",
    ),
    ("NAV-1", "resourcelist-2", CAPABILITIES, "http://example.com/data/resourcesync/capabilitylis"),
    ("GEN-4", "changelist.xml", "capability=\"changelist\" ", ""),
    ("GEN-4", "changelist.xml", "capability=\"changelist\"", "capability=\" \""),
];

const ALL: Configuration =
    (&["--archives", "--dump", "always", "--change-dump", "--rotate-entries", "1", "--snapshot"], "");

#[test]
fn c36_c40_what_only_the_documents_of_a_folder_show_together_is_found() {
    let folder = content();
    publish(folder.path(), ALL);
    change(folder.path());
    publish(folder.path(), ALL);
    let right = validate(folder.path());
    assert!(findings(&right).is_empty(), "{}", right.stdout);
    let mut missed = Vec::new();
    let mut damage = |rule: &str, name: &str, change: &dyn Fn(&str) -> String| {
        let file = document_of(folder.path(), name);
        let before = fs::read_to_string(&file).unwrap();
        let damaged = change(&before);
        assert_ne!(damaged, before, "{rule}: nothing was changed in {name}");
        fs::write(&file, &damaged).unwrap();
        let found = findings(&validate(folder.path()));
        fs::write(&file, before).unwrap();
        if !found.iter().any(|found| found.rule == rule && found.line.contains("resourcesync")) {
            missed.push(format!("{rule} in {name}, {damaged}{}", shown(&found)));
        }
    };
    for (rule, name, old, new) in DAMAGES {
        damage(rule, name, &|before| before.replacen(old, new, 1));
    }
    // A closed list that its index does not list: the first, and one between two others.
    for name in ["changelist-000001.xml", "changelist-000002.xml"] {
        let without = |before: &str| {
            let at = before.find(name).unwrap();
            let (start, end) =
                (before[..at].rfind("<sitemap>").unwrap(), before[at..].find("</sitemap>").unwrap());
            format!("{}{}", &before[..start], &before[at + end + "</sitemap>".len()..])
        };
        damage("NAV-4", "changelist.xml", &without);
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn o826_a_list_without_metadata_is_found_in_a_folder() {
    let folder = content();
    publish(folder.path(), ALL);
    change(folder.path());
    publish(folder.path(), ALL);
    let file = document_of(folder.path(), "changelist-000002.xml");
    let before = fs::read_to_string(&file).unwrap();
    let (head, rest) = before.split_once("  <rs:md capability").unwrap();
    fs::write(&file, [head, rest.split_once("/>\n").unwrap().1].concat()).unwrap();
    let found = findings(&validate(folder.path()));
    assert!(found.iter().any(|found| found.rule == "GEN-10"), "{}", shown(&found));
}
