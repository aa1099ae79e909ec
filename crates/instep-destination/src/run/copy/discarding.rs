//! Removes a new copy whose first run failed, so that a mistyped URL leaves no folder.

use std::fs;

use instep_store::{Lock, RootFolder};

use super::{LocalCopy, OWN};
use crate::CopyLocation;

impl CopyLocation {
    /// Removes a copy that holds nothing, and its folder, if nothing else is in it. Returns `false` if it stays: it
    /// holds resources or files, its state cannot be read, or a run has it, which may have begun at the same time in
    /// the same new folder (O410).
    pub fn discard_unused(&self) -> bool {
        let own = LocalCopy::own_folder(&self.dir);
        let Ok(folder) = RootFolder::open(&own) else { return false };
        // The lock is held until the folder is gone, so that no other run uses it or begins in between.
        let Ok(_lock) = Lock::take(&folder, "the end of a failed run") else { return false };
        let has_only_state = fs::read_dir(&self.dir)
            .is_ok_and(|mut names| names.all(|entry| entry.is_ok_and(|entry| entry.file_name() == OWN)));
        let is_unused = has_only_state && self.status().is_ok_and(|status| status.held == 0);
        let removed = is_unused && fs::remove_dir_all(&own).is_ok();
        if removed {
            // This fails if another process has put something into it, which then stays.
            let _ = fs::remove_dir(&self.dir);
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use instep_store::{Lock, RootFolder};
    use tempfile::TempDir;

    use crate::{
        CopyLocation, SyncOptions,
        run::LocalCopy,
        store::{FolderOptions, FolderStore},
    };

    fn is_discarded(dir: &Path) -> bool {
        CopyLocation::from(dir).discard_unused()
    }

    fn new_copy(dir: &Path) {
        drop(LocalCopy::take(&SyncOptions::new("http://127.0.0.1:1/", dir)).unwrap());
    }

    #[test]
    fn o410_a_run_that_failed_leaves_the_new_copy_of_another_one_alone() {
        let folder = TempDir::new().unwrap();
        let dir = folder.path().join("copy");
        new_copy(&dir);
        let other = FolderStore::open(&dir, FolderOptions::new()).unwrap();
        assert!(!is_discarded(&dir), "another run has it");
        assert!(LocalCopy::is_at(&dir));
        drop(other);
        fs::write(dir.join("a.txt"), "").unwrap();
        assert!(!is_discarded(&dir), "there is a file");
        fs::remove_file(dir.join("a.txt")).unwrap();
        assert!(is_discarded(&dir));
        assert!(!dir.exists() && !is_discarded(&dir));
    }

    #[test]
    fn o410_the_lock_of_a_folder_that_was_removed_is_no_right_to_the_new_one() {
        let folder = TempDir::new().unwrap();
        let dir = folder.path().join("copy");
        new_copy(&dir);
        let own = RootFolder::open(&LocalCopy::own_folder(&dir)).unwrap();
        fs::remove_file(LocalCopy::own_folder(&dir).join(Lock::NAME)).unwrap();
        let first = Lock::take(&own, "first").unwrap();
        fs::remove_dir_all(LocalCopy::own_folder(&dir)).unwrap();
        drop(first);
        FolderStore::open(&dir, FolderOptions::new()).unwrap();
        assert!(LocalCopy::own_folder(&dir).join(Lock::NAME).exists());
    }
}
