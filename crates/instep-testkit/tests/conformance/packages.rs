//! Rules that only a package can break, or a package beside the dump that lists it.

use std::io::Cursor;

use resourcesync::{
    Document, Finding, PackagePath, ReadOptions,
    package::{PackageLimits, PackageWriter},
    validate::{Child, Validator},
};

use super::together::{entry, expect, linked, report};

fn package(manifest: &str, members: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = PackageWriter::new(Cursor::new(Vec::new()), manifest.as_bytes()).unwrap();
    for (path, bytes) in members {
        writer.add(&PackagePath::new(path), None, bytes.len() as u64, bytes.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn judge(zip: Vec<u8>) -> Vec<Finding> {
    let report = Validator::default().package(Cursor::new(zip), PackageLimits::new(), None).unwrap();
    report
        .package
        .findings
        .into_iter()
        .chain(report.manifest.into_iter().flat_map(|manifest| manifest.findings))
        .collect()
}

/// Checks every rule of this file; their ids.
pub(crate) fn check_all() -> Vec<&'static str> {
    let manifest = |capability: &str, time: &str, metadata: &str| {
        linked(
            "urlset",
            &format!("capability=\"{capability}\" {time}"),
            &[("up", "caps.xml")],
            &entry("url", "a", metadata),
        )
    };
    let at = "at=\"2013-01-03T09:00:00Z\"";
    let from = "from=\"2013-01-03T00:00:00Z\"";
    let state = |metadata: &str| manifest("resourcedump-manifest", at, metadata);
    let right =
        state("path=\"/a\" type=\"text/plain\" length=\"5\" hash=\"md5:5d41402abc4b2a76b9719d911017c592\"");
    let hello = [("/a", "hello")];
    let good = || judge(package(&right, &hello));
    let renamed = |from: &[u8], to: &[u8]| {
        let mut zip = package(&right, &hello);
        for at in 0..zip.len() - to.len() {
            if zip[at..].starts_with(from) {
                zip[at..at + to.len()].copy_from_slice(to);
            }
        }
        judge(zip)
    };
    let surplus = || judge(package(&right, &[("/a", "hello"), ("/b", "more")]));
    let changed = manifest("changedump-manifest", from, "change=\"updated\" path=\"/a\" type=\"text/plain\"");
    let inside = |text: &str| Document::read(text.as_bytes(), ReadOptions::new()).unwrap();
    let listed = |text: &str| report(text).children[0].clone();
    let dump = |capability: &str, time: &str, metadata: &str| {
        listed(&linked(
            "urlset",
            &format!("capability=\"{capability}\" {time}"),
            &[("up", "caps.xml")],
            &entry("url", "p.zip", metadata),
        ))
    };
    let snapshot = dump("resourcedump", at, "length=\"1\"");
    let contents =
        |package: &Child, one: &str, copy: &str| package.check_contents(&inside(one), Some(&inside(copy)));
    let changes = dump("changedump", from, from);
    let later = dump("changedump", from, "from=\"2013-01-03T05:00:00Z\"");
    vec![
        expect("ZIP-1", good(), judge(b"no package".to_vec())),
        expect("ZIP-3", good(), renamed(b"manifest.xml", b"Manifest.xml")),
        expect("ZIP-4", good(), judge(package(&manifest("changedump-manifest", at, "path=\"/a\""), &hello))),
        expect("ZIP-6", good(), judge(package(&right, &[]))),
        expect("ZIP-7", good(), judge([&package(&right, &hello)[..], b"tail"].concat())),
        expect("ZIP-9", good(), judge(package(&right, &[("/a", "hallo")]))),
        expect("RDM-8", good(), judge(package(&right, &[("/a", "longer")]))),
        expect("RDM-6", good(), judge(package(&right, &[]))),
        expect("RDM-4", good(), surplus()),
        expect(
            "CDM-5",
            judge(package(&changed, &hello)),
            judge(package(&changed, &[("/a", "hello"), ("/b", "more")])),
        ),
        expect("RD-9", contents(&snapshot, &right, &right), contents(&snapshot, &right, &changed)),
        expect(
            "RD-10",
            contents(&snapshot, &right, &right),
            contents(&snapshot, &right, &state("path=\"/b\"")),
        ),
        expect(
            "CD-11",
            contents(&changes, &changed, &changed),
            contents(&changes, &changed, &changed.replace("/a\"", "/b\"")),
        ),
        expect(
            "CDM-2",
            changes.check_contents(&inside(&changed), None),
            later.check_contents(&inside(&changed), None),
        ),
        expect(
            "RDM-2",
            snapshot.check_contents(&inside(&right), None),
            dump("resourcedump", at, "at=\"2020-01-01T00:00:00Z\"").check_contents(&inside(&right), None),
        ),
    ]
}
