//! Bags of `export --bagit`, judged by the Library of Congress' bagit.py.

use std::{fs, path::Path, process::Command};

use instep_testkit::{FakeSource, Run, instep, peers};
use tempfile::TempDir;

fn judge(bag: &Path) -> Option<()> {
    let [python, bagit] = peers::find(["python", "bagit.py"])?;
    _ = Run::of(Command::new(python).arg(bagit).arg("--validate").arg(bag)).with_code(0);
    Some(())
}

#[test]
fn a_copy_becomes_a_bag_that_can_be_published_again() {
    let dir = TempDir::new().unwrap();
    let source = FakeSource::start().with_resources([
        ("a.txt", "one"),
        ("d/", "index"),
        ("d/100%25.txt", "percent"),
        ("=.txt", ""),
    ]);
    let path = |name: &str| dir.path().join(name).display().to_string();
    _ = Run::of(&mut instep(["sync", &source.url(""), &path("copy")])).with_code(0);
    let export = |bag: &str| Run::of(&mut instep(["export", &path("copy"), "--bagit", &path(bag), "--json"]));
    _ = export("bag").with_code(0);
    let bag = dir.path().join("bag");
    if judge(&bag).is_none() {
        return;
    }
    let about = fs::read_to_string(bag.join("bag-info.txt")).unwrap();
    assert!(
        about.contains("Payload-Oxum: 15.4\n")
            && about.contains(&format!("External-Identifier: {}\n", source.url(""))),
        "{about}"
    );
    _ = export("bag").with_code(2);

    let list = path("bag/resources.jsonl");
    let (out, state) = (path("documents"), path("state"));
    let publish = [
        "publish",
        &path("bag"),
        "--from",
        &list,
        "--base-url",
        &source.url(""),
        "--out",
        &out,
        "--state",
        &state,
    ];
    _ = Run::of(&mut instep(publish)).with_code(0);
    let list = fs::read_to_string(dir.path().join("documents/resourcesync/resourcelist.xml")).unwrap();
    assert_eq!(list.matches("<url>").count(), 4, "{list}");

    // A damaged file is no part of a bag.
    fs::write(dir.path().join("copy/a.txt"), "oen").unwrap();
    let run = export("second").with_code(3);
    assert!(run.stdout.contains("differ from the copy's record"), "{}", run.stdout);
    judge(&dir.path().join("second"));
    assert!(!dir.path().join("second/data/a.txt").exists());
}
