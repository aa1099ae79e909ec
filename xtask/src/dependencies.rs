//! Licences, banned crates and the number of crates: the rules of `deny.toml` that need no other tool, and the budget.

use std::{collections::BTreeSet, fs};

use anyhow::{Result, ensure};
use toml::Table;

use crate::run::{cargo, output, root};

/// Crates in the complete graph, including ours.
const BUDGET: usize = 400;

/// Fails on a banned crate, a licence that is not allowed, and too many crates.
pub fn check() -> Result<()> {
    let rules: Table = fs::read_to_string(root().join("deny.toml"))?.parse()?;
    let banned = texts(&rules, "bans", "deny", |ban| ban.get("crate")?.as_str());
    let allowed = texts(&rules, "licenses", "allow", toml::Value::as_str);
    let tree = tree()?;
    for (package, licence) in &tree {
        let name = package.split(' ').next().unwrap_or(package);
        ensure!(!banned.contains(name), "{package} must not be in the tree (deny.toml)");
        ensure!(is_allowed(licence, &allowed), "{package}: licence `{licence}` is not allowed (deny.toml)");
    }
    ensure!(tree.len() < BUDGET, "{} crates; the budget is {BUDGET}", tree.len());
    eprintln!("> {} crates, {} licences allowed, {} crates banned", tree.len(), allowed.len(), banned.len());
    Ok(())
}

/// Returns every package of this platform with its licence.
fn tree() -> Result<BTreeSet<(String, String)>> {
    let listing = ["--prefix", "none", "--edges", "normal,build,dev", "--format", "{p}|{l}"];
    let mut command = cargo(&["tree", "--workspace", "--quiet"]);
    let lines = output(command.args(listing))?;
    let package = |line: &str| line.split_once('|').map(|(name, licence)| (name.into(), licence.into()));
    Ok(lines.lines().map(|line| line.trim_end_matches(" (*)")).filter_map(package).collect())
}

fn texts(
    rules: &Table,
    section: &str,
    key: &str,
    text: impl Fn(&toml::Value) -> Option<&str>,
) -> BTreeSet<String> {
    let list = rules.get(section).and_then(|section| section.get(key)?.as_array());
    list.into_iter().flatten().filter_map(|value| text(value).map(str::to_owned)).collect()
}

/// Returns `true` if each part of an SPDX expression has an alternative that is allowed. The registry's crates write
/// `AND` only outside of `OR`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|one| allowed.contains(one.trim())))
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_allowed_alternative_is_enough_in_each_part() {
        let allowed = ["MIT", "Zlib"].map(str::to_owned).into();
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("(MIT OR Apache-2.0) AND Zlib", true),
            ("(MIT OR Apache-2.0) AND OpenSSL", false),
            ("MIT AND Zlib", true),
            ("", false),
        ] {
            assert_eq!(super::is_allowed(expression, &allowed), expected, "{expression}");
        }
    }

    #[test]
    fn the_tree_holds_nothing_that_is_banned() {
        super::check().unwrap();
    }
}
