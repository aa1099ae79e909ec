//! The walk and the catalogue side by side, both in the order of the keys: no look-up for any file.

use std::{
    cmp::Ordering,
    io,
    time::{Duration, Instant},
};

use rustix::io::Errno;

use super::{
    candidate::Candidate, options::ScanOptions, pipeline::HashPipeline, withheld::WithheldDeletions,
};
use crate::{
    Error, PublishMonitor, PublishPhase, PublishProblem, PublishProgress,
    catalogue::{Catalogue, FileStamp, KnownStamp, Stamps},
    content::{FolderWalk, PathContent, Root, Skips, StateSpool, WalkStep, look},
};

const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Compares the files on disk with the records.
pub(super) struct Merge<'a, 'p> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) options: &'a ScanOptions,
    /// `true` if every file is hashed, with any stamp.
    pub(super) rehash_all: bool,
    pub(super) monitor: &'a dyn PublishMonitor,
    pub(super) pipeline: &'p mut HashPipeline<'a>,
    reported: Instant,
    pub(super) seen: u64,
    /// The spool for new states that are not hashed here.
    pub(super) spool: Option<StateSpool>,
    /// The number of states that were copied to the spool.
    pub(super) kept: u64,
    pub(super) skips: Skips,
    pub(super) withheld: WithheldDeletions,
}

impl<'a, 'p> Merge<'a, 'p> {
    pub(super) fn new(
        catalogue: &'a Catalogue,
        options: &'a ScanOptions,
        rehash_all: bool,
        monitor: &'a dyn PublishMonitor,
        pipeline: &'p mut HashPipeline<'a>,
    ) -> Self {
        let (reported, skips) = (Instant::now(), Skips::default());
        let (spool, kept) = (None, 0);
        Self {
            catalogue,
            options,
            rehash_all,
            monitor,
            pipeline,
            reported,
            seen: 0,
            spool,
            kept,
            skips,
            withheld: WithheldDeletions::new(),
        }
    }

    /// Compares a complete root with its records.
    pub(super) fn root(&mut self, root: &'a Root) -> Result<(), Error> {
        if let Some(supply) = &root.supply {
            return self.supplied(root, &*supply.0);
        }
        let walk = FolderWalk::new(root, self.options.private_too, self.monitor)
            .map_err(Error::read(root.folder()))?;
        let known = self.catalogue.stamps(root.key(b""), vec![root.number + 1])?;
        self.merge(root, walk, known)
    }

    /// Compares a file, a folder with everything below it, or a path that no longer exists with the records.
    pub(super) fn path(&mut self, root: &'a Root, path: &[u8]) -> Result<(), Error> {
        if path.is_empty() {
            return self.root(root);
        }
        if let Some(supply) = &root.supply {
            return self.supplied_at(root, &*supply.0, path);
        }
        let key = root.key(path);
        let itself = self.catalogue.stamps(key.clone(), [&key, &b"\0"[..]].concat())?;
        let below = self.catalogue.stamps([&key, &b"/"[..]].concat(), [&key, &b"0"[..]].concat())?;
        let private_too = self.options.private_too;
        match look(root, path, private_too) {
            PathContent::Unknown => Ok(()),
            PathContent::Unreadable(error) => self.cannot_be_had(root, path, &error.into()),
            PathContent::Nothing => self.gone_all(itself).and_then(|()| self.gone_all(below)),
            PathContent::File(stamp, sets) => {
                self.file(root, path, stamp, sets, itself.peek().map(|(_, known)| known))?;
                self.gone_all(below)
            }
            PathContent::Folder => {
                self.gone_all(itself)?;
                let folder = [path, b"/"].concat();
                match FolderWalk::under(root, &folder, private_too, self.monitor) {
                    Ok(walk) => self.merge(root, walk, below),
                    // The folder has gone since: the event that reports this is still to come.
                    Err(error) if is_absence(&error) => Ok(()),
                    Err(error) => self.cannot_be_had(root, path, &error),
                }
            }
        }
    }

