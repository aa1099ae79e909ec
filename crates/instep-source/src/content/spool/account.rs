//! The size of a spool, recorded beside it, so that the states need not be counted again.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

/// The size of a spool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SpoolUsage {
    /// States.
    pub states: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The account of a spool. Clones share the part that is not recorded yet; others of the same process are settled one
/// after the other.
#[derive(Clone, Debug)]
pub(super) struct Account(Arc<SharedAccount>);

#[derive(Debug)]
struct SharedAccount {
    file: PathBuf,
    open: Mutex<Open>,
}

impl Drop for SharedAccount {
    /// Removes the total if work has ended without a settlement, because it is then unknown.
    fn drop(&mut self) {
        if *self.open.get_mut().unwrap_or_else(PoisonError::into_inner) != Open::default() {
            let _ = fs::remove_file(&self.file);
        }
    }
}

/// The states added and removed since the last settlement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Open {
    states: i64,
    bytes: i64,
}

/// The account on disk: the sum, and the time of the folder's last change then. A process that is killed between a
/// change and its settlement leaves another time.
#[derive(Serialize, Deserialize)]
struct AccountRecord {
    kept: SpoolUsage,
    changed_ns: i128,
}

static SETTLING: Mutex<()> = Mutex::new(());

impl Account {
    pub(super) fn beside(folder: &Path) -> Self {
        let file = folder.with_extension("kept");
        Self(Arc::new(SharedAccount { file, open: Mutex::default() }))
    }

    /// Records that a state was added (1) or removed (-1).
    pub(super) fn note(&self, states: i64, length: u64) {
        let mut open = self.open();
        open.states += states;
        open.bytes += states * i64::try_from(length).unwrap_or(i64::MAX);
    }

    /// Returns the total at the last settlement; `None` if it is unknown.
    pub(super) fn read(&self) -> io::Result<Option<SpoolUsage>> {
        Ok(self.written()?.map(|written| written.kept))
    }

    /// Discards a sum that does not match the present folder.
    pub(super) fn verify(&self, folder: &Path) -> io::Result<()> {
        match self.written()? {
            Some(written) if written.changed_ns == changed_ns(folder) => Ok(()),
            Some(_) => fs::remove_file(&self.0.file),
            None => Ok(()),
        }
    }

    /// Records the result of `judge` for the total.
    pub(super) fn settle(
        &self,
        folder: &Path,
        judge: impl FnOnce(Option<SpoolUsage>) -> io::Result<SpoolUsage>,
    ) -> io::Result<SpoolUsage> {
        // Two spools of one process over the same folder would each write a sum without the other's part.
        let _alone = SETTLING.lock().unwrap_or_else(PoisonError::into_inner);
        let open = std::mem::take(&mut *self.open());
        let accounted = self.written()?.map(|written| SpoolUsage {
            states: written.kept.states.saturating_add_signed(open.states),
            bytes: written.kept.bytes.saturating_add_signed(open.bytes),
        });
        let kept = judge(accounted).and_then(|kept| {
            let written = AccountRecord { kept, changed_ns: changed_ns(folder) };
            // Only numbers, which JSON can always express. A record torn by a crash counts as unknown.
            if folder.exists() {
                fs::write(&self.0.file, serde_json::to_vec(&written).unwrap_or_default())?;
            }
            Ok(kept)
        });
        // The total on disk lacks what was taken from memory here, so that it is unknown now.
        if kept.is_err() {
            let _ = fs::remove_file(&self.0.file);
        }
        kept
    }

    fn written(&self) -> io::Result<Option<AccountRecord>> {
        match fs::read(&self.0.file) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn changed_ns(folder: &Path) -> i128 {
    fs::metadata(folder).map_or(0, |metadata| {
        i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o629_after_a_settlement_that_failed_the_total_is_unknown_and_not_too_small() {
        let folder = tempfile::tempdir().unwrap();
        let states = folder.path().join("states");
        fs::create_dir(&states).unwrap();
        let account = Account::beside(&states);
        account.settle(&states, |_| Ok(SpoolUsage::default())).unwrap();
        account.note(1, 1_000);
        account.settle(&states, |_| Err(io::Error::other("the disk fails"))).unwrap_err();
        account.note(1, 10);
        let counted = SpoolUsage { states: 2, bytes: 1_010 };
        let settled = account.settle(&states, |accounted| Ok(accounted.unwrap_or(counted))).unwrap();
        assert_eq!(settled, counted);
    }
}
