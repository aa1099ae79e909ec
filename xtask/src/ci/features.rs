//! Clippy for each set of features that a user may choose: none, and each alone. The default set is linted with the
//! workspace.

use std::fs;

use anyhow::Result;
use toml::Table;

use crate::run::{cargo, checked, packages};

/// Lints each library that has features, and the program.
pub fn check() -> Result<()> {
    let mut sets = 0;
    for package in packages()? {
        let manifest: Table = fs::read_to_string(package.join("Cargo.toml"))?.parse()?;
        let Some(features) = manifest.get("features").and_then(toml::Value::as_table) else { continue };
        let name =
            manifest.get("package").and_then(|package| package.get("name")?.as_str()).unwrap_or_default();
        let target = if package.join("src/lib.rs").is_file() { "--lib" } else { "--bins" };
        let alone = features.keys().filter(|feature| *feature != "default");
        for feature in std::iter::once("").chain(alone.map(String::as_str)) {
            let arguments =
                ["clippy", "-p", name, target, "--quiet", "--no-default-features", "--features", feature];
            checked(&mut cargo(&[&arguments[..], &["--", "-D", "warnings"]].concat()))?;
            sets += 1;
        }
    }
    eprintln!("> {sets} sets of features");
    Ok(())
}
