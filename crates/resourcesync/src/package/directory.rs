//! The central directory of a ZIP file. It is accepted only if every reader would read it alike (ZIP-7): a file that
//! two programs read differently can show one content to a check and another to its user. A member that is not safe to
//! use by itself, such as a link, is left out and costs no other.

mod entries;
mod manifest_search;
mod spans;

use std::{
    collections::BTreeSet,
    fmt,
    hash::{BuildHasher as _, RandomState},
    io::{self, Read, Seek, SeekFrom},
};

use entries::DirectoryEntries;
use manifest_search::ManifestSearch;
use spans::Spans;

use super::{
    entry::DirectoryEntry,
    member::{MANIFEST, Member},
    records::{End, read_at, read_end},
};

/// Limits of the size of a package; a larger one is refused (ZIP-7).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PackageLimits {
    /// Number of members; 1,000,000.
    pub members: u64,
    /// Bytes of all members together, decompressed; 1 TiB.
    pub bytes: u64,
    /// Ratio of decompressed to compressed bytes of a member over 1 MiB; 200.
    pub ratio: u64,
}

impl PackageLimits {
    /// Returns the default limits.
    pub fn new() -> Self {
        Self { members: 1_000_000, bytes: 1 << 40, ratio: 200 }
    }
}

impl Default for PackageLimits {
    fn default() -> Self {
        Self::new()
    }
}

/// A reason to refuse a package, or one of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackageProblem {
    /// The rule that it breaks.
    pub rule: &'static str,
    /// The fault, for people.
    pub what: String,
}

impl fmt::Display for PackageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.rule)
    }
}

/// The directory of a package, every reason to refuse it, and the members that cannot be used. It keeps 16 bytes per
/// member: names and sizes are read again on demand, so a million members need at most 16 MB.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    /// The reasons to refuse the package; it is safe to read only if this is empty.
    pub(crate) problems: Vec<PackageProblem>,
    /// The first members that cannot be used, each with the reason.
    pub(crate) unusable: Vec<PackageProblem>,
    /// Their number.
    pub(crate) unusable_count: u64,
    limits: PackageLimits,
    /// One row for each member, ordered by the hash of its name.
    rows: Vec<Row>,
    keys: RandomState,
    start: u64,
    end: u64,
}

/// The place of a name in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    name: u64,
    at: u64,
}

/// The result of looking for a name: no member has it, or a member that cannot be used, or the member.
#[derive(Debug)]
pub(crate) enum FoundMember {
    Missing,
    Unusable(PackageProblem),
    Member(Member),
}

/// The most problems that are kept of the package, and the most of its members.
const PROBLEMS: usize = 100;
/// The bytes of the shortest entry.
const ENTRY_LEAST: u64 = 47;

