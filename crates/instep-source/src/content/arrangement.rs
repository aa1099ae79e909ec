//! The arrangement of the content: the URIs that each folder serves, and the numbers of the folders in the catalogue.

mod numbers;

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use super::{
    Holdings, HoldingsShared, NAMED,
    describe::Describer,
    filter::Filter,
    manifest::Manifest,
    root::{self, Root},
    supplier::Supply,
    uri,
};
use crate::{
    Content, Error, PublishOptions,
    catalogue::{Catalogue, NamedValue},
    records::CONTENT,
    render::SourcePlace,
};

impl Holdings {
    /// Takes the content of all sets. The catalogue remembers the number of each prefix and manifest, so that another
    /// order in the configuration changes nothing.
    ///
    /// # Errors
    /// If two folders claim the same URIs, a glob or prefix is wrong, or a folder cannot be read.
    pub(crate) fn new(options: &PublishOptions, catalogue: &Catalogue) -> Result<Self, Error> {
        Self::arrange(options, catalogue, None)
    }

    /// Takes the content of a Source that will move, with the base URL that the catalogue has. The lines of manifests have
    /// the new one.
    ///
    /// # Errors
    /// As [`Holdings::new`].
    pub(crate) fn before_move(
        options: &PublishOptions,
        catalogue: &Catalogue,
        from: &str,
    ) -> Result<Self, Error> {
        let mut before = options.clone();
        from.clone_into(&mut before.base_url);
        Self::arrange(&before, catalogue, Some(SourcePlace::new(&options.base_url)?.base()))
    }

    /// Returns the keys between which the resources lie that an application has named: all of them, or those at URIs below
    /// that of a root.
    pub(crate) fn keys_of_named(root: Option<&Root>) -> (Vec<u8>, Vec<u8>) {
        let Some(root) = root else { return (vec![NAMED], vec![NAMED + 1]) };
        let from = [&[NAMED], root.prefix.as_bytes()].concat();
        // The prefix ends with a slash, and a zero comes right after that.
        let to = [&from[..from.len() - 1], b"0"].concat();
        (from, to)
    }

    fn arrange(
        options: &PublishOptions,
        catalogue: &Catalogue,
        written_below: Option<&str>,
    ) -> Result<Self, Error> {
        let place = SourcePlace::new(&options.base_url)?;
        let (mut folders, mut manifests) = (Vec::new(), Vec::new());
        for (set, set_options) in (0u8..).zip(&options.sets) {
            let filter = Filter::new(&set_options.include, &set_options.exclude)?;
            for content in &set_options.content {
                match content {
                    Content::Folder { root, prefix } => {
                        let prefix = root::prefix(prefix.as_deref(), place.base())?;
                        folders.push((prefix, root.as_path(), None, set, filter.clone()));
                    }
                    Content::Supplied { supply, prefix } => {
                        let prefix = root::prefix(prefix.as_deref(), place.base())?;
                        folders.push((prefix, supply.0.folder(), Some(supply), set, filter.clone()));
                    }
                    Content::Manifest { path, root } => {
                        add_manifest(&mut manifests, path, root, place.base(), set, filter.clone());
                    }
                }
            }
        }
        // Files below another folder of the Source are found there.
        folders.sort_by_key(|(prefix, ..)| prefix.len());
        let mut roots = Vec::new();
        for (prefix, folder, supply, set, filter) in folders {
            add_root(&mut roots, folder, supply, prefix, set, filter)?;
        }
        for manifest in &mut manifests {
            if let Some(draft) = options.manifest_drafts.get(manifest.path()) {
                manifest.read_draft(draft);
            }
        }
        if let Some(written) = written_below {
            manifests.iter_mut().for_each(|manifest| manifest.read_below(written, place.base()));
        }
        numbers::number(&mut roots, &mut manifests, catalogue)?;
        for root in &mut roots {
            root.leave_out(&options.out, &options.state);
        }
        leave_out_nested(&mut roots);
        let describers: Result<Vec<_>, _> =
            options.sets.iter().map(|set| Describer::new(set, place.base())).collect();
        Ok(Self(Arc::new(HoldingsShared {
            roots,
            manifests,
            describers: describers?,
            looking: Mutex::default(),
            deletions: Mutex::default(),
        })))
    }
}

fn add_root(
    roots: &mut Vec<Root>,
    folder: &Path,
    supply: Option<&Supply>,
    prefix: String,
    set: u8,
    filter: Filter,
) -> Result<(), Error> {
    let named = std::path::absolute(folder).map_err(Error::read(folder))?;
    let folder = folder.canonicalize().map_err(Error::read(folder))?;
    let below = |root: &Root| root.leads_to(&folder, &prefix).filter(|_| supply.is_none());
    if let Some((index, below)) = roots.iter().enumerate().find_map(|(at, root)| Some((at, below(root)?))) {
        roots[index].add_set(set, filter.below(below));
        return Ok(());
    }
    match roots.iter_mut().find(|root| root.prefix == prefix) {
        Some(root) if root.folder() == folder && root.supply.as_ref() == supply => root.add_set(set, filter),
        Some(root) => return Err(root::claimed_twice(&prefix, &root.folder(), &folder)),
        None => roots.push(Root::new(named, folder, supply.cloned(), prefix, set, filter)?),
    }
    Ok(())
}

fn add_manifest(
    manifests: &mut Vec<Manifest>,
    path: &Path,
    folder: &Path,
    base: &str,
    set: u8,
    filter: Filter,
) {
    match manifests.iter_mut().find(|manifest| manifest.path == path) {
        Some(manifest) => manifest.add_set(set, filter),
        None => manifests.push(Manifest::new(path, folder, base, set, filter)),
    }
}

/// Returns the numbers of folders and manifests as they are kept once the Source has another base URL.
pub(crate) fn rebased_numbers(catalogue: &Catalogue, from: &str, to: &str) -> Result<Vec<NamedValue>, Error> {
    let numbers = CONTENT.read(&catalogue.snapshot()?)?.unwrap_or_default();
    let rebase = |name: String| match name.strip_prefix(from) {
        Some(rest) => format!("{to}{rest}"),
        None => name,
    };
    let numbers = numbers.into_iter().map(|(name, number)| (rebase(name), number)).collect();
    Ok(vec![CONTENT.write(&numbers)])
}

/// Leaves out, in each folder, the paths whose URIs another folder serves below it.
fn leave_out_nested(roots: &mut [Root]) {
    let prefixes: Vec<String> = roots.iter().map(|root| root.prefix.clone()).collect();
    for root in roots {
        let inner = |prefix: &String| prefix.strip_prefix(&root.prefix).and_then(uri::decode);
        let hidden: Vec<Vec<u8>> = prefixes.iter().filter_map(inner).collect();
        hidden.into_iter().for_each(|path| root.leave_out_path(path));
    }
}
