//! The examples are run: what the documentation shows works.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use std::process::{Command, Output};

use instep_testkit::FakeSource;

fn get(url: &str) -> Output {
    // Cargo builds examples beside the tests, in `examples/` instead of `deps/`.
    let folder = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples");
    Command::new(folder.join("get")).arg(url).output().unwrap()
}

#[test]
fn the_example_fetches_what_the_operator_named_and_stays_there() {
    let source = FakeSource::start().with_resources([("a", "five!")]);
    let output = get(&source.url("a"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, format!("200 5 bytes from {}\n", source.url("a")));
    source.fail_always("b", instep_testkit::Fault::Redirect("http://127.0.0.9/".to_owned()));
    let refused = get(&source.url("b"));
    assert!(!refused.status.success());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("OutOfScope"));
}