    /// Records as gone the resources of folders and manifests that are not configured any more.
    pub(super) fn forsaken(&mut self, mut numbers: Vec<u8>) -> Result<(), Error> {
        numbers.extend([0, u8::MAX]);
        numbers.sort_unstable();
        let mut from = 0;
        for to in numbers {
            if from < to {
                self.gone_all(self.catalogue.stamps(vec![from], vec![to])?)?;
            }
            from = to.saturating_add(1);
        }
        self.withheld.are_forsaken = !self.withheld.is_empty();
        self.pipeline.flush()
    }

    fn merge(&mut self, root: &'a Root, mut walk: FolderWalk<'a>, mut known: Stamps) -> Result<(), Error> {
        while let Some(step) = walk.step() {
            match step {
                WalkStep::File { path, stamp, sets } => {
                    let held = self.pass_to(path, &mut known)?;
                    self.file(root, path, stamp, sets, held)?;
                }
                WalkStep::Unknown { path } => {
                    self.pass_to(path, &mut known)?;
                    while known.peek().is_some_and(|(key, _)| is_within(&key[1..], path)) {
                        known.advance()?;
                    }
                }
            }
        }
        self.skips.add(&walk.skips);
        self.gone_all(known)
    }

    /// Skips the rows before a path: they are deleted. Returns the record of the path itself, if there is one.
    fn pass_to(&mut self, path: &[u8], known: &mut Stamps) -> Result<Option<KnownStamp>, Error> {
        while let Some((key, held)) = known.peek() {
            match key[1..].cmp(path) {
                Ordering::Less => self.gone(key, held.sets)?,
                Ordering::Equal => {
                    known.advance()?;
                    return Ok(Some(held));
                }
                Ordering::Greater => return Ok(None),
            }
            known.advance()?;
        }
        Ok(None)
    }

    fn file(
        &mut self,
        root: &'a Root,
        path: &[u8],
        stamp: FileStamp,
        sets: u64,
        held: Option<KnownStamp>,
    ) -> Result<(), Error> {
        self.saw_one();
        if !root.is_publishable(path) {
            self.is_too_long(root, path);
            return Ok(());
        }
        let same = |held: KnownStamp| held.stamp == Some(stamp) && !held.rehash && held.sets == sets;
        if held.is_some_and(same) && !self.rehash_all {
            return Ok(());
        }
        self.pipeline.candidate(Candidate::Walked { root, path: path.to_vec(), stamp, sets })
    }

    /// Reports a path whose URI no document can have. Its record in the catalogue stays but is not shown: it was
    /// never published, so it cannot be deleted.
    pub(super) fn is_too_long(&mut self, root: &Root, path: &[u8]) {
        self.skips.unpublishable += 1;
        let what = "is not published: its URI would have more than 2,047 characters (GEN-14)";
        self.monitor.problem(&PublishProblem::skipped(root.path(path).display().to_string(), what));
    }

    /// Counts a file or row that was compared, and reports the progress now and then.
    pub(super) fn saw_one(&mut self) {
        self.seen += 1;
        if self.seen.is_multiple_of(1_024) && self.reported.elapsed() >= PROGRESS_EVERY {
            self.reported = Instant::now();
            self.monitor.progress(PublishProgress::new(PublishPhase::Scan, self.seen, 0));
        }
    }

    /// Withholds a deletion until the complete scan is done.
    pub(super) fn gone(&mut self, key: &[u8], sets: u64) -> Result<(), Error> {
        self.withheld.add(key, sets).map_err(Error::write("temporary file"))
    }

    fn gone_all(&mut self, mut known: Stamps) -> Result<(), Error> {
        while let Some((key, held)) = known.peek() {
            self.gone(key, held.sets)?;
            known.advance()?;
        }
        Ok(())
    }
}

/// Returns `true` if a folder is gone, or something else has taken its place.
fn is_absence(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// Returns `true` if a path is the unknown one, or lies in the unknown folder.
fn is_within(path: &[u8], unknown: &[u8]) -> bool {
    path == unknown || (unknown.ends_with(b"/") && path.starts_with(unknown))
}
