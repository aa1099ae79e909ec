//! Dependencies that a `Cargo.toml` lists and no source file of its package uses.
//!
//! A check of texts, not of the compiler's resolution: a dependency counts as used if a path starts with its name.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use toml::Table;

use crate::run::{packages, root};

/// Names of libraries that differ from the names of their packages.
const LIBRARIES: &[(&str, &str)] = &[("md-5", "md5")];

/// Fails if a dependency is not used, or if the workspace lists one that no package has.
pub fn check() -> Result<()> {
    let mut unused = Vec::new();
    let mut listed = BTreeSet::new();
    for package in packages()? {
        let manifest: Table = fs::read_to_string(package.join("Cargo.toml"))?.parse()?;
        let texts = sources(&package)?;
        for (section, name) in dependencies(&manifest) {
            listed.insert(name.clone());
            let library = LIBRARIES.iter().find(|(package, _)| *package == name);
            let library = library.map_or_else(|| name.replace('-', "_"), |(_, library)| (*library).into());
            if !texts.iter().any(|text| uses(text, &library)) {
                let place = package.strip_prefix(root()).unwrap_or(&package).display();
                unused.push(format!("{place}/Cargo.toml [{section}] {name}"));
            }
        }
    }
    let workspace: Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let shared = workspace.get("workspace").and_then(|table| table.get("dependencies")?.as_table());
    let shared = shared.context("Cargo.toml has no [workspace.dependencies]")?;
    unused.extend(
        shared.keys().filter(|name| !listed.contains(*name)).map(|name| format!("Cargo.toml {name}")),
    );
    ensure!(unused.is_empty(), "Dependencies that nothing uses:\n  {}", unused.join("\n  "));
    eprintln!("> {} dependencies, each in use", listed.len());
    Ok(())
}

/// Returns the dependencies of a package, each with its section, those of single platforms among them.
fn dependencies(manifest: &Table) -> Vec<(&'static str, String)> {
    let table =
        |value: Option<&toml::Value>| value.and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let platforms = table(manifest.get("target")).into_iter().map(|(_, of)| table(Some(&of)));
    let tables: Vec<Table> = platforms.chain([manifest.clone()]).collect();
    let names = |section: &'static str| {
        let of = tables.iter().map(move |from| table(from.get(section)));
        of.flat_map(move |found| found.into_iter().map(move |(name, _)| (section, name))).collect::<Vec<_>>()
    };
    ["dependencies", "dev-dependencies", "build-dependencies"].into_iter().flat_map(names).collect()
}

/// Returns every source file of a package.
fn sources(package: &Path) -> Result<Vec<String>> {
    let mut folders: Vec<PathBuf> = vec![package.to_owned()];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                texts.push(fs::read_to_string(&path).with_context(|| path.display().to_string())?);
            }
        }
    }
    Ok(texts)
}

/// Returns `true` if a path in the code starts with this library.
fn uses(text: &str, library: &str) -> bool {
    text.match_indices(library).any(|(at, _)| {
        let before = &text[..at];
        let after = &text[at + library.len()..];
        let line = before.rsplit('\n').next().unwrap_or_default();
        let starts_a_path = !before
            .ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '.')
            || before.ends_with(" ::");
        // Inside the braces of a `use`, only the outermost names are libraries.
        let nested = is_within_use(before);
        let path =
            after.starts_with("::") || (line.trim_start().starts_with("use ") && after.starts_with(';'));
        !line.trim_start().starts_with("//") && starts_a_path && !nested && path
    })
}

/// Returns `true` if the text ends within the braces of a `use` declaration.
fn is_within_use(before: &str) -> bool {
    let statement = before.rsplit(';').next().unwrap_or_default();
    let declares = |line: &&str| {
        let line = line.trim_start();
        line.strip_prefix("pub(crate) ")
            .or_else(|| line.strip_prefix("pub "))
            .unwrap_or(line)
            .starts_with("use ")
    };
    statement.lines().rev().find(declares).is_some_and(|line| line.contains('{'))
}

#[cfg(test)]
mod tests {
    use super::uses;

    #[test]
    fn a_library_is_used_where_a_path_starts_with_it() {
        for (text, expected) in [
            ("use metrics::Counter;", true),
            ("use metrics;", true),
            ("let a = metrics::counter!();", true),
            ("#[tokio::test]", false),
            ("use crate::{\n    ui::{metrics::Metrics},\n};", false),
            ("use crate::{metrics::Metrics};", false),
            ("use crate::metrics::Metrics;", false),
            ("// metrics::Counter", false),
            ("let metrics = 1;", false),
            ("old_metrics::a()", false),
        ] {
            assert_eq!(uses(text, "metrics"), expected, "{text}");
        }
        assert!(uses("#[tokio::test]", "tokio"));
    }

    #[test]
    fn nothing_is_listed_that_is_not_used() {
        super::check().unwrap();
    }
}
