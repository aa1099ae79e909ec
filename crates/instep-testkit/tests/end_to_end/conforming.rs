//! Documents of our Source conform without a finding, in each configuration of the documentation, and each damage to them
//! is found by its rule, at its line and column.

use std::{
    fs,
    path::{Path, PathBuf},
};

use instep_testkit::{Run, Server, free_port, instep};
use serde_json::Value;

use super::configurations::{Configuration, PUBLISHED, SERVED, change, content};

/// A finding as `validate --json` prints it.
pub(crate) struct Found {
    pub(crate) rule: String,
    place: (u64, u64),
    pub(crate) line: String,
}

pub(crate) fn findings(run: &Run) -> Vec<Found> {
    let lines = run.stdout.lines().filter_map(|line| Some((line, serde_json::from_str::<Value>(line).ok()?)));
    lines
        .filter(|(_, value)| value["type"] == "finding")
        .map(|(line, value)| Found {
            rule: value["rule"].as_str().unwrap().to_owned(),
            place: (value["line"].as_u64().unwrap(), value["column"].as_u64().unwrap()),
            line: line.to_owned(),
        })
        .collect()
}

pub(crate) fn shown(found: &[Found]) -> String {
    found.iter().map(|found| format!("\n  {}", found.line)).collect()
}

/// Writes the tables of a configuration to a file beside the content.
fn file_of(tables: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    fs::write(file.path(), tables).unwrap();
    file
}

pub(crate) fn publish(folder: &Path, (options, tables): Configuration) {
    let file = file_of(tables);
    let mut command = instep(["publish", folder.to_str().unwrap(), "--base-url", "http://example.com/data/"]);
    let _ = Run::of(command.arg("--config").arg(file.path()).args(options)).with_code(0);
}

pub(crate) fn validate(folder: &Path) -> Run {
    let mut command = instep(["validate", "--strict", "--json"]);
    Run::of(command.arg(folder.join("resourcesync")).arg(folder.join(".well-known")))
}

/// Returns what a run found, or how it failed; `None` if it found nothing.
fn false_alarm(configuration: Configuration, run: &Run) -> Option<String> {
    let found = findings(run);
    let right = found.is_empty() && run.code == Some(0);
    (!right).then(|| format!("{configuration:?} ({:?}){}{}", run.code, shown(&found), run.stderr))
}

#[test]
fn a7_each_configuration_that_is_published_conforms_without_a_finding() {
    let mut false_alarms = Vec::new();
    for configuration in PUBLISHED {
        let folder = content();
        publish(folder.path(), configuration);
        change(folder.path());
        for round in 0..4 {
            publish(folder.path(), configuration);
            fs::write(folder.path().join("f3.txt"), format!("round {round}\n")).unwrap();
        }
        publish(folder.path(), configuration);
        publish(folder.path(), configuration);
        false_alarms.extend(false_alarm(configuration, &validate(folder.path())));
    }
    assert!(false_alarms.is_empty(), "{}", false_alarms.join("\n"));
}

#[test]
fn a7_each_configuration_that_is_served_conforms_without_a_finding() {
    let mut false_alarms = Vec::new();
    for configuration in SERVED {
        let (folder, file, port) = (content(), file_of(configuration.1), free_port().unwrap());
        let mut command = instep(["serve", folder.path().to_str().unwrap()]);
        command.args(["--listen", &format!("127.0.0.1:{port}")]).arg("--config").arg(file.path());
        let server = Server::start(command.args(configuration.0), port).unwrap();
        let options = ["--follow", "--strict", "--json", "--samples", "100"];
        let run = Run::of(instep(["validate", &server.url()]).args(options));
        false_alarms.extend(false_alarm(configuration, &run));
    }
    assert!(false_alarms.is_empty(), "{}", false_alarms.join("\n"));
}

#[test]
fn a7_a_source_that_moved_and_a_copy_that_is_published_again_conform_without_a_finding() {
    let (folder, all) = (content(), (&["--archives", "--dump", "always", "--change-dump"] as &[&str], ""));
    publish(folder.path(), all);
    change(folder.path());
    let dir = folder.path().to_str().unwrap();
    let moved = ["publish", dir, "--rebase", "http://example.com/data/", "https://example.org/moved/"];
    let _ = Run::of(instep(moved).args(all.0)).with_code(0);
    let mut false_alarms: Vec<_> = false_alarm(all, &validate(folder.path())).into_iter().collect();

    let (folder, port) = (content(), free_port().unwrap());
    let mut command = instep(["serve", folder.path().to_str().unwrap()]);
    let server = Server::start(command.args(["--listen", &format!("127.0.0.1:{port}")]), port).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("copy");
    let _ = Run::of(instep(["sync", &server.url()]).arg(&copy)).with_code(0);
    let again: Configuration = (&["--archives", "--dump", "always", "--snapshot"], "");
    for _ in 0..2 {
        let mut republish = instep(["republish", "--base-url", "https://mirror.example.org/"]);
        let _ = Run::of(republish.arg(&copy).args(again.0)).with_code(0);
    }
    false_alarms.extend(false_alarm(again, &validate(&copy)));
    assert!(false_alarms.is_empty(), "{}", false_alarms.join("\n"));
}

