//! The central directory of a ZIP file, believed only where every reader would read it alike (ZIP-7).

mod entries;
mod spans;

use std::{
    collections::BTreeSet,
    fmt,
    hash::{BuildHasher as _, RandomState},
    io::{self, Read, Seek, SeekFrom},
};

use entries::Entries;
use spans::Spans;

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

/// Where the members of a package are named, and everything that speaks against reading them. It keeps 16 bytes a member: names
/// and sizes are read again where they are asked for.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Directory {
    /// Reasons to refuse the package; it is safe to read only where there is none.
    pub problems: Vec<Problem>,
    /// Ordered by name, as `keys` has it.
    rows: Vec<Row>,
    keys: RandomState,
    start: u64,
    end: u64,
}

/// Which name stands where in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    name: u64,
    at: u64,
}

/// Below this size a member may be compressed as much as it likes.
const RATIO_FROM: u64 = 1 << 20;
/// Problems kept; a package with one is refused already.
const PROBLEMS: usize = 100;
/// Bytes of the shortest entry.
const ENTRY_LEAST: u64 = 47;

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
        (directory.start, directory.end) = (end.start, end.limit);
        directory.read_entries(source, end, limits)?;
        directory.check_names(source)?;
        Ok(directory)
    }

    /// Each entry by itself, and what they come to together.
    fn read_entries<R: Read + Seek>(
        &mut self,
        source: &mut R,
        end: End,
        limits: PackageLimits,
    ) -> io::Result<()> {
        // No more room than the directory can fill, whatever it says.
        self.rows.reserve(usize::try_from(end.entries.min(end.size / ENTRY_LEAST)).unwrap_or_default());
        let (mut spans, mut bytes, mut manifest) = (Spans::default(), 0_u64, Manifest::default());
        let mut entries = Entries::all(end.start, end.limit);
        for _ in 0..end.entries {
            let found = entries.next(source, &mut |rule, what| self.refuse(rule, what))?;
            let Some((at, mut entry)) = found else {
                self.refuse("ZIP-7", "a directory with fewer entries than it says");
                break;
            };
            self.check_place(source, &mut entry, &mut spans)?;
            self.check_size(&entry.member, limits);
            bytes = bytes.saturating_add(entry.member.length);
            manifest.look_at(&entry.member.name);
            self.rows.push(Row { name: self.keys.hash_one(&*entry.member.name), at });
        }
        if self.rows.len() as u64 == end.entries && entries.has_more() {
            self.refuse("ZIP-7", "a directory with more entries than it says");
        }
        let (first, overlap) = spans.settle();
        if first.is_some_and(|first| first > 0) {
            self.refuse("ZIP-7", "bytes before the first member");
        }
        if let Some(at) = overlap {
            self.refuse("ZIP-7", format!("the member at byte {at} overlaps another one"));
        }
        if bytes > limits.bytes {
            self.refuse("ZIP-7", format!("more than {} bytes decompressed", limits.bytes));
        }
        if let Some(what) = manifest.problem() {
            self.refuse("ZIP-3", what);
        }
        Ok(())
    }

    /// A member's own header must say what the directory says; members follow each other, and do not overlap.
    fn check_place<R: Read + Seek>(
        &mut self,
        source: &mut R,
        entry: &mut DirectoryEntry,
        spans: &mut Spans,
    ) -> io::Result<()> {
        let difference = entry.local_difference(source)?;
        let (name, end) =
            (&entry.member.name, entry.member.data_start.saturating_add(entry.member.compressed));
        if spans.add(entry.header_at, end) {
            self.refuse("ZIP-7", format!("{name:?} overlaps the member before it"));
        }
        if let Some(what) = difference {
            self.refuse("ZIP-7", format!("{name:?} has {what} in its own header than in the directory"));
        }
        if end > self.start {
            self.refuse("ZIP-7", format!("{name:?} overlaps the directory"));
        }
        Ok(())
    }

    fn check_size(&mut self, member: &Member, limits: PackageLimits) {
        if member.length > RATIO_FROM && member.length / member.compressed.max(1) > limits.ratio {
            self.refuse("ZIP-7", format!("{:?} is compressed more than {} times", member.name, limits.ratio));
        }
    }

    /// Each name once. Equal names have equal keys; which keys do, no sender can know before.
    fn check_names<R: Read + Seek>(&mut self, source: &mut R) -> io::Result<()> {
        self.rows.sort_unstable();
        let mut twice = None;
        for alike in self.rows.chunk_by(|one, other| one.name == other.name).filter(|rows| rows.len() > 1) {
            let mut names = BTreeSet::new();
            for row in alike {
                let found = Entries::one(row.at, self.end).next(source, &mut |_, _| {})?;
                let Some((_, entry)) = found else { continue };
                if let Some(name) = names.replace(entry.member.name) {
                    twice = Some(name);
                    break;
                }
            }
        }
        if let Some(name) = twice {
            self.refuse("ZIP-7", format!("two members named {name:?}"));
        }
        Ok(())
    }

    /// The member of a name.
    pub(super) fn find<R: Read + Seek>(&self, source: &mut R, name: &str) -> io::Result<Option<Member>> {
        let key = self.keys.hash_one(name);
        let from = self.rows.partition_point(|row| row.name < key);
        for row in self.rows[from..].iter().take_while(|row| row.name == key) {
            let found = next_member(&mut Entries::one(row.at, self.end), source)?;
            if let Some(member) = found.filter(|member| &*member.name == name) {
                return Ok(Some(member));
            }
        }
        Ok(None)
    }

    /// Its members, one after the other.
    pub(super) fn members<'p, R: Read + Seek>(
        &self,
        source: &'p mut R,
    ) -> impl Iterator<Item = io::Result<Member>> + use<'p, R> {
        let mut entries = Entries::all(self.start, self.end);
        std::iter::from_fn(move || next_member(&mut entries, source).transpose())
    }

    fn refuse(&mut self, rule: &'static str, what: impl Into<String>) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(Problem { rule, what: what.into() });
        }
    }
}

fn next_member<R: Read + Seek>(entries: &mut Entries, source: &mut R) -> io::Result<Option<Member>> {
    let Some((_, mut entry)) = entries.next(source, &mut |_, _| {})? else { return Ok(None) };
    // Where its bytes start is told by its own header.
    entry.local_difference(source)?;
    Ok(Some(entry.member))
}

/// Whether there is a manifest, or what may have been meant as one (ZIP-3).
#[derive(Debug, Default)]
struct Manifest {
    there: bool,
    like: Option<Box<str>>,
}

impl Manifest {
    fn look_at(&mut self, name: &str) {
        self.there |= name == MANIFEST;
        let last = name.rsplit('/').next().unwrap_or_default();
        if self.like.is_none() && last.to_ascii_lowercase().contains("manifest") {
            self.like = Some(name.into());
        }
    }

    fn problem(self) -> Option<String> {
        match (self.there, self.like) {
            (true, _) => None,
            (false, Some(other)) => Some(format!("no manifest.xml at top level, but {other:?}")),
            (false, None) => Some("no manifest.xml".into()),
        }
    }
}
