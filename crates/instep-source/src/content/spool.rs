//! Bytes of past states: for packages of changes, patches and versions.

mod account;

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use instep_store::{SpaceWatch, expect_space, next_bytes};
use resourcesync::{Digests, Hasher};
use tempfile::NamedTempFile;

use crate::PublishOptions;
use account::Account;
pub use account::SpoolUsage;

/// States of resources under the names of their strongest digests, so that equal ones are kept once. Each new state
/// takes space for its bytes; beyond a limit the oldest states are removed. None is kept on a disk without more free
/// space than stays free.
#[derive(Clone, Debug)]
pub(crate) struct StateSpool {
    folder: PathBuf,
    limit: u64,
    largest: u64,
    /// The number of bytes of the disk that stay free; `None` for the default.
    reserve: Option<u64>,
    account: Account,
}

impl StateSpool {
    /// Returns a spool in a folder, which is created with the first state.
    pub(crate) fn new(folder: impl Into<PathBuf>, limit_bytes: u64) -> Self {
        let folder = folder.into();
        let account = Account::beside(&folder);
        Self { account, folder, limit: limit_bytes, largest: u64::MAX, reserve: None }
    }

    /// Returns the spool of a Source; `None` unless it keeps states.
    pub(crate) fn of(options: &PublishOptions) -> Option<Self> {
        let only_patches = options.patches().filter(|_| !options.dumps.changes && options.versions.is_none());
        options.keep_states.then(|| Self {
            largest: only_patches.map_or(u64::MAX, |patches| patches.most_bytes),
            ..Self::new(options.state.join("states"), options.keep_bytes)
        })
    }

    /// Returns `true` if a state of this many bytes is kept: larger ones are not used.
    pub(crate) fn takes(&self, length: u64) -> bool {
        length <= self.largest.min(self.limit)
    }

    /// Returns the bytes of the largest state that is kept, and of all of them.
    pub(crate) fn room(&self) -> (u64, u64) {
        (self.largest, self.limit)
    }

    /// Returns its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the bytes of a state, if they still exist. The caller must hash them while reading.
    ///
    /// # Errors
    /// If they exist but cannot be opened.
    pub(crate) fn find(&self, digests: &Digests) -> io::Result<Option<File>> {
        let Some(path) = self.path(digests) else { return Ok(None) };
        match File::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the bytes of a state as [`StateSpool::find`] does, if they have its length. States are not synced one by one,
    /// so that a power failure leaves some of them cut off, most of them empty.
    ///
    /// # Errors
    /// If they exist but cannot be opened.
    pub(crate) fn find_whole(&self, digests: &Digests, length: Option<u64>) -> io::Result<Option<File>> {
        let Some(file) = self.find(digests)? else { return Ok(None) };
        let found = file.metadata()?.len();
        Ok(length.is_none_or(|length| length == found).then_some(file))
    }

    /// Keeps a copy of a state, if its bytes match the digests.
    ///
    /// # Errors
    /// If it cannot be read or kept.
    pub(crate) fn keep(&self, mut bytes: impl io::Read, digests: &Digests) -> io::Result<bool> {
        let Some(strongest) = digests.strongest() else { return Ok(false) };
        let mut hasher = Hasher::new([&strongest.algorithm]);
        let mut draft = self.draft()?;
        let mut buffer = vec![0; 1 << 16];
        while let Some(part) = next_bytes(&mut bytes, &mut buffer)? {
            hasher.update(part);
            draft.write(part)?;
        }
        let as_said = hasher.finish().agrees_with(digests) == Some(true);
        if as_said {
            draft.keep(digests)?;
        }
        Ok(as_said)
    }

    /// Drops a state, if it is there.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(crate) fn remove(&self, digests: &Digests) -> io::Result<()> {
        let Some(path) = self.path(digests) else { return Ok(()) };
        let removed =
            fs::metadata(&path).and_then(|metadata| fs::remove_file(&path).map(|()| metadata.len()));
        match removed {
            Ok(length) => self.account.note(-1, length),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Begins to use it: states that a killed process has not accounted for are counted again.
    ///
    /// # Errors
    /// If the account cannot be removed.
    pub(crate) fn open(&self) -> io::Result<()> {
        self.account.verify(&self.folder)
    }

    /// Returns the number of states and their bytes.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(crate) fn kept(&self) -> io::Result<SpoolUsage> {
        match self.account.read()? {
            Some(kept) => Ok(kept),
            None => Ok(sum(&self.states()?)),
        }
    }

    /// Begins to keep a state.
    ///
    /// # Errors
    /// If the folder cannot be written, or no more of its disk is free than stays free.
    pub(crate) fn draft(&self) -> io::Result<StateDraft<'_>> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let file = tempfile::Builder::new().prefix(PARTIAL).tempfile_in(&self.folder)?;
        expect_space(file.as_file(), self.reserve)?;
        Ok(StateDraft { spool: self, file, space: SpaceWatch::new(self.reserve) })
    }

