//! The examples of 1.1 and everything we write are valid by our XML Schema (GEN-25), as `xmllint` sees it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

#[path = "robust/documents.rs"]
mod documents;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use resourcesync::WriteOptions;

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns `true` if `xmllint` is installed; with `CI=true` it must be.
fn has_xmllint() -> bool {
    let there = Command::new("xmllint").arg("--version").output().is_ok();
    if !there {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "xmllint is missing");
        println!("left out: xmllint is not installed");
    }
    there
}

/// Returns the complaints of `xmllint` about these files; empty if they are valid.
fn complaints(files: &[PathBuf]) -> String {
    let schema = home().join("schema/sitemap.xsd");
    let output =
        Command::new("xmllint").arg("--noout").arg("--schema").arg(schema).args(files).output().unwrap();
    let lines = String::from_utf8_lossy(&output.stderr).into_owned();
    lines.lines().filter(|line| !line.ends_with(" validates")).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_example_of_1_1_is_valid() {
    if !has_xmllint() {
        return;
    }
    let folder = home().join("../instep-testkit/data/v1.1");
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 30);
    assert_eq!(complaints(&files), "");
}

#[test]
fn what_we_write_is_valid() {
    if !has_xmllint() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema");
    fs::create_dir_all(&folder).unwrap();
    let mut runner = TestRunner::deterministic();
    let mut files = Vec::new();
    for index in 0..300 {
        let document = documents::any_document().new_tree(&mut runner).unwrap().current();
        let bytes = document.write(Vec::new(), WriteOptions::new()).expect("a right document");
        let file = folder.join(format!("{index}.xml"));
        fs::write(&file, bytes).unwrap();
        files.push(file);
    }
    assert_eq!(complaints(&files), "");
}

#[test]
fn the_schema_refuses_what_the_prose_refuses() {
    if !has_xmllint() {
        return;
    }
    let folder = home().join("../instep-testkit/data/constructed/invalid");
    for name in [
        "ATT-12_hash_without_algorithm",
        "ATT-15_length_negative",
        "ATT-17_path_without_slash",
        "ATT-22_time_without_zone",
        "GEN-14_no_loc",
        "GEN-7_unprefixed_community_attribute",
    ] {
        assert_ne!(complaints(&[folder.join(format!("{name}.xml"))]), "", "{name}");
    }
}
