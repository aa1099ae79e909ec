//! `[[set]]` of `instep.toml`: several sets of resources in one Source.

use std::{
    path::{Path, PathBuf},
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
    /// The URI that the folder is served at.
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

fn set(table: Table, root: &Path) -> anyhow::Result<SetOptions> {
    let mut set = SetOptions::new();
    set.content = match (table.content, table.from) {
        (folder, None) => {
            let folder = folder.map_or_else(|| root.to_owned(), |folder| root.join(folder));
            vec![Content::Folder { root: folder, prefix: table.prefix }]
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