#[test]
fn c22_packages_of_two_sets_with_one_file_name_are_each_compared_with_their_own_dump() {
    let folder = content();
    fs::create_dir(folder.path().join("letters")).unwrap();
    let sets = "[[set]]\nname = \"papers\"\ncontent = \"papers\"\n[[set]]\nname = \"letters\"\ncontent = \"letters\"\n";
    let configuration: Configuration = (&["--change-dump", "--gzip"], sets);
    for text in ["one", "another, which is longer"] {
        fs::write(folder.path().join("letters/a.txt"), text).unwrap();
        fs::write(folder.path().join("papers/one.pdf"), text.repeat(9)).unwrap();
        publish(folder.path(), configuration);
    }
    assert_eq!(false_alarm(configuration, &validate(folder.path())), None);
    let packages = folder.path().join("resourcesync/letters");
    let package = fs::read_dir(&packages).unwrap().flatten().map(|item| item.path());
    let package = package.filter(|path| path.extension().is_some_and(|end| end == "zip")).last().unwrap();
    fs::write(&package, [fs::read(&package).unwrap(), b"more".to_vec()].concat()).unwrap();
    let found = findings(&validate(folder.path()));
    assert!(found.iter().any(|found| found.rule == "ATT-15"), "{}", shown(&found));
    assert!(found.iter().all(|found| !found.line.contains("papers/changedump.xml")), "{}", shown(&found));
}

/// A deliberate damage to a published document.
struct Damage {
    rule: &'static str,
    /// The beginning of the document's name.
    document: &'static str,
    /// The text that is replaced, at its first occurrence.
    old: &'static str,
    new: &'static str,
    /// The text of the damaged document at which the finding is, after its blanks; empty for any place.
    at: &'static str,
}