impl Directory {
    /// Reads the directory and each member's own header. No member's bytes are read.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub(crate) fn read<R: Read + Seek>(source: &mut R, limits: PackageLimits) -> io::Result<Self> {
        let mut directory = Self { limits, ..Self::default() };
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
                .refuse("ZIP-7", "bytes between the directory and its end record, or an overlap of the two");
            return Ok(directory);
        }
        (directory.start, directory.end) = (end.start, end.limit);
        directory.read_entries(source, end, limits)?;
        directory.check_names(source)?;
        if let FoundMember::Unusable(problem) = directory.find(source, MANIFEST)? {
            directory.problems.push(problem);
        }
        Ok(directory)
    }

    /// Returns the number of members.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Checks each entry, and then all of them together.
    fn read_entries<R: Read + Seek>(
        &mut self,
        source: &mut R,
        end: End,
        limits: PackageLimits,
    ) -> io::Result<()> {
        // The stated number is not trusted: memory is reserved for at most the entries that fit into the directory.
        self.rows.reserve(usize::try_from(end.entries.min(end.size / ENTRY_LEAST)).unwrap_or_default());
        let (mut spans, mut bytes, mut manifest) = (Spans::default(), 0_u64, ManifestSearch::default());
        let mut entries = DirectoryEntries::all(end.start, end.limit);
        for _ in 0..end.entries {
            let found = entries.next(source, &mut |rule, what| self.refuse(rule, what))?;
            let Some((at, mut entry)) = found else {
                self.refuse("ZIP-7", "a directory with fewer entries than it says");
                break;
            };
            self.check_place(source, &mut entry, &mut spans)?;
            if let Some(fault) = entry.fault(limits.ratio) {
                self.leave_out(fault);
            }
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

    /// Checks that a member's own header agrees with the directory, and that members do not overlap.
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

    /// Looks for names that occur more than once: none of their members can be used. Only names with equal keys are
    /// compared; the keys are random, so that no sender can choose names that collide.
    fn check_names<R: Read + Seek>(&mut self, source: &mut R) -> io::Result<()> {
        self.rows.sort_unstable();
        let mut twice = BTreeSet::new();
        for alike in self.rows.chunk_by(|one, other| one.name == other.name).filter(|rows| rows.len() > 1) {
            let mut names = BTreeSet::new();
            for row in alike {
                let found = DirectoryEntries::one(row.at, self.end).next(source, &mut |_, _| {})?;
                let Some((_, entry)) = found else { continue };
                if let Some(name) = names.replace(entry.member.name) {
                    twice.insert(name);
                }
            }
        }
        for name in twice {
            self.leave_out(two_members(&name));
        }
        Ok(())
    }

    /// Returns the member of a name.
    pub(super) fn find<R: Read + Seek>(&self, source: &mut R, name: &str) -> io::Result<FoundMember> {
        let key = self.keys.hash_one(name);
        let from = self.rows.partition_point(|row| row.name < key);
        let mut found = FoundMember::Missing;
        for row in self.rows[from..].iter().take_while(|row| row.name == key) {
            let entry = next_entry(&mut DirectoryEntries::one(row.at, self.end), source)?;
            let Some(entry) = entry.filter(|entry| &*entry.member.name == name) else { continue };
            if !matches!(found, FoundMember::Missing) {
                return Ok(FoundMember::Unusable(unusable(two_members(name))));
            }
            found = match entry.fault(self.limits.ratio) {
                Some(fault) => FoundMember::Unusable(unusable(fault)),
                None => FoundMember::Member(entry.member),
            };
        }
        Ok(found)
    }

    /// Returns the members that can be used, one after the other.
    pub(super) fn members<'p, R: Read + Seek>(
        &self,
        source: &'p mut R,
    ) -> impl Iterator<Item = io::Result<Member>> + use<'p, R> {
        let mut entries = DirectoryEntries::all(self.start, self.end);
        let ratio = self.limits.ratio;
        std::iter::from_fn(move || {
            loop {
                match next_entry(&mut entries, source).transpose()? {
                    Ok(entry) if entry.fault(ratio).is_some() => {}
                    read => return Some(read.map(|entry| entry.member)),
                }
            }
        })
    }

    /// Counts a member that cannot be used.
    fn leave_out(&mut self, fault: String) {
        self.unusable_count += 1;
        if self.unusable.len() < PROBLEMS {
            self.unusable.push(unusable(fault));
        }
    }

    fn refuse(&mut self, rule: &'static str, what: impl Into<String>) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(PackageProblem { rule, what: what.into() });
        }
    }
}

fn next_entry<R: Read + Seek>(
    entries: &mut DirectoryEntries,
    source: &mut R,
) -> io::Result<Option<DirectoryEntry>> {
    let Some((_, mut entry)) = entries.next(source, &mut |_, _| {})? else { return Ok(None) };
    // Only the member's own header shows where its bytes start.
    entry.local_difference(source)?;
    Ok(Some(entry))
}

fn unusable(what: String) -> PackageProblem {
    PackageProblem { rule: "ZIP-7", what }
}

fn two_members(name: &str) -> String {
    format!("two members are named {name:?}")
}
