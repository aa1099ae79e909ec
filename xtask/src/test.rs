//! `cargo xtask test`: peers, doctests, tests, a report of tests that were left out, and the Python package.

use std::fs;

use anyhow::{Result, bail};

use crate::{
    peers::{self, PeerBuild},
    python,
    run::{cargo, checked, is_installed, target},
};

/// Runs every test; `long` includes those that take hours.
pub fn run(long: bool) -> Result<()> {
    peers::install(peers::FOR_TESTS);
    peers::install_python();
    peers::install_from_crates(PeerBuild::Quick);
    fs::create_dir_all(target())?;
    let left_out = target().join("left-out.txt");
    fs::write(&left_out, "")?;

    checked(&mut cargo(&["build", "--workspace", "--all-targets"]))?;
    checked(&mut cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    let mut tests = if is_installed("cargo-nextest") {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])
    } else {
        cargo(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"])
    };
    tests.env("INSTEP_LEFT_OUT", &left_out);
    if long {
        tests.env("INSTEP_LONG", "1");
    }
    let outcome = checked(&mut tests);
    report(&fs::read_to_string(&left_out)?)?;
    outcome?;
    python::test()
}

/// Names each test that a missing peer has left out; in CI that is a failure.
fn report(left_out: &str) -> Result<()> {
    if left_out.is_empty() {
        return Ok(());
    }
    println!("Left out:");
    left_out.lines().for_each(|line| println!("  {line}"));
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        bail!("Tests were left out");
    }
    Ok(())
}
