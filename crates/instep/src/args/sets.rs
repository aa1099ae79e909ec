//! `[[set]]` of `instep.toml`: several sets of resources in one Source.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, bail};
use instep_source::{Content, ObjectPlace, SetOptions};
use resourcesync::Uri;
use serde::Deserialize;

use super::{
    content::{ContentArgs, ContentPlace},
    folders,
};
use crate::config::Config;

/// A `[[set]]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    /// The name of the set, which is also the folder of its documents.
    name: String,
    /// A folder, relative to the published folder; not together with `from`.
    content: Option<PathBuf>,
    /// A manifest, CSV or JSON Lines; the folder of a copy; or the URL of a repository.
    from: Option<PathBuf>,
    /// `true` to fetch the full texts that the records of a repository name.
    #[serde(default)]
    full_text: bool,
    /// The place of an inventory of the bucket that `from` names.
    inventory: Option<String>,
    /// The URI at which the folder is served; by default its place below the base URL.
    prefix: Option<String>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    describedby: Option<String>,
    /// The capabilities that are offered, among `resourcelist` and `changelist`; `None` for both.
    capabilities: Option<Vec<String>>,
}

/// Returns the sets that the configuration names; `None` if it names none.
///
/// Errors: a table with a missing, unknown or wrong key.
pub(crate) fn sets(
    config: &Config,
    root: &Path,
    content_args: &ContentArgs,
) -> anyhow::Result<Option<Vec<SetOptions>>> {
    if config.shared("set").is_none() {
        return Ok(None);
    }
    let mut names = BTreeSet::new();
    let sets = config.tables::<Table>("set")?.into_iter().map(|table| {
        let place = config.place_at(table.span().start);
        let set = set(table.into_inner(), root, content_args, config).and_then(|set| {
            if !names.insert(set.name.clone()) {
                bail!("a set before it has the name {:?} too; give this one another", set.name);
            }
            Ok(set)
        });
        set.with_context(|| format!("{place} [[set]]"))
    });
    sets.collect::<Result<Vec<_>, _>>().map(Some)
}

/// Returns the place of a folder below the base URL; `None` for the published folder itself and for folders outside
/// of it.
fn below(folder: &Path) -> Option<String> {
    let mut prefix = String::new();
    for component in folder.components().filter(|component| *component != Component::CurDir) {
        let Component::Normal(name) = component else { return None };
        for byte in name.as_encoded_bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
                prefix.push(char::from(*byte))
            } else {
                prefix.push_str(&format!("%{byte:02X}"))
            }
        }
        prefix.push('/');
    }
    (!prefix.is_empty()).then_some(prefix)
}

fn set(table: Table, root: &Path, content_args: &ContentArgs, config: &Config) -> anyhow::Result<SetOptions> {
    let mut set = SetOptions::new();
    set.name.clone_from(&table.name);
    set.check_name()?;
    set.content = match (table.content, table.from) {
        (_, None) if table.full_text => {
            bail!(
                "{}: full-text is for a harvested repository; write from = \"oai+https://...\" too",
                table.name
            )
        }
        (folder, None) => {
            let below_root = folder.unwrap_or_default();
            let folder = root.join(&below_root);
            folders::refuse_missing(&folder)?;
            vec![Content::Folder { root: folder, prefix: table.prefix.or_else(|| below(&below_root)) }]
        }
        (None, Some(from)) => {
            let inventory = table.inventory.as_deref().map(ObjectPlace::parse).transpose()?;
            let place = ContentPlace {
                root,
                prefix: table.prefix,
                set: &table.name,
                full_texts: table.full_text,
                inventory,
            };
            vec![content_args.content(from, place, config)?]
        }
        (Some(_), Some(_)) => bail!("{}: set either content or from, not both", table.name),
    };
    set.include = table.include;
    set.exclude = table.exclude;
    if let Some(uri) = table.describedby {
        set.described_by =
            Some(Uri::parse(&uri).with_context(|| format!("{}: describedby {uri:?}", set.name))?);
    }
    if let Some(capabilities) = table.capabilities {
        set.resource_list = capabilities.iter().any(|name| name == "resourcelist");
        set.change_list = capabilities.iter().any(|name| name == "changelist");
        if capabilities.is_empty() {
            bail!(
                "{}: capabilities is empty, so readers would find nothing; name resourcelist, changelist or both",
                set.name
            );
        }
        let unknown = |name: &&String| !["resourcelist", "changelist"].contains(&name.as_str());
        if let Some(name) = capabilities.iter().find(unknown) {
            bail!(
                "{}: the capability {name:?} cannot be chosen per set; only resourcelist and changelist can",
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
