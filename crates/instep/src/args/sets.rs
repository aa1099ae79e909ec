//! `[[set]]` of `instep.toml`: several sets of resources in one Source.

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, bail};
use instep_source::{Content, SetOptions};
use resourcesync::Uri;
use serde::Deserialize;

use crate::{config::Config, copy::CopyContent};

/// One table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    /// Its name: the folder of its documents.
    name: String,
    /// A folder; relative to the folder that is published.
    content: Option<PathBuf>,
    /// A manifest, CSV or JSON Lines; or the folder of a copy.
    from: Option<PathBuf>,
    /// The URI that the folder is served at; by default where it lies below the base URL.
    prefix: Option<String>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    describedby: Option<String>,
    /// Of `resourcelist` and `changelist`, those that are offered.
    capabilities: Option<Vec<String>>,
}

/// The sets that the configuration names; none where it names none.
pub(crate) fn sets(config: &Config, root: &Path) -> anyhow::Result<Option<Vec<SetOptions>>> {
    let Some(value) = config.shared("set") else { return Ok(None) };
    let place = || format!("{}: [[set]]", config.path().display());
    let tables: Vec<Table> = value.clone().try_into().with_context(place)?;
    let sets = tables.into_iter().map(|table| set(table, root)).collect::<Result<Vec<_>, _>>();
    sets.map(Some).with_context(place)
}

/// What is named instead of a folder: a manifest, or a folder with a copy, which is published again.
pub(crate) fn content_from(path: PathBuf, root: &Path, prefix: Option<String>) -> anyhow::Result<Content> {
    let folder = root.join(&path);
    if folder.is_dir() {
        return Ok(Arc::new(CopyContent::open(&folder)?).into_content(prefix));
    }
    Ok(Content::Manifest { path, root: root.to_owned() })
}

/// Where a folder below the one that is published is served, as a reference below the base URL; none for that folder
/// itself and for one elsewhere.
fn below(folder: &Path) -> Option<String> {
    let mut prefix = String::new();
    for component in folder.components().filter(|component| *component != Component::CurDir) {
        let Component::Normal(name) = component else { return None };
        for byte in name.as_encoded_bytes() {
            match byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
                true => prefix.push(char::from(*byte)),
                false => prefix.push_str(&format!("%{byte:02X}")),
            }
        }
        prefix.push('/');
    }
    (!prefix.is_empty()).then_some(prefix)
}

fn set(table: Table, root: &Path) -> anyhow::Result<SetOptions> {
    let mut set = SetOptions::new();
    set.content = match (table.content, table.from) {
        (folder, None) => {
            let folder = folder.unwrap_or_default();
            vec![Content::Folder {
                root: root.join(&folder),
                prefix: table.prefix.or_else(|| below(&folder)),
            }]
        }
        (None, Some(path)) => vec![content_from(path, root, table.prefix)?],
        (Some(_), Some(_)) => bail!("{}: content or from, not both", table.name),
    };
    set.name = table.name;
    set.include = table.include;
    set.exclude = table.exclude;
    if let Some(uri) = table.describedby {
        set.described_by =
            Some(Uri::parse(&uri).with_context(|| format!("{}: describedby {uri:?}", set.name))?);
    }
    if let Some(capabilities) = table.capabilities {
        set.resource_list = capabilities.iter().any(|name| name == "resourcelist");
        set.change_list = capabilities.iter().any(|name| name == "changelist");
        let unknown = |name: &&String| !["resourcelist", "changelist"].contains(&name.as_str());
        if let Some(name) = capabilities.iter().find(unknown) {
            bail!(
                "{}: the capability {name:?} is not chosen by set; resourcelist and changelist are",
                set.name
            );
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_the_published_one_is_served_below_the_base_url() {
        for (folder, prefix) in [
            ("papers", Some("papers/")),
            ("./a b/\u{e9}", Some("a%20b/%C3%A9/")),
            ("", None),
            (".", None),
            ("../elsewhere", None),
            ("/srv/elsewhere", None),
        ] {
            assert_eq!(below(Path::new(folder)).as_deref(), prefix, "{folder}");
        }
    }
}
