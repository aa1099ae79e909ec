//! The folders of the copies of a fleet: none is that of another Source, or lies within it, in any spelling. A run over
//! one copy could otherwise replace or delete files of another.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use super::engine::{FieldFault, Statements};
use crate::{FleetError, definition::SourceDefinition, name::SourceName};

/// Refuses Sources whose folders overlap with another one's, or with the folder of the fleet or the one within it that is
/// its `own`. Folders that earlier versions allowed stay.
pub(super) fn expect_apart(
    fleet: &Path,
    own: &Path,
    statements: &dyn Statements,
    added: &[SourceDefinition],
    damaged: &dyn Fn(FieldFault) -> FleetError,
) -> Result<(), FleetError> {
    let rows = statements.query("SELECT name, folder FROM source", &[])?;
    let read = rows.iter().map(|row| Ok((row.string(0)?, row.string(1)?)));
    let known = read.collect::<Result<Vec<_>, FieldFault>>().map_err(damaged)?;
    let (fleet, own) = (plain(fleet), plain(own));
    let mut folders: Vec<_> =
        known.into_iter().map(|(name, folder)| (plain(&fleet.join(folder)), name)).collect();
    // Everything within a folder comes directly after it.
    folders.sort();
    let added: BTreeMap<&str, _> =
        added.iter().map(|definition| (definition.name.as_str(), definition)).collect();
    let is_added = |name: &str| added.get(name).copied();
    let mut around: Vec<&(PathBuf, String)> = Vec::new();
    for entry in &folders {
        let (folder, name) = entry;
        if let Some(definition) = is_added(name)
            && (fleet.starts_with(folder) || folder.starts_with(&own))
        {
            return overlap(&definition.name, format!("{} belongs to the fleet itself", folder.display()));
        }
        while around.last().is_some_and(|(outer, _)| !folder.starts_with(outer)) {
            around.pop();
        }
        for (outer, other) in &around {
            let relation = if outer == folder { "is" } else { "lies within" };
            let inner = format!("{} {relation} the folder of {other}", folder.display());
            let outer = format!("{} contains the folder of {name}", outer.display());
            match (is_added(name), is_added(other)) {
                (Some(definition), _) => return overlap(&definition.name, inner),
                (None, Some(definition)) => return overlap(&definition.name, outer),
                (None, None) => {}
            }
        }
        around.push(entry);
    }
    Ok(())
}

fn overlap(name: &SourceName, what: String) -> Result<(), FleetError> {
    Err(FleetError::Overlap { name: name.clone(), what })
}

/// Returns an absolute path without `.`, `..` and repeated slashes, as it is written: folders need not exist yet.
fn plain(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}
