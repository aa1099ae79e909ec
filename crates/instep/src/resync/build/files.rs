//! Resource Lists for `resync-build`: made of local files or read from a document, and compared with each other.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File, Metadata},
    io::BufReader,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, bail};
use resourcesync::{Algorithm, Change, DateTime, DocumentReader, Entry, Form, Hasher, ReadOptions, Uri};

/// The entries of a list by URI, and its times.
#[derive(Debug, Default)]
pub(super) struct ComparedList {
    pub(super) entries: BTreeMap<String, Entry>,
    pub(super) at: Option<DateTime>,
    pub(super) completed: Option<DateTime>,
}

/// The differences between two lists.
#[derive(Debug)]
pub(super) struct ListChanges {
    pub(super) from: DateTime,
    pub(super) entries: Vec<Entry>,
}

/// Returns the current time.
pub(super) fn now() -> DateTime {
    SystemTime::now().into()
}

impl ComparedList {
    /// Lists the files at and below some roots, each with its URI. Symbolic links are left out.
    ///
    /// Errors: a file cannot be read, or its name has no URI.
    pub(super) fn of_files(roots: &[(PathBuf, String)], algorithms: &[Algorithm]) -> anyhow::Result<Self> {
        let mut listed = Self { at: Some(now()), ..Self::default() };
        for (root, uri) in roots {
            listed.add(root, uri, algorithms)?;
        }
        listed.completed = Some(now());
        Ok(listed)
    }

    fn add(&mut self, root: &Path, uri: &str, algorithms: &[Algorithm]) -> anyhow::Result<()> {
        let mut places = vec![root.to_owned()];
        while let Some(place) = places.pop() {
            let unreadable = || format!("{} cannot be read", place.display());
            let metadata = fs::symlink_metadata(&place).with_context(unreadable)?;
            // The folder with the state of a copy or of a Source is not a resource.
            if metadata.is_dir() && place != root && place.file_name() == Some(OsStr::new(".instep")) {
                continue;
            }
            if metadata.is_dir() {
                for entry in fs::read_dir(&place).with_context(unreadable)? {
                    places.push(entry.with_context(unreadable)?.path());
                }
            } else if metadata.is_file() {
                let rest = place.strip_prefix(root).unwrap_or(Path::new(""));
                let uri = uri_below(uri, rest).with_context(|| format!("{} has no URI", place.display()))?;
                let entry = entry_of(&uri, &place, &metadata, algorithms).with_context(unreadable)?;
                self.entries.insert(uri, entry);
            }
        }
        Ok(())
    }

    /// Reads a Resource List from a file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let unreadable = || format!("{} cannot be read", path.display());
        let file = BufReader::new(File::open(path).with_context(unreadable)?);
        let mut reader = DocumentReader::open(file, ReadOptions::new()).with_context(unreadable)?;
        if reader.header().form == Form::Index {
            bail!("{} is an index: name a Resource List", path.display());
        }
        let metadata = reader.header().metadata.clone().unwrap_or_default();
        let mut listed = Self { at: metadata.at, completed: metadata.completed, ..Self::default() };
        for entry in reader.entries() {
            let entry = entry.with_context(unreadable)?;
            listed.entries.insert(entry.loc.to_string(), entry);
        }
        Ok(listed)
    }
}

impl ListChanges {
    /// Compares two lists. Updates come first, then deletions, then creations, as the reference client writes them.
    pub(super) fn between(before: &ComparedList, after: ComparedList) -> Self {
        let now = now();
        let deleted = before.entries.iter().filter(|(uri, _)| !after.entries.contains_key(*uri));
        let deleted: Vec<_> = deleted.map(|(_, old)| changed(old.clone(), Change::Deleted, now)).collect();
        let (mut entries, mut created) = (Vec::new(), Vec::new());
        for (uri, new) in after.entries {
            let time = new.lastmod.unwrap_or(now);
            match before.entries.get(&uri) {
                None => created.push(changed(new, Change::Created, time)),
                Some(old) if differs(old, &new) => entries.push(changed(new, Change::Updated, time)),
                Some(_) => {}
            }
        }
        entries.extend(deleted);
        entries.extend(created);
        let oldest = entries.iter().filter_map(|entry| entry.metadata.datetime).min();
        let from = before.at.into_iter().chain(oldest).min().unwrap_or(now);
        Self { from, entries }
    }
}

fn changed(mut entry: Entry, change: Change, time: DateTime) -> Entry {
    (entry.metadata.change, entry.metadata.datetime) = (Some(change), Some(time));
    entry
}

/// Returns `true` if two entries differ in the time by a second or more, in the length or in a digest. Length and
/// digest count only if both entries have them.
fn differs(old: &Entry, new: &Entry) -> bool {
    let apart = |old: DateTime, new: DateTime| (old.unix_micros() - new.unix_micros()).abs() >= 1_000_000;
    let times = match (old.lastmod, new.lastmod) {
        (Some(old), Some(new)) => apart(old, new),
        (old, new) => old.is_some() != new.is_some(),
    };
    let lengths = old.metadata.length.zip(new.metadata.length).is_some_and(|(old, new)| old != new);
    times || lengths || old.metadata.hash.agrees_with(&new.metadata.hash) == Some(false)
}

fn entry_of(uri: &str, path: &Path, metadata: &Metadata, algorithms: &[Algorithm]) -> anyhow::Result<Entry> {
    let entry = Entry::new(Uri::parse(uri)?);
    let mut entry = entry.with_lastmod(metadata.modified()?.into()).with_length(metadata.len());
    if !algorithms.is_empty() {
        let mut hasher = Hasher::new(algorithms);
        hasher.take_all(&mut File::open(path)?, &mut vec![0; 128 << 10])?;
        entry = entry.with_digests(hasher.finish());
    }
    Ok(entry)
}

/// Returns the URI of a path below a mapping; `None` if the path has `..` or a name that is not UTF-8.
pub(super) fn uri_below(uri: &str, path: &Path) -> Option<String> {
    let mut located = uri.to_owned();
    for component in path.components() {
        let Component::Normal(name) = component else { return None };
        located.push('/');
        for byte in name.to_str()?.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => located.push(char::from(byte)),
                b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';'
                | b'=' | b':' | b'@' => located.push(char::from(byte)),
                _ => located.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    Some(located)
}
