//! The examples do what their first lines say.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use std::{path::PathBuf, process::Command};

use instep_testkit::{FakeSource, Tree};
use tempfile::TempDir;

/// Returns the program of an example, which Cargo builds beside the tests.
fn example(name: &str) -> Command {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples").join(name);
    if !path.is_file() {
        // A run of this test alone builds no examples.
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--package", "instep-destination", "--example", name]);
        assert!(cargo.status().unwrap().success());
    }
    Command::new(path)
}

fn source() -> FakeSource {
    FakeSource::start().with_resources([("a.txt", "one"), ("d/b.txt", "two")])
}

#[test]
fn a_source_is_listed() {
    let source = source();
    let output = example("list").arg(source.url("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let expected = [source.url("a.txt"), source.url("d/b.txt"), "2 resources, 6 bytes".to_owned()];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_source_is_mirrored() {
    let (source, folder) = (source(), TempDir::new().unwrap());
    let copy = folder.path().join("copy");
    let output = example("mirror").arg(source.url("")).arg(&copy).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("2 created, 0 updated, 0 unchanged, 0 failed: in step\n"), "{text}");
    assert_eq!(Tree::of(&copy).names(), ["a.txt", "d/b.txt"]);
}
