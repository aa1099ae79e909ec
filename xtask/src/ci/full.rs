//! The jobs of `--full`: they need the network, other tools, or hours. A tool that is missing is installed.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::run::{cargo, checked, is_installed, output, root};

/// The files in which a mutation that no test notices would be a security hole.
const GUARDS: &[&str] = &[
    "crates/instep-net/src/**",
    "crates/instep-destination/src/map/**",
    "crates/instep-destination/src/map.rs",
    "crates/instep-destination/src/plan/**",
    "crates/instep-destination/src/commit/**",
    "crates/resourcesync/src/value/package_path.rs",
];

fn installed(program: &str) -> Result<()> {
    if is_installed(program) {
        return Ok(());
    }
    checked(&mut cargo(&["install", "--locked", program]))
}

/// Fails if a dependency has a known vulnerability, or was withdrawn.
pub fn advisories() -> Result<()> {
    installed("cargo-deny")?;
    checked(&mut cargo(&["deny", "check"]))
}

/// Compares the public API of each library with the last tagged release.
pub fn semver() -> Result<()> {
    installed("cargo-semver-checks")?;
    let mut git = Command::new("git");
    let tags = output(git.args(["tag", "--list", "v*", "--sort=-version:refname"]).current_dir(root()))?;
    let Some(last) = tags.lines().next() else {
        bail!("No release is tagged: there is nothing to compare with")
    };
    checked(&mut cargo(&["semver-checks", "--workspace", "--baseline-rev", last]))
}

/// Mutates the code that guards the disk and the network. Each mutation must make a test fail.
pub fn mutants() -> Result<()> {
    installed("cargo-mutants")?;
    let mut mutants = cargo(&["mutants", "--in-place", "--no-shuffle"]);
    for guard in GUARDS {
        mutants.args(["--file", guard]);
    }
    checked(&mut mutants)
}

/// Runs the fuzz targets with a fuzzer that observes which code an input reaches.
pub fn fuzz() -> Result<()> {
    installed("cargo-fuzz")?;
    let targets = fs::read_dir(root().join("fuzz/fuzz_targets"))?;
    for target in targets {
        let file = target?.path();
        let name = file.file_stem().context("a fuzz target has a name")?.to_string_lossy().into_owned();
        let mut fuzz = Command::new("cargo");
        fuzz.args(["+nightly", "fuzz", "run", &name, "--", "-max_total_time=600", "-rss_limit_mb=512"]);
        checked(fuzz.current_dir(root()))?;
    }
    Ok(())
}
