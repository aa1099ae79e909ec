//! Where bitstreams live: folders, and what manifests and applications name.

mod filter;
mod look;
mod media_type;
mod root;
mod uri;
mod walk;

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use crate::{
    Content, Error, PublishOptions,
    catalogue::{Catalogue, Resource},
    render::Place,
};

pub(crate) use look::{Look, look};
pub(crate) use media_type::MediaTypes;
pub(crate) use root::Root;
pub(crate) use walk::{Skipped, Skips, Step, Walk, stamp};

/// The first byte of the key of a resource that lies in no root: its URI follows.
const NAMED: u8 = 0;

/// What the Source holds: its folders, where their files are in the catalogue, and which URIs they have.
#[derive(Debug)]
pub struct Holdings {
    roots: Vec<Root>,
}

impl Holdings {
    /// Takes the folders of all sets. The catalogue remembers the number of each prefix, so that another order in the
    /// configuration changes nothing.
    ///
    /// # Errors
    /// When two folders claim the same URIs, a glob or prefix is wrong, or a folder cannot be read.
    pub fn new(options: &PublishOptions, catalogue: &Catalogue) -> Result<Self, Error> {
        let place = Place::new(&options.base_url)?;
        let mut roots: Vec<Root> = Vec::new();
        for (set, set_options) in (0u8..).zip(&options.sets) {
            for content in &set_options.content {
                let Content::Folder { root: folder, prefix } = content else { continue };
                let prefix = root::prefix(prefix.as_deref(), place.base())?;
                let folder = folder.canonicalize().map_err(Error::read(folder))?;
                let filter = filter::Filter::new(&set_options.include, &set_options.exclude)?;
                match roots.iter_mut().find(|root| root.prefix == prefix) {
                    Some(root) if root.folder == folder => root.add_set(set, filter),
                    Some(root) => return Err(root::claimed_twice(&prefix, &root.folder, &folder)),
                    None => roots.push(Root::new(folder, prefix, set, filter)?),
                }
            }
        }
        number(&mut roots, catalogue)?;
        for root in &mut roots {
            root.leave_out(&options.out, &options.state);
        }
        leave_out_nested(&mut roots);
        Ok(Self { roots })
    }

    /// The folders, to be watched.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.folder.as_path())
    }

    /// Where in the catalogue the resource with this URI stands, or would stand.
    pub fn key_of(&self, uri: &str) -> Vec<u8> {
        let longest = self
            .roots
            .iter()
            .filter(|root| uri.starts_with(&root.prefix))
            .max_by_key(|root| root.prefix.len());
        longest.and_then(|root| root.key_of_uri(uri)).unwrap_or_else(|| [&[NAMED], uri.as_bytes()].concat())
    }

    /// Opens the file of a resource: below its root, and through no link.
    ///
    /// # Errors
    /// When it has none, or it cannot be opened.
    pub fn open(&self, resource: &Resource) -> io::Result<File> {
        match (&resource.file, self.root_of(&resource.key)) {
            (Some(file), _) => File::open(file),
            (None, Some((root, path))) => root.open(path),
            (None, None) => Err(io::Error::new(io::ErrorKind::NotFound, "the resource has no file")),
        }
    }

    /// Where the file of a resource is; none where it has none.
    pub fn path(&self, resource: &Resource) -> Option<PathBuf> {
        let in_root = || self.root_of(&resource.key).map(|(root, path)| root.path(path));
        resource.file.clone().or_else(in_root)
    }

    pub(crate) fn roots(&self) -> &[Root] {
        &self.roots
    }

    fn root_of<'k>(&self, key: &'k [u8]) -> Option<(&Root, &'k [u8])> {
        let (number, path) = key.split_first()?;
        Some((self.roots.iter().find(|root| root.number == *number)?, path))
    }
}

/// Gives each root the number its prefix has always had, and a new prefix the next one; sorts by number.
fn number(roots: &mut [Root], catalogue: &Catalogue) -> Result<(), Error> {
    const NAME: &str = "roots";
    let kept = catalogue.snapshot()?.meta(NAME)?.unwrap_or_default();
    let mut numbers: BTreeMap<String, u8> = serde_json::from_slice(&kept).unwrap_or_default();
    let known = numbers.len();
    for root in &mut *roots {
        let next = numbers.len() + 1;
        root.number = match numbers.get(&root.prefix) {
            Some(number) => *number,
            None => {
                u8::try_from(next).map_err(|_| Error::option("content", "more than 255 prefixes in all"))?
            }
        };
        numbers.insert(root.prefix.clone(), root.number);
    }
    if numbers.len() > known {
        let value = serde_json::to_vec(&numbers).unwrap_or_default();
        catalogue.set_meta(vec![(NAME.to_owned(), Some(value))])?;
    }
    roots.sort_unstable_by_key(|root| root.number);
    Ok(())
}

/// A folder whose URIs lie within those of another hides what lies there.
fn leave_out_nested(roots: &mut [Root]) {
    let prefixes: Vec<String> = roots.iter().map(|root| root.prefix.clone()).collect();
    for root in roots {
        let inner = |prefix: &String| prefix.strip_prefix(&root.prefix).and_then(uri::decode);
        let hidden: Vec<Vec<u8>> = prefixes.iter().filter_map(inner).collect();
        hidden.into_iter().for_each(|path| root.leave_out_path(path));
    }
}
