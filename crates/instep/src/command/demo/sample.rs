//! The sample of the demo: a folder as a museum or repository might have it, and a day of changes to it. Both are the
//! same in each run.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};

/// The size of the sample.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

/// The changes of a day.
#[derive(Debug, Default)]
pub(super) struct DayOfChanges {
    created: u64,
    updated: u64,
    deleted: u64,
    renamed: u64,
}

impl DayOfChanges {
    /// Returns the number of entries that the Change List gets. A renamed file has two: one deleted and one created.
    pub(super) fn total(&self) -> u64 {
        self.created + self.updated + self.deleted + 2 * self.renamed
    }
}

impl fmt::Display for DayOfChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { created, updated, deleted, renamed } = self;
        write!(
            f,
            "{created} files created, {updated} updated, {deleted} deleted, {renamed} renamed at the Source"
        )
    }
}

/// Names that need escaping in URIs or XML; each must arrive unchanged.
const AWKWARD: [&str; 4] = ["Q&A draft.txt", "50% off.txt", "Žižkov #1.txt", "with space.txt"];

/// Fills a folder with papers, metadata records and pictures, a third each.
pub(super) fn make(root: &Path, files: usize) -> anyhow::Result<Made> {
    let mut made = Made::default();
    let mut write = |path: PathBuf, content: &[u8]| -> anyhow::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(&path, content).with_context(|| format!("Cannot write {}", path.display()))?;
        made.files += 1;
        made.bytes += content.len() as u64;
        Ok(())
    };
    for number in 0..files.saturating_sub(AWKWARD.len()) {
        let folder = root.join(format!("{:02}", number / 100));
        match number % 3 {
            0 => write(folder.join(format!("paper-{number:05}.txt")), paper(number, 1).as_bytes())?,
            1 => write(folder.join(format!("paper-{:05}.json", number - 1)), record(number - 1).as_bytes())?,
            _ => write(folder.join(format!("picture-{number:05}.bin")), &picture(number))?,
        }
    }
    for name in AWKWARD {
        write(root.join("notes").join(name), format!("The name of this file is {name}\n").as_bytes())?;
    }
    Ok(made)
}

/// Makes a day of changes: some of the files change, are deleted or renamed, and some are new.
pub(super) fn change(root: &Path) -> anyhow::Result<DayOfChanges> {
    let mut change = DayOfChanges::default();
    for path in
        files(root)?.into_values().filter(|path| !path.starts_with(root.join("notes"))).step_by(8).take(60)
    {
        match (change.updated + change.deleted + change.renamed) % 6 {
            0..=3 => {
                fs::write(&path, paper(change.updated as usize, 2))?;
                change.updated += 1;
            }
            4 => {
                fs::remove_file(&path)?;
                change.deleted += 1;
            }
            _ => {
                fs::rename(&path, path.with_extension("moved"))?;
                change.renamed += 1;
            }
        }
    }
    let new = root.join("new");
    fs::create_dir_all(&new)?;
    for number in 0..25 {
        fs::write(new.join(format!("paper-{number:05}.txt")), paper(90_000 + number, 1))?;
        change.created += 1;
    }
    Ok(change)
}

/// Changes one byte of one file of the copy and returns its name.
pub(super) fn flip_a_byte(copy: &Path) -> anyhow::Result<String> {
    let (name, path) = files(copy)?.into_iter().next().context("The copy is empty")?;
    let mut content = fs::read(&path)?;
    let byte = content.first_mut().context("The file is empty")?;
    *byte ^= 1;
    fs::write(&path, content)?;
    Ok(name)
}

/// Compares two folders byte for byte and returns the number of equal files.
///
/// Errors: a file is missing or differs.
pub(super) fn compare(origin: &Path, copy: &Path) -> anyhow::Result<u64> {
    let (origin, copy) = (files(origin)?, files(copy)?);
    let names = |files: &BTreeMap<String, PathBuf>| files.keys().cloned().collect::<Vec<_>>();
    ensure!(names(&origin) == names(&copy), "The copy does not have the same files as the Source");
    for (name, path) in &origin {
        ensure!(fs::read(path)? == fs::read(&copy[name])?, "{name} differs");
    }
    Ok(origin.len() as u64)
}

/// Returns the files of a folder by their path in it, without names that start with a dot.
fn files(root: &Path) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).with_context(|| format!("Cannot read {}", folder.display()))? {
            let item = item?;
            let path = item.path();
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            if item.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if item.file_type()?.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, path);
            }
        }
    }
    Ok(found)
}

fn paper(number: usize, version: u32) -> String {
    let line = format!("Paper {number}, version {version}: on keeping copies in step with their source.\n");
    line.repeat(8 + number % 40)
}

fn record(number: usize) -> String {
    format!(
        "{{\"title\": \"Paper {number}\", \"identifier\": \"demo:{number}\", \"describes\": \"paper-{number:05}.txt\"}}\n"
    )
}

/// Returns bytes that do not compress, the same in each run.
fn picture(number: usize) -> Vec<u8> {
    let mut state = number as u64 + 0x9e37_79b9_7f4a_7c15;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(2_048 + number * 13 % 16_384).collect()
}
