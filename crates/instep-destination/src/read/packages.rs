//! The packages of dumps, kept in unnamed files, so that memory grows neither with their number nor with their
//! manifests (B9).

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use super::dump_package::DumpPackage;
use crate::{
    Error,
    documents::{DocumentError, DocumentFile},
    records::WrittenPackage,
    transfer::package::OpenPackage,
};

/// The most packages that stay open until they are unpacked. Others are fetched again.
const MOST_OPEN: usize = 64;
/// The most members of all open packages together.
const MOST_MEMBERS: usize = 500_000;

/// The number of bytes of the length of a row.
const LENGTH: u64 = 4;

/// Packages in their order, to be taken one by one.
#[derive(Debug)]
pub(crate) struct PackageList {
    folder: PathBuf,
    /// A row for each package: its length, its bytes, and its length again, so that the rows can be read from either
    /// end.
    rows: Option<File>,
    end: u64,
    /// The offset from which the next package is taken.
    at: u64,
    newest_first: bool,
    /// `true` if the packages have a listed resource in the listed state, or in a later one.
    holds_listed: bool,
    count: u64,
    bytes: u64,
    manifests: Option<DocumentFile>,
    /// The packages that are open, by the offsets of their rows.
    open: BTreeMap<u64, Box<OpenPackage>>,
    members: usize,
}

impl PackageList {
    /// Returns an empty list, whose unnamed files are in this folder.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            rows: None,
            end: 0,
            at: 0,
            newest_first: false,
            holds_listed: false,
            count: 0,
            bytes: 0,
            manifests: None,
            open: BTreeMap::new(),
            members: 0,
        }
    }

    /// Returns an empty list for packages of the same kind, with the same place for manifests.
    pub(super) fn successor(&self) -> Self {
        Self { manifests: self.manifests.clone(), ..Self::new(&self.folder) }
    }

    /// Returns the number of packages.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Returns `true` if it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the sum of the lengths that are stated.
    pub(crate) fn stated_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the list in reverse order: of several states of a resource the newest is wanted most often.
    pub(crate) fn newest_first(self) -> Self {
        Self { newest_first: true, at: self.end, ..self }
    }

    /// Sets, for the packages of a Resource Dump, if they have a listed resource in the listed state or a later one.
    pub(crate) fn with_listed(self, holds_listed: bool) -> Self {
        Self { holds_listed, ..self }
    }

    /// Returns `true` if the packages have a listed resource in the listed state, or in a later one.
    pub(crate) fn holds_listed(&self) -> bool {
        self.holds_listed
    }

    /// Adds a package at the end.
    pub(super) fn push(&mut self, package: DumpPackage) -> Result<(), Error> {
        let uri = package.entry.loc.as_str().to_owned();
        self.write(package).map_err(|source| DocumentError::Spool { uri, source }.into())
    }

    fn write(&mut self, package: DumpPackage) -> io::Result<()> {
        let DumpPackage { changes, entry, speaker, mut manifest, open } = package;
        let mut place = None;
        if let Some(manifest) = &mut manifest {
            let file = match &mut self.manifests {
                Some(file) => file,
                none => none.insert(DocumentFile::create(&self.folder, manifest)?),
            };
            place = Some(file.keep(manifest)?);
        }
        let written = manifest.as_deref().zip(place);
        let written = WrittenPackage::of(&entry, speaker.as_ref(), changes, written);
        let row = postcard::to_extend(&written, Vec::new()).map_err(io::Error::other)?;
        let length = u32::try_from(row.len()).map_err(io::Error::other)?.to_le_bytes();
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let start = self.end;
        let row = [&length[..], &row, &length].concat();
        rows.write_all_at(&row, start)?;
        self.end += row.len() as u64;
        self.count += 1;
        self.bytes = self.bytes.saturating_add(entry.metadata.length.unwrap_or(0));
        if let (Some(mut open), Some(manifest)) = (open, manifest)
            && self.open.len() < MOST_OPEN
            && self.members + open.members() <= MOST_MEMBERS
        {
            self.members += open.members();
            // The manifest in the file replaces the one in memory.
            open.manifest = *manifest;
            self.open.insert(start, open);
        }
        Ok(())
    }

    /// Takes the next package; `None` after the last one.
    pub(crate) fn take(&mut self) -> Result<Option<DumpPackage>, Error> {
        let folder = self.folder.clone();
        let unread = |source| {
            let uri = folder.display().to_string();
            Error::from(DocumentError::Spool { uri, source })
        };
        let Some((start, row)) = self.read_row().map_err(unread)? else { return Ok(None) };
        let damaged = |_| unread(io::Error::from(io::ErrorKind::InvalidData));
        let row: WrittenPackage<'_> =
            postcard::from_bytes(&row).map_err(|error| unread(io::Error::other(error)))?;
        let manifest = match (row.manifest().map_err(damaged)?, &self.manifests) {
            (Some((uri, date, place)), Some(file)) => Some(Box::new(file.get(place, uri, date)?)),
            _ => None,
        };
        let (changes, speaker, entry) = (row.changes(), row.speaker(), row.entry().map_err(damaged)?);
        let open = self.open.remove(&start);
        Ok(Some(DumpPackage { changes, entry, speaker, manifest, open }))
    }

    /// Returns the offset of the next row, and the row.
    fn read_row(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        let is_over = if self.newest_first { self.at == 0 } else { self.at == self.end };
        let Some(rows) = self.rows.as_ref().filter(|_| !is_over) else { return Ok(None) };
        let mut length = [0; LENGTH as usize];
        rows.read_exact_at(&mut length, if self.newest_first { self.at - LENGTH } else { self.at })?;
        let mut row = vec![0; u32::from_le_bytes(length) as usize];
        let whole = row.len() as u64 + 2 * LENGTH;
        let start = if self.newest_first { self.at - whole } else { self.at };
        rows.read_exact_at(&mut row, start + LENGTH)?;
        self.at = if self.newest_first { start } else { start + whole };
        Ok(Some((start, row)))
    }
}
