//! A folder that is published into itself, and what a reader finds there.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use instep_source::{NoMonitor, PublishOptions, PublishReport, publish};
use resourcesync::{Change, DocumentReader, Entry, Header, ReadError, ReadOptions};
use tempfile::TempDir;

/// Returns a folder in memory where there is one: many publications, and each syncs.
pub(super) fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// A folder of resources that is published into itself.
pub(super) struct Site {
    pub(super) root: TempDir,
    pub(super) options: PublishOptions,
}

pub(super) const BASE: &str = "http://example.com/";

impl Site {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let root = scratch();
        let options = PublishOptions::new(root.path(), BASE);
        let site = Self { root, options };
        files.iter().for_each(|(name, text)| site.write(name, text));
        site
    }

    pub(super) fn write(&self, name: impl AsRef<OsStr>, text: &str) {
        let path = self.root.path().join(Path::new(name.as_ref()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_file(self.root.path().join(name)).unwrap();
    }

    pub(super) fn publish(&self) -> PublishReport {
        publish(&self.options, &NoMonitor).unwrap()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.options.out.join("resourcesync").join(name)
    }

    pub(super) fn read(&self, name: &str) -> (Header, Vec<Entry>) {
        read(&self.path(name)).unwrap()
    }

    /// Returns the resources, as the Resource List and the changes since its `at` list them.
    pub(super) fn listed(&self) -> BTreeMap<String, Option<u64>> {
        let (header, entries) = self.read("resourcelist.xml");
        let at = header.metadata.unwrap().at.unwrap();
        let mut all: BTreeMap<_, _> =
            entries.into_iter().map(|entry| (entry.loc.into_string(), entry.metadata.length)).collect();
        for change in self.changes().into_iter().filter(|change| change.metadata.datetime >= Some(at)) {
            match change.metadata.change {
                Some(Change::Deleted) => all.remove(change.loc.as_str()),
                _ => all.insert(change.loc.into_string(), change.metadata.length),
            };
        }
        all
    }

    pub(super) fn changes(&self) -> Vec<Entry> {
        let (_, members) = self.read("changelist.xml");
        let name = |member: &Entry| member.loc.as_str().rsplit('/').next().unwrap().to_owned();
        members.iter().flat_map(|member| self.read(&name(member)).1).collect()
    }

    pub(super) fn documents(&self) -> Vec<PathBuf> {
        let mut all: Vec<_> =
            fs::read_dir(self.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.push(self.options.out.join(".well-known/resourcesync"));
        all.sort();
        all
    }
}

pub(super) fn read(path: &Path) -> Result<(Header, Vec<Entry>), ReadError> {
    let bytes = fs::read(path)?;
    let mut reader = DocumentReader::new(&bytes[..], ReadOptions::new())?;
    let (header, mut entries, mut entry) = (reader.header().clone(), Vec::new(), Entry::default());
    while reader.read_entry(&mut entry)? {
        entries.push(entry.clone());
    }
    Ok((header, entries))
}

pub(super) fn expected(files: &[(&str, u64)]) -> BTreeMap<String, Option<u64>> {
    files.iter().map(|(name, length)| (format!("{BASE}{name}"), Some(*length))).collect()
}
