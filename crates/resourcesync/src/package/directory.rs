//! The central directory of a ZIP file, believed only where every reader would read it alike (ZIP-7).

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, BufReader, Read, Seek, SeekFrom},
};

use super::{
    MANIFEST,
    entry::DirectoryEntry,
    records::{End, read_at, read_end},
};

/// How large a package may be before it is refused (ZIP-7).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PackageLimits {
    /// Members; 1,000,000.
    pub members: u64,
    /// Bytes of all members, decompressed; 1 TiB.
    pub bytes: u64,
    /// Times a member over 1 MiB may be larger than its compressed form; 200.
    pub ratio: u64,
}

impl PackageLimits {
    /// The default limits.
    pub fn new() -> Self {
        Self { members: 1_000_000, bytes: 1 << 40, ratio: 200 }
    }
}

impl Default for PackageLimits {
    fn default() -> Self {
        Self::new()
    }
}

/// A member of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its name; never a file name for anything outside the package.
    pub name: Box<str>,
    /// Bytes, decompressed.
    pub length: u64,
    /// Bytes in the package.
    pub compressed: u64,
    /// CRC-32 of the decompressed bytes.
    pub crc: u32,
    /// Whether it is compressed, with deflate.
    pub deflated: bool,
    /// Where its bytes start in the package.
    pub data_start: u64,
}

impl Member {
    /// Whether it only stands for a folder.
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }
}

/// Something about a package that makes it unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The rule it breaks.
    pub rule: &'static str,
    /// What it is.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.rule)
    }
}

/// The members of a package, and everything that speaks against reading them.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Directory {
    /// The members, in the order of the directory.
    pub members: Vec<Member>,
    /// Reasons to refuse the package; it is safe to read only where there is none.
    pub problems: Vec<Problem>,
}

/// Below this size a member may be compressed as much as it likes.
const RATIO_FROM: u64 = 1 << 20;
/// Problems kept; a package with one is refused already.
const PROBLEMS: usize = 100;

impl Directory {
    /// Reads the directory and each member's own header. No member's bytes are read.
    ///
    /// # Errors
    /// When the bytes do not arrive.
    pub fn read<R: Read + Seek>(source: &mut R, limits: PackageLimits) -> io::Result<Self> {
        let mut directory = Self::default();
        let length = source.seek(SeekFrom::End(0))?;
        let end = match read_end(source, length)? {
            Ok(end) => end,
            Err(what) => {
                directory.refuse(
                    if length > 0 && read_at(source, 0, 2)? == b"PK" { "ZIP-7" } else { "ZIP-1" },
                    what,
                );
                return Ok(directory);
            }
        };
        if end.entries > limits.members {
            directory.refuse("ZIP-7", format!("more than {} members", limits.members));
            return Ok(directory);
        }
        if end.start.checked_add(end.size) != Some(end.limit) {
            directory
                .refuse("ZIP-7", "bytes between the directory and its end record, or the other way round");
            return Ok(directory);
        }
        let mut entries = directory.read_entries(source, end)?;
        directory.check_places(source, &mut entries, end)?;
        directory.check_sizes(&entries, limits);
        directory.check_manifest(&entries);
        directory.members.extend(entries.into_iter().map(|entry| entry.member));
        Ok(directory)
    }

    fn read_entries<R: Read + Seek>(&mut self, source: &mut R, end: End) -> io::Result<Vec<DirectoryEntry>> {
        source.seek(SeekFrom::Start(end.start))?;
        let mut bytes = BufReader::new(source.take(end.size));
        let mut entries = Vec::new();
        for _ in 0..end.entries {
            match DirectoryEntry::read(&mut bytes, &mut |rule, what| self.refuse(rule, what))? {
                Some(entry) => entries.push(entry),
                None => {
                    self.refuse("ZIP-7", "a directory with fewer entries than it says");
                    return Ok(entries);
                }
            }
        }
        if bytes.read(&mut [0])? > 0 {
            self.refuse("ZIP-7", "a directory with more entries than it says");
        }
        Ok(entries)
    }

    /// Each member's own header must say what the directory says; members follow each other, and do not overlap.
    fn check_places<R: Read + Seek>(
        &mut self,
        source: &mut R,
        entries: &mut [DirectoryEntry],
        end: End,
    ) -> io::Result<()> {
        let mut order: Vec<&mut DirectoryEntry> = entries.iter_mut().collect();
        order.sort_by_key(|entry| entry.header_at);
        if order.first().is_some_and(|first| first.header_at > 0) {
            self.refuse("ZIP-7", "bytes before the first member");
        }
        let mut free_from = 0;
        for entry in order {
            let name = entry.member.name.clone();
            if entry.header_at < free_from {
                self.refuse("ZIP-7", format!("{name:?} overlaps the member before it"));
            }
            if let Some(what) = entry.local_difference(source)? {
                self.refuse("ZIP-7", format!("{name:?} has {what} in its own header than in the directory"));
            }
            free_from = entry.member.data_start.saturating_add(entry.member.compressed);
            if free_from > end.start {
                self.refuse("ZIP-7", format!("{name:?} overlaps the directory"));
            }
        }
        Ok(())
    }

    fn check_sizes(&mut self, entries: &[DirectoryEntry], limits: PackageLimits) {
        let mut bytes: u64 = 0;
        for DirectoryEntry { member, .. } in entries {
            bytes = bytes.saturating_add(member.length);
            if member.length > RATIO_FROM && member.length / member.compressed.max(1) > limits.ratio {
                self.refuse(
                    "ZIP-7",
                    format!("{:?} is compressed more than {} times", member.name, limits.ratio),
                );
            }
        }
        if bytes > limits.bytes {
            self.refuse("ZIP-7", format!("more than {} bytes decompressed", limits.bytes));
        }
        let mut names = BTreeSet::new();
        for DirectoryEntry { member, .. } in entries {
            if !names.insert(&member.name) {
                self.refuse("ZIP-7", format!("two members named {:?}", member.name));
            }
        }
    }

    fn check_manifest(&mut self, entries: &[DirectoryEntry]) {
        let mut names = entries.iter().map(|entry| &*entry.member.name);
        if names.any(|name| name == MANIFEST) {
            return;
        }
        let like = |name: &&str| {
            name.rsplit('/').next().is_some_and(|last| last.to_ascii_lowercase().contains("manifest"))
        };
        let what = match entries.iter().map(|entry| &*entry.member.name).find(like) {
            Some(other) => format!("no manifest.xml at top level, but {other:?}"),
            None => "no manifest.xml".into(),
        };
        self.refuse("ZIP-3", what);
    }

    pub(super) fn refuse(&mut self, rule: &'static str, what: impl Into<String>) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(Problem { rule, what: what.into() });
        }
    }
}
