//! Bytes of present states, kept while they are there: a patch or a version needs them once they are past.

use std::io;

use super::context::SourceContext;
use crate::{
    Error, PublishMonitor, PublishProblem,
    catalogue::Resource,
    content::{SpoolUsage, StateSpool},
    records::{STATES_KEPT, STATES_ROOM},
};

impl SourceContext {
    /// Copies the states that are not copied yet: those of the first complete scan, and those from before patches or
    /// versions were enabled, also if they were enabled before that, or if more bytes may be kept (O433). States that the
    /// spool cannot take, as on a full disk, are left to the next publication.
    ///
    /// # Errors
    /// [`Error::Stopped`] once `ends` returns `true`: the next publication goes on with the states that are left.
    pub(super) fn keep_present_states(
        &self,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let spool = StateSpool::of(&self.options).filter(|_| self.options.needs_present_states());
        let Some(spool) = spool else { return Ok(()) };
        let snapshot = self.catalogue.snapshot()?;
        // Once for each set: later changes are copied when they are hashed. With other bounds there may be more of them.
        let (sets, room) = (snapshot.head().baselined, spool.room());
        if STATES_KEPT.read(&snapshot)? == Some(sets) && STATES_ROOM.read(&snapshot)? == Some(room) {
            return Ok(());
        }
        let (mut left, mut are_copied) = (self.options.keep_bytes, true);
        for resource in snapshot.resources(u64::MAX) {
            let resource = resource?;
            let Some(length) = resource.state.length.filter(|length| spool.takes(*length)) else { continue };
            let Some(rest) = left.checked_sub(length) else {
                let what = "is not kept, as many later ones: all that may be kept is full; allow more bytes";
                monitor.problem(&PublishProblem::warning(resource.uri.as_str(), what));
                break;
            };
            left = rest;
            if ends() {
                return Err(Error::Stopped);
            }
            if let Some(error) = self.keep_state(&spool, &resource, monitor)? {
                are_copied = false;
                if has_no_room(&error) {
                    break;
                }
            }
        }
        spool.trim().map_err(Error::write(spool.folder()))?;
        if are_copied {
            self.catalogue.set_meta(vec![STATES_KEPT.write(&sets), STATES_ROOM.write(&room)])?;
        }
        Ok(())
    }

    /// Copies the bytes of a resource to the spool. Returns the reason if the spool cannot take them. If they differ from the
    /// digests, or the resource cannot be opened, nothing is kept: the next scan sees the change.
    fn keep_state(
        &self,
        spool: &StateSpool,
        resource: &Resource,
        monitor: &dyn PublishMonitor,
    ) -> Result<Option<io::Error>, Error> {
        let digests = &resource.state.digests;
        let held = spool.find_whole(digests, resource.state.length).map_err(Error::read(spool.folder()))?;
        if held.is_some() {
            return Ok(None);
        }
        let opened = self.holdings.open(resource);
        let is_opened = opened.is_ok();
        let Err(error) = opened.and_then(|file| spool.keep(file, digests)) else { return Ok(None) };
        let what = format!("cannot be kept, so there is no patch from it and no version of it: {error}");
        monitor.problem(&PublishProblem::warning(resource.uri.as_str(), what));
        Ok(is_opened.then_some(error))
    }

    /// Returns the size of past states on disk; `None` if they are not kept.
    pub(super) fn kept_states(&self) -> Result<Option<SpoolUsage>, Error> {
        let Some(spool) = StateSpool::of(&self.options) else { return Ok(None) };
        spool.kept().map(Some).map_err(Error::read(spool.folder()))
    }
}

/// Returns `true` if a disk takes no further state: then each of them would be reported.
fn has_no_room(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        NoMonitor, PublishOptions, Publisher, VersionOptions,
        scan::{ScanOptions, scan},
    };

    /// Opens a folder of two files, which are scanned, for a publication with versions.
    fn two_files_with_versions(folder: &std::path::Path) -> Publisher {
        ["a", "b"].iter().for_each(|name| std::fs::write(folder.join(name), name).unwrap());
        let mut options = PublishOptions::new(folder, "http://example.org/");
        options.versions = Some(VersionOptions::default());
        let publisher = Publisher::open(options).unwrap();
        let scanned = ScanOptions::new(publisher.options());
        scan(publisher.holdings(), publisher.catalogue(), &scanned, &NoMonitor).unwrap();
        publisher
    }

    #[test]
    fn o625_no_further_state_is_copied_once_the_source_is_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let publisher = two_files_with_versions(folder.path());
        let kept = || STATES_KEPT.read(publisher.catalogue()).unwrap();
        let stopped = publisher.context.keep_present_states(&NoMonitor, &|| true);
        assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
        assert_eq!(kept(), None, "the next publication goes on");
        publisher.context.keep_present_states(&NoMonitor, &|| false).unwrap();
        assert!(kept().is_some());
        assert_eq!(publisher.context.kept_states().unwrap().map(|usage| usage.states), Some(2));
    }

    #[test]
    fn o650_states_that_the_spool_cannot_take_are_copied_by_the_next_publication() {
        let folder = tempfile::tempdir().unwrap();
        let publisher = two_files_with_versions(folder.path());
        let spool = StateSpool::of(publisher.options()).unwrap().folder().to_owned();
        let kept = || STATES_KEPT.read(publisher.catalogue()).unwrap();
        // In place of the spool is a link that leads nowhere: nothing can be written there.
        std::fs::create_dir_all(spool.parent().unwrap()).unwrap();
        drop(std::fs::remove_dir_all(&spool));
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &spool).unwrap();
        publisher.context.keep_present_states(&NoMonitor, &|| false).unwrap();
        assert_eq!(kept(), None, "the next publication goes on");
        std::fs::remove_file(&spool).unwrap();
        publisher.context.keep_present_states(&NoMonitor, &|| false).unwrap();
        assert!(kept().is_some());
        assert_eq!(publisher.context.kept_states().unwrap().map(|usage| usage.states), Some(2));
    }
}
