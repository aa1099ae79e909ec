//! The list of what a program is built from, in the form of CycloneDX.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Release;
use crate::run::{cargo, output};

/// Writes `NAME.cdx.json` into a folder: every crate that is part of the program, with version and licence.
pub(super) fn write(release: &Release, folder: &Path) -> Result<PathBuf> {
    let mut metadata = cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform"]);
    let metadata: Value = serde_json::from_str(&output(metadata.arg(&release.platform))?)?;
    let bill = bill(&metadata, &release.version)?;
    let file = folder.join(format!("{}.cdx.json", release.name()));
    fs::write(&file, serde_json::to_string_pretty(&bill)?)?;
    Ok(file)
}

fn bill(metadata: &Value, version: &str) -> Result<Value> {
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let by_id: BTreeMap<&str, &Value> =
        packages.iter().filter_map(|one| Some((one["id"].as_str()?, one))).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")?;
    let nodes: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let program = by_id.iter().find(|(_, package)| package["name"] == "instep").map(|(id, _)| *id);
    let parts = parts(program.context("the workspace has no package instep")?, &nodes);
    let components: Vec<Value> =
        parts.iter().filter_map(|id| by_id.get(id)).map(|one| component(one)).collect();
    let dependencies: Vec<Value> = parts
        .iter()
        .filter_map(|id| Some((by_id.get(id)?, nodes.get(id)?)))
        .map(|(package, node)| {
            let on = linked(node).filter_map(|id| by_id.get(id)).map(|package| reference(package));
            json!({ "ref": reference(package), "dependsOn": on.collect::<BTreeSet<_>>() })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "instep", "version": version } },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The packages that one is built from, itself included.
fn parts<'m>(program: &'m str, nodes: &BTreeMap<&'m str, &'m Value>) -> BTreeSet<&'m str> {
    let mut parts = BTreeSet::new();
    let mut open = vec![program];
    while let Some(id) = open.pop() {
        if parts.insert(id) {
            open.extend(nodes.get(id).into_iter().flat_map(|node| linked(node)));
        }
    }
    parts
}

/// The dependencies of a package that are no mere tools of its tests.
fn linked(node: &Value) -> impl Iterator<Item = &str> {
    let all = node["deps"].as_array().into_iter().flatten();
    let is_built =
        |kinds: &Value| kinds.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"));
    all.filter(move |one| is_built(&one["dep_kinds"])).filter_map(|one| one["pkg"].as_str())
}

fn reference(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn component(package: &Value) -> Value {
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
    component
}