#[rustfmt::skip]
const DAMAGES: [Damage; 76] = [
    Damage { rule: "GEN-1", document: "resourcelist.xml", old: "http://www.sitemaps.org/schemas/sitemap/0.9", new: "http://www.sitemaps.org/schemas/sitemap/0.8", at: "<urlset" },
    Damage { rule: "GEN-2", document: "resourcelist.xml", old: "openarchives.org/rs/terms/\">", new: "openarchives.org/rs/terms\">", at: "<rs:ln" },
    Damage { rule: "GEN-3", document: "resourcelist.xml", old: "<rs:md capability=\"resourcelist\"", new: "<rs:mdx capability=\"resourcelist\"", at: "<urlset" },
    Damage { rule: "GEN-4", document: "resourcelist.xml", old: " capability=\"resourcelist\"", new: "", at: "<rs:md at=" },
    Damage { rule: "GEN-5", document: "resourcelist.xml", old: "capability=\"resourcelist\"", new: "capability=\"listing\"", at: "<rs:md" },
    Damage { rule: "GEN-6", document: "resourcelist.xml", old: " length=\"", new: " rs:length=\"", at: "<rs:md hash=" },
    Damage { rule: "GEN-7", document: "resourcelist.xml", old: " length=\"", new: " size=\"", at: "<rs:md hash=" },
    Damage { rule: "GEN-10", document: "changelist.xml", old: "capability=\"changelist\"", new: "capability=\"changelistindex\"", at: "<rs:md" },
    Damage { rule: "GEN-13", document: "resourcelist.xml", old: "<url>", new: "<sitemap>", at: "<sitemap>" },
    Damage { rule: "GEN-14", document: "resourcelist.xml", old: "<loc>http://example.com/data/coded/a.xml.gz</loc>", new: "", at: "<url>" },
    Damage { rule: "GEN-15", document: "resourcelist.xml", old: "</lastmod>", new: "</lastmod><lastmod>2013-01-03T09:00:00Z</lastmod>", at: "<lastmod>2013" },
    Damage { rule: "GEN-16", document: "resourcelist.xml", old: "</lastmod>", new: "</lastmod><changefreq>often</changefreq>", at: "<changefreq>" },
    Damage { rule: "GEN-18", document: "resourcelist.xml", old: "type=\"text/plain\"/>", new: "type=\"text/plain\"/><rs:md length=\"1\"/>", at: "<rs:md length" },
    Damage { rule: "GEN-20", document: "resourcelist.xml", old: "<rs:ln rel=\"up\" href", new: "<rs:ln rel=\"up\" ref", at: "<rs:ln" },
    Damage { rule: "GEN-21", document: "resourcelist.xml", old: "rel=\"archives\"", new: "rel=\"the-archive\"", at: "<rs:ln rel=\"the" },
    Damage { rule: "GEN-22", document: "resourcelist.xml", old: "<url>", new: "<url id=\"1\">", at: "<url id" },
    Damage { rule: "GEN-24", document: "resourcelist.xml", old: "f1.txt</loc>", new: "f1.txt&</loc>", at: "&</loc>" },
    Damage { rule: "GEN-26", document: "resourcelist.xml", old: "<urlset", new: "<!DOCTYPE urlset><urlset", at: "<!DOCTYPE" },
    Damage { rule: "ATT-1", document: "changelist-000001.xml", old: " from=\"", new: " at=\"2013-01-03T09:00:00Z\" from=\"", at: "<rs:md" },
    Damage { rule: "ATT-3", document: "resourcelist.xml", old: " at=\"", new: " from=\"2013-01-03T09:00:00Z\" at=\"", at: "<rs:md" },
    Damage { rule: "ATT-8", document: "changelist-000001.xml", old: "change=\"deleted\"", new: "change=\"removed\"", at: "<rs:md change=\"removed\"" },
    Damage { rule: "ATT-10", document: "changelist-000001.xml", old: "datetime=\"20", new: "datetime=\"19", at: "<rs:md change" },
    Damage { rule: "ATT-12", document: "resourcelist.xml", old: "sha-256:", new: "sha-256=", at: "<rs:md hash" },
    Damage { rule: "ATT-13", document: "resourcelist.xml", old: "sha-256:", new: "sha-256:00", at: "<rs:md hash" },
    Damage { rule: "ATT-15", document: "resourcelist.xml", old: "length=\"", new: "length=\"-", at: "<rs:md hash" },
    Damage { rule: "ATT-16", document: "resourcelist.xml", old: "<rs:md hash=", new: "<rs:md path=\"/f1.txt\" hash=", at: "<rs:md path" },
    Damage { rule: "ATT-17", document: "resourcedump-2", old: "path=\"/coded/a.xml.gz\"", new: "path=\"coded/a.xml.gz\"", at: "<rs:md hash" },
    Damage { rule: "ATT-18", document: "resourcelist.xml", old: "type=\"application/gzip\"", new: "type=\"gzip\"", at: "<rs:md hash" },
    Damage { rule: "ATT-20", document: "resourcelist.xml", old: "type=\"text/plain\"/>", new: "type=\"text/plain\"/><rs:ln rel=\"duplicate\" href=\"http://m.example/\" pri=\"0\"/>", at: "<rs:ln rel=\"duplicate\"" },
    Damage { rule: "ATT-22", document: "resourcelist.xml", old: "<lastmod>20", new: "<lastmod>yes20", at: "<lastmod>" },
    Damage { rule: "ATT-23", document: "resourcelist.xml", old: "</loc>\n    <lastmod>", new: "</loc>\n    <lastmod>2013-01-03</lastmod><lastmod>", at: "<lastmod>2013" },
    Damage { rule: "TIME-2", document: "changelist.xml", old: "<rs:md from=", new: "<rs:md until=", at: "<rs:md until" },
    Damage { rule: "TIME-4", document: "resourcelist.xml", old: "completed=\"20", new: "completed=\"19", at: "<rs:md" },
    Damage { rule: "TIME-8", document: "changedump-2", old: "until=\"20", new: "until=\"19", at: "<rs:md" },
    Damage { rule: "SD-4", document: ".well-known/resourcesync", old: "capability=\"description\"", new: "capability=\"resourcesync\"", at: "<rs:md" },
    Damage { rule: "SD-5", document: ".well-known/resourcesync", old: "  <rs:ln rel=\"describedby\" href=\"http://example.com/data/resourcesync/about.html\"/>\n", new: "", at: "<urlset" },
    Damage { rule: "SD-8", document: ".well-known/resourcesync", old: "<rs:md capability=\"capabilitylist\"/>", new: "<rs:md capability=\"resourcelist\"/>", at: "<rs:md capability=\"resourcelist\"/>" },
    Damage { rule: "SD-12", document: ".well-known/resourcesync", old: "rel=\"describedby\"", new: "rel=\"up\"", at: "<rs:ln" },
    Damage { rule: "CAP-3", document: "capabilitylist.xml", old: "rel=\"up\"", new: "rel=\"next\"", at: "<urlset" },
    Damage { rule: "CAP-7", document: "capabilitylist.xml", old: "<rs:md capability=\"resourcelist\"/>", new: "", at: "<url>" },
    Damage { rule: "CAP-8", document: "capabilitylist.xml", old: "capability=\"resourcedump\"", new: "capability=\"resourcelist\"", at: "    <rs:md capability=\"resourcelist\"/>\n  </url>\n  <url>\n    <loc>http://example.com/data/resourcesync/changelist.xml" },
    Damage { rule: "CAP-6", document: "capabilitylist.xml", old: "capability=\"resourcelist\"", new: "capability=\"changelist-archive\"", at: "<url>" },
    Damage { rule: "RL-2", document: "resourcelist.xml", old: " at=\"", new: " modified=\"", at: "<rs:md" },
    Damage { rule: "RL-3", document: "resourcelist.xml", old: "rel=\"up\"", new: "rel=\"next\"", at: "<urlset" },
    Damage { rule: "RL-5", document: "resourcelist.xml", old: "f3.txt</loc>", new: "f1.txt</loc>", at: "" },
    Damage { rule: "RD-2", document: "resourcedump.xml", old: " at=\"", new: " modified=\"", at: "<rs:md" },
    Damage { rule: "RD-3", document: "resourcedump.xml", old: "rel=\"up\"", new: "rel=\"next\"", at: "<urlset" },
    Damage { rule: "RD-7", document: "resourcedump.xml", old: " type=\"application/zip\"", new: "", at: "<rs:md at" },
    Damage { rule: "RD-10", document: "resourcedump-2", old: "f3.txt</loc>", new: "f0.txt</loc>", at: "" },
    Damage { rule: "RDM-2", document: "resourcedump-2", old: " at=\"", new: " modified=\"", at: "<rs:md" },
    Damage { rule: "RDM-3", document: "resourcedump-2", old: "rel=\"up\"", new: "rel=\"next\"", at: "<urlset" },
    Damage { rule: "RDM-6", document: "resourcedump-2", old: " path=\"/coded/a.xml.gz\"", new: "", at: "<rs:md hash" },
    Damage { rule: "RDM-7", document: "resourcedump-2", old: " type=\"application/gzip\"", new: "", at: "<rs:md hash" },
    Damage { rule: "CL-2", document: "changelist-000001.xml", old: " from=\"", new: " until=\"", at: "<rs:md" },
    Damage { rule: "CL-3", document: "changelist-000001.xml", old: "rel=\"up\"", new: "rel=\"next\"", at: "<urlset" },
    Damage { rule: "CL-6", document: "changelist-000001.xml", old: "<rs:md change=\"deleted\" datetime=\"20", new: "<rs:md change=\"deleted\" datetime=\"19", at: "<rs:md change=\"deleted\"" },
    Damage { rule: "CL-8", document: "changelist-000001.xml", old: " change=\"deleted\"", new: "", at: "<rs:md datetime" },
    Damage { rule: "CL-14", document: "changelist-000001.xml", old: "<rs:md change=\"deleted\"", new: "<rs:md length=\"1\" change=\"deleted\"", at: "<rs:md length" },
    Damage { rule: "CLI-4", document: "changelist.xml", old: " from=\"", new: " until=\"", at: "<rs:md" },
    Damage { rule: "CLI-5", document: "changelist.xml", old: "rel=\"up\"", new: "rel=\"next\"", at: "<sitemapindex" },
    Damage { rule: "CLI-8", document: "changelist.xml", old: "<rs:md from=", new: "<rs:md completed=", at: "<rs:md completed" },
    Damage { rule: "CLI-10", document: "changelist.xml", old: "<rs:md from=", new: "<rs:md until=\"2099-01-01T00:00:00Z\" from=", at: "<sitemap>" },
    Damage { rule: "CD-2", document: "changedump.xml", old: " from=\"", new: " until=\"", at: "<rs:md" },
    Damage { rule: "CD-8", document: "changedump.xml", old: " length=\"", new: " x=\"", at: "<rs:md from" },
    Damage { rule: "CD-12", document: "changedump.xml", old: "  </url>", new: "  </url>\n  <url><loc>http://example.com/data/other.tar</loc><rs:md type=\"application/x-tar\" length=\"1\" from=\"2099-01-01T00:00:00Z\"/></url>", at: "<rs:md type" },
    Damage { rule: "CDM-6", document: "changedump-2", old: " change=\"updated\"", new: "", at: "<rs:md datetime" },
    Damage { rule: "CDM-7", document: "changedump-2", old: " path=\"/data.json\"", new: "", at: "<rs:md change=\"updated\"" },
    Damage { rule: "CDM-10", document: "changedump-2", old: "path=\"/new.txt\"", new: "path=\"/f1.txt\"", at: "<rs:md change=\"created\"" },
    Damage { rule: "ARC-7", document: "resourcelist-archive.xml", old: "<rs:md at=", new: "<rs:md modified=", at: "<rs:md modified" },
    Damage { rule: "ARC-6", document: "resourcelist-archive.xml", old: "rel=\"up\"", new: "rel=\"next\"", at: "<urlset" },
    Damage { rule: "NAV-1", document: "resourcelist.xml", old: "capabilitylist.xml", new: "resourcedump.xml", at: "" },
    Damage { rule: "NAV-4", document: "changelist-000001.xml", old: "changelist.xml", new: "changes.xml", at: "<rs:md" },
    Damage { rule: "LN-7", document: "resourcelist.xml", old: "type=\"text/plain\"/>", new: "type=\"text/plain\"/><rs:ln rel=\"alternate\" href=\"http://example.com/a\"/>", at: "<rs:ln rel=\"alternate\"" },
    Damage { rule: "LN-9", document: "changelist-000001.xml", old: "<rs:md change=\"updated\"", new: "<rs:ln rel=\"http://www.openarchives.org/rs/terms/patch\" href=\"http://example.com/p\"/><rs:md change=\"updated\"", at: "<rs:ln rel=\"http" },
    Damage { rule: "LN-11", document: "resourcelist.xml", old: "type=\"text/plain\"/>", new: "type=\"text/plain\"/><rs:ln rel=\"http://www.openarchives.org/rs/terms/patch\" href=\"http://example.com/p\" type=\"application/vcdiff\"/>", at: "<rs:ln rel=\"http" },
    Damage { rule: "LN-24", document: "resourcelist.xml", old: "type=\"text/plain\"/>", new: "type=\"text/plain\"/><rs:ln rel=\"contents\" href=\"http://example.com/p\"/>", at: "<rs:ln rel=\"contents\"" },
];

