//! The examples do what their first lines say.

use std::process::Command;

use instep_testkit::{FakeSource, Tree};
use tempfile::TempDir;

fn example(name: &str) -> Command {
    instep_testkit::example("instep-destination", name)
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
