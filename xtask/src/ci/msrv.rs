//! The oldest Rust that is promised (`rust-version`): the workspace is built with it.

use std::{env, fs, process::Command};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use toml::Table;

use crate::run::{cargo, checked, host, output, root, target};

/// Builds everything, including tests, with the promised toolchain, which is installed if it is missing. If this is
/// impossible (a machine without network), a line says that only the promises of the dependencies were checked; in
/// the workflow of the forge that is an error.
pub fn check() -> Result<()> {
    let promised = promised()?;
    dependencies_promise(&promised)?;
    if !is_installed(&promised) && !install(&promised) {
        ensure!(env::var_os("GITHUB_ACTIONS").is_none(), "Rust {promised} cannot be installed");
        eprintln!(
            "> Rust {promised} cannot be installed, so nothing was built with it.\n\
             > Checked instead: clippy::incompatible_msrv for the standard library (job lints), and the dependencies."
        );
        return Ok(());
    }
    // Named for rustup and not by `+`: this cargo is the one that rust-toolchain.toml chose, and sets the variable.
    let mut build = Command::new("cargo");
    build.args(["check", "--workspace", "--all-targets", "--locked", "--quiet"]).current_dir(root());
    checked(build.env("RUSTUP_TOOLCHAIN", promised).env("CARGO_TARGET_DIR", target().join("msrv")))
}

/// Returns `true` if a program of this toolchain runs.
fn is_installed(toolchain: &str) -> bool {
    output(Command::new("rustup").args(["run", toolchain, "rustc", "--version"])).is_ok()
}

/// Installs a toolchain with nothing but compiler, cargo and standard library; `false` if that fails.
fn install(toolchain: &str) -> bool {
    let mut rustup = Command::new("rustup");
    checked(rustup.args(["toolchain", "install", toolchain, "--profile", "minimal", "--no-self-update"]))
        .is_ok()
}

/// Returns the `rust-version` of the workspace.
fn promised() -> Result<String> {
    let manifest: Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let package = manifest.get("workspace").and_then(|table| table.get("package"));
    let version = package.and_then(|package| package.get("rust-version")?.as_str());
    Ok(version.context("Cargo.toml has no rust-version")?.to_owned())
}

/// Fails if a dependency requires a newer Rust.
fn dependencies_promise(promised: &str) -> Result<()> {
    let mut metadata = cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform"]);
    let metadata: Value = serde_json::from_str(&output(metadata.arg(host()?))?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let newer: Vec<_> = packages
        .iter()
        .filter(|package| package["rust_version"].as_str().is_some_and(|own| parts(own) > parts(promised)))
        .map(|package| {
            format!("{} {} needs Rust {}", package["name"], package["version"], package["rust_version"])
        })
        .collect();
    ensure!(newer.is_empty(), "Rust {promised} is promised, but\n  {}", newer.join("\n  "));
    eprintln!("> {} packages, none needs a Rust newer than {promised}", packages.len());
    Ok(())
}

/// Returns the three numbers of a version; those it leaves out are 0.
fn parts(version: &str) -> [u64; 3] {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_compared_by_number() {
        assert!(super::parts("1.100") > super::parts("1.88.0"));
        assert!(super::parts("1.9") < super::parts("1.88"));
        assert_eq!(super::parts("1.88.0"), super::parts("1.88"));
    }
}