pub(crate) fn document_of(folder: &Path, name: &str) -> PathBuf {
    if name.contains('/') {
        return folder.join(name);
    }
    let files = fs::read_dir(folder.join("resourcesync")).unwrap().map(|file| file.unwrap().path());
    let is_meant = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.starts_with(name) && !file.ends_with(".zip")
    };
    files.into_iter().filter(is_meant).min().unwrap()
}

/// Returns line and column, from 1, of the first occurrence of a text.
fn place_of(text: &str, part: &str) -> (u64, u64) {
    let offset = text.find(part).unwrap() + part.len() - part.trim_start().len();
    let line_start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    (text[..offset].matches('\n').count() as u64 + 1, (offset - line_start) as u64 + 1)
}

#[test]
fn a7_each_damage_is_found_by_its_rule_at_its_place() {
    let folder = content();
    let all: Configuration = (&["--archives", "--dump", "always", "--change-dump"], "");
    publish(folder.path(), all);
    change(folder.path());
    publish(folder.path(), all);
    let right = validate(folder.path());
    assert!(findings(&right).is_empty(), "{}", right.stdout);
    let mut missed = Vec::new();
    for Damage { rule, document, old, new, at } in DAMAGES {
        let file = document_of(folder.path(), document);
        let before = fs::read_to_string(&file).unwrap();
        assert!(before.contains(old), "{rule}: {old} is not in {document}");
        let damaged = before.replacen(old, new, 1);
        fs::write(&file, &damaged).unwrap();
        let found = findings(&validate(folder.path()));
        fs::write(&file, before).unwrap();
        let place = (!at.is_empty()).then(|| place_of(&damaged, at));
        let is_meant = |found: &Found| found.rule == rule && place.is_none_or(|place| found.place == place);
        if !found.iter().any(is_meant) {
            missed.push(format!("{rule} at {place:?} of {document}{}", shown(&found)));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