    /// Drops the oldest states beyond the limit. The cost depends only on the states added and removed since the last
    /// time; all states are read only if the limit is reached or the total is unknown.
    ///
    /// # Errors
    /// If the folder cannot be read or a state cannot be removed.
    pub(crate) fn trim(&self) -> io::Result<SpoolUsage> {
        self.account.settle(&self.folder, |accounted| match accounted {
            Some(kept) if kept.bytes <= self.limit => Ok(kept),
            _ => self.shrink(),
        })
    }

    /// Drops the oldest states beyond the limit, and some more: reading all states takes time in proportion to their
    /// number, so it should not be needed again soon.
    fn shrink(&self) -> io::Result<SpoolUsage> {
        let mut states = self.states()?;
        let mut kept = sum(&states);
        if kept.bytes <= self.limit {
            return Ok(kept);
        }
        states.sort_unstable();
        for state in states {
            if kept.bytes <= self.limit - self.limit / 16 {
                break;
            }
            match fs::remove_file(self.folder.join(state.name)) {
                // Another thread has removed it, and accounts for it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                removed => removed?,
            }
            kept.states -= 1;
            kept.bytes -= state.length;
        }
        Ok(kept)
    }

    /// Returns the states, and removes unfinished ones of a killed process.
    fn states(&self) -> io::Result<Vec<Stored>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut states = Vec::new();
        for entry in entries {
            let entry = entry?;
            let metadata = match entry.metadata() {
                // Another thread has given it its name, or removed it, since the folder was read (O438).
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            let stored =
                Stored { kept: metadata.modified()?, name: entry.file_name(), length: metadata.len() };
            match stored.name.as_encoded_bytes().starts_with(PARTIAL.as_bytes()) {
                false => states.push(stored),
                true if stored.kept.elapsed().is_ok_and(|age| age.as_secs() > 3_600) => {
                    fs::remove_file(entry.path())?;
                }
                true => {}
            }
        }
        Ok(states)
    }

    fn path(&self, digests: &Digests) -> Option<PathBuf> {
        let digest = digests.strongest()?;
        Some(self.folder.join(digest.to_string().replace(':', "-")))
    }
}

const PARTIAL: &str = ".partial-";

fn sum(states: &[Stored]) -> SpoolUsage {
    SpoolUsage { states: states.len() as u64, bytes: states.iter().map(|state| state.length).sum() }
}

/// A state in the spool; the oldest sorts first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Stored {
    kept: SystemTime,
    name: OsString,
    length: u64,
}

/// A state that is being copied; it is discarded when it is dropped.
#[derive(Debug)]
pub(crate) struct StateDraft<'a> {
    spool: &'a StateSpool,
    file: NamedTempFile,
    space: SpaceWatch,
}

impl StateDraft<'_> {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.space.wrote(self.file.as_file(), bytes.len() as u64)
    }

    /// Keeps it under the digests of the written bytes; a repeated state counts as new.
    pub(crate) fn keep(self, digests: &Digests) -> io::Result<()> {
        let Some(path) = self.spool.path(digests) else { return Ok(()) };
        let length = self.file.as_file().metadata()?.len();
        let former = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            former => Some(former?.len()),
        };
        self.file.persist(&path).map_err(|error| error.error)?;
        // One that was there is replaced by equal bytes, so that the sum stays as it is, unless it was cut off.
        if former != Some(length) {
            former.into_iter().for_each(|former| self.spool.account.note(-1, former));
            self.spool.account.note(1, length);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
