//! The list of a program's components, in the CycloneDX format: each crate, the C code that some include, and the
//! standard library.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{HOMEPAGE, Release};
use crate::run::{cargo, output, root};

/// Writes `NAME.cdx.json` into a folder.
pub(super) fn write(release: &Release, folder: &Path) -> Result<PathBuf> {
    let mut metadata = cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform"]);
    let metadata: Value = serde_json::from_str(&output(metadata.arg(&release.platform))?)?;
    let bill = Graph::of(&metadata, &built(&release.platform)?)?.bill(&release.version)?;
    let file = folder.join(format!("{}.cdx.json", release.name()));
    fs::write(&file, serde_json::to_string_pretty(&bill)?)?;
    Ok(file)
}

/// Returns the crates that cargo builds for the program, as `NAME VERSION`. `cargo metadata` also lists those that only other
/// packages of the workspace enable.
fn built(platform: &str) -> Result<BTreeSet<String>> {
    let mut tree =
        cargo(&["tree", "-p", "instep", "--edges", "normal,build", "--prefix", "none", "--locked"]);
    let lines = output(tree.args(["--format", "{p}", "--target", platform]))?;
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
    };
    Ok(lines.lines().filter_map(package).collect())
}

/// The crates of a program, by their cargo ids, and their dependencies.
struct Graph<'m> {
    packages: BTreeMap<&'m str, &'m Value>,
    dependencies: BTreeMap<&'m str, Vec<&'m str>>,
    checksums: BTreeMap<String, String>,
}

impl<'m> Graph<'m> {
    fn of(metadata: &'m Value, built: &BTreeSet<String>) -> Result<Self> {
        let all = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
        let is_built = |package: &&Value| {
            built.contains(&format!("{} {}", text(package, "name"), text(package, "version")))
        };
        let packages: BTreeMap<&str, &Value> =
            all.iter().filter(is_built).map(|package| (text(package, "id"), package)).collect();
        let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")?;
        let dependencies = nodes
            .iter()
            .filter(|node| packages.contains_key(text(node, "id")))
            .map(|node| (text(node, "id"), linked(node).filter(|id| packages.contains_key(id)).collect()))
            .collect();
        Ok(Self { packages, dependencies, checksums: checksums()? })
    }

    fn bill(&self, version: &str) -> Result<Value> {
        let program = self.packages.values().find(|package| text(package, "name") == "instep");
        let program = program.context("the workspace has no package instep")?;
        let mut subject = self.component(program);
        subject["type"] = "application".into();
        subject["version"] = version.into();
        let others = self.packages.values().filter(|package| package["id"] != program["id"]);
        let mut components: Vec<Value> = others.map(|package| self.component(package)).collect();
        components.extend(self.sqlite()?);
        components.push(standard_library()?);
        let dependencies = self.dependencies.iter().map(|(id, on)| {
            let on: BTreeSet<String> = on.iter().map(|id| reference(self.packages[id])).collect();
            json!({ "ref": reference(self.packages[id]), "dependsOn": on })
        });
        Ok(json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "component": subject,
                "manufacture": { "name": "The instep project", "url": [HOMEPAGE] },
            },
            "components": components,
            "dependencies": dependencies.collect::<Vec<_>>(),
        }))
    }

    fn component(&self, package: &Value) -> Value {
        let mut component = json!({
            "type": "library",
            "bom-ref": reference(package),
            "name": package["name"],
            "version": package["version"],
            "purl": reference(package),
        });
        if let Some(licence) = package["license"].as_str() {
            component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        let key = format!("{} {}", text(package, "name"), text(package, "version"));
        if let Some(checksum) = self.checksums.get(&key) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        component
    }

    /// Returns the component SQLite, whose code is included in a crate: advisories name its own version.
    fn sqlite(&self) -> Result<Option<Value>> {
        let carrier = self.packages.values().find(|package| text(package, "name") == "libsqlite3-sys");
        let Some(carrier) = carrier else { return Ok(None) };
        let header = Path::new(text(carrier, "manifest_path")).with_file_name("sqlite3").join("sqlite3.h");
        let header = fs::read_to_string(&header).with_context(|| header.display().to_string())?;
        let version = header.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "));
        let version = version.context("sqlite3.h names no version")?.trim().trim_matches('"');
        Ok(Some(json!({
            "type": "library",
            "bom-ref": format!("pkg:generic/sqlite@{version}"),
            "name": "sqlite",
            "version": version,
            "purl": format!("pkg:generic/sqlite@{version}"),
            "cpe": format!("cpe:2.3:a:sqlite:sqlite:{version}:*:*:*:*:*:*:*"),
            "licenses": [{ "license": { "name": "Public Domain" } }],
        })))
    }
}

/// Returns the standard library of the compiler in use.
fn standard_library() -> Result<Value> {
    let about = output(std::process::Command::new("rustc").arg("-vV").current_dir(root()))?;
    let version = about.lines().find_map(|line| line.strip_prefix("release: "));
    let version = version.context("rustc -vV names no release")?;
    Ok(json!({
        "type": "framework",
        "bom-ref": format!("pkg:generic/rust@{version}"),
        "name": "rust",
        "version": version,
        "purl": format!("pkg:generic/rust@{version}"),
        "licenses": [{ "expression": "MIT OR Apache-2.0" }],
    }))
}

/// Returns the digests of crates as the registry gave them, by `NAME VERSION`.
fn checksums() -> Result<BTreeMap<String, String>> {
    let lock: toml::Table = fs::read_to_string(root().join("Cargo.lock"))?.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let entry = |package: &toml::Value| {
        let text = |key: &str| Some(package.get(key)?.as_str()?.to_owned());
        Some((format!("{} {}", text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(entry).collect())
}

/// Returns the dependencies of a package that are no mere tools of its tests.
fn linked(node: &Value) -> impl Iterator<Item = &str> {
    let all = node["deps"].as_array().into_iter().flatten();
    let is_built =
        |kinds: &Value| kinds.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"));
    all.filter(move |one| is_built(&one["dep_kinds"])).filter_map(|one| one["pkg"].as_str())
}

fn reference(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"))
}

fn text<'m>(package: &'m Value, key: &str) -> &'m str {
    package[key].as_str().unwrap_or_default()
}
