//! Watches the content: each folder has its own watch, so that a new folder is scanned after its watch is set.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, ModifyKind},
};

use super::{message::LiveMessage, settle::Touch};
use crate::{PublishMonitor, PublishProblem};

/// The interval of complete scans while folders are left that cannot be watched.
pub(super) const WITHOUT_WATCHES: Duration = Duration::from_secs(30);

/// Watches over the folders of the content.
pub(super) struct Watches {
    watcher: Option<RecommendedWatcher>,
    own: Arc<[PathBuf]>,
    lost: Arc<AtomicBool>,
    /// The folders of the content: all others lie below them.
    content: BTreeSet<PathBuf>,
    unwatched: BTreeSet<PathBuf>,
}

impl Watches {
    /// Returns watches that report to a channel, except for the Source's own output.
    pub(super) fn new(own: Vec<PathBuf>, messages: mpsc::SyncSender<LiveMessage>) -> notify::Result<Self> {
        let own: Arc<[PathBuf]> = own.into();
        let lost = Arc::new(AtomicBool::new(false));
        let (skipped, overflow) = (Arc::clone(&own), Arc::clone(&lost));
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            for message in messages_of(event, &skipped) {
                // Waiting here could wait for ever: the receiver may be about to add a watch, which this thread does.
                if let Err(mpsc::TrySendError::Full(_)) = messages.try_send(message) {
                    overflow.store(true, Ordering::Release);
                }
            }
        })?;
        Ok(Self { watcher: Some(watcher), own, lost, ..Self::none() })
    }

    /// Returns no watches, for a Source whose changes are found by periodic scans alone.
    pub(super) fn none() -> Self {
        let (own, lost) = (Arc::default(), Arc::default());
        Self { watcher: None, own, lost, content: BTreeSet::new(), unwatched: BTreeSet::new() }
    }

    /// Returns no watches, for a system that allows none: these folders are scanned like those that cannot be watched.
    pub(super) fn unable(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { unwatched: folders.into_iter().collect(), ..Self::none() }
    }

    /// Returns `true` if events were lost since the last call.
    pub(super) fn take_lost(&self) -> bool {
        self.lost.swap(false, Ordering::Acquire)
    }

    /// Returns `true` if only complete scans find changes.
    pub(super) fn leave_all_to_scans(&self) -> bool {
        self.watcher.is_none() && self.unwatched.is_empty()
    }

    /// Returns the folders that cannot be watched, each with everything below it.
    pub(super) fn unwatched(&self) -> &BTreeSet<PathBuf> {
        &self.unwatched
    }

    /// Watches a folder and the folders below it, without following links and without hidden folders. Folders that
    /// cannot be watched are left to scans; all others are watched.
    pub(super) fn add(&mut self, folder: &Path, monitor: &dyn PublishMonitor) {
        let Some(watcher) = &mut self.watcher else { return };
        if !self.content.iter().any(|content| folder.starts_with(content)) {
            self.content.insert(folder.to_owned());
        }
        self.unwatched.retain(|unwatched| !unwatched.starts_with(folder));
        let mut failures = 0;
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {}
                Err(error) if is_gone(&error) => continue,
                Err(error) => {
                    if failures == 0 {
                        let subject = folder.to_string_lossy();
                        monitor.problem(&PublishProblem::warning(subject, advice(&error)));
                    }
                    failures += 1;
                    self.unwatched.insert(folder);
                    continue;
                }
            }
            match folders_in(&folder) {
                Ok(inner) => folders.extend(inner.into_iter().filter(|path| !is_own(path, &self.own))),
                // The folders in it are unknown, and get no watch.
                Err(error) => {
                    if failures == 0 {
                        let what = format!("cannot be read: {error}; changes in it are found by scans");
                        monitor.problem(&PublishProblem::warning(folder.to_string_lossy(), what));
                    }
                    failures += 1;
                    self.unwatched.insert(folder);
                }
            }
        }
        // Scans of very many folders, one by one, cost more than one of the folder that has them all. Others of them may
        // lie elsewhere (O436).
        if self.unwatched.len() > MOST_UNWATCHED {
            let unwatched = std::mem::take(&mut self.unwatched);
            let has_some = |content: &&PathBuf| unwatched.iter().any(|path| path.starts_with(content));
            self.unwatched = self.content.iter().filter(has_some).cloned().collect();
        }
        if failures > 1 {
            let what =
                format!("and {} more folders cannot be watched; they are scanned instead", failures - 1);
            monitor.problem(&PublishProblem::warning(folder.to_string_lossy(), what));
        }
    }
}

/// Returns the folders in a folder; none if it is gone, or is none.
fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_absence =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let entries = match fs::read_dir(folder) {
        Err(error) if is_absence(&error) => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(entry.path()),
            Err(error) if !is_absence(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(folders)
}

/// Folders that are scanned one by one because they cannot be watched.
const MOST_UNWATCHED: usize = 1_000;

/// Describes the fault and what to do.
pub(super) fn advice(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => "cannot be watched, as the limit of watches is reached: raise \
                                             fs.inotify.max_user_watches; until then its changes are found by scans"
            .to_owned(),
        notify::ErrorKind::Io(source) if source.raw_os_error() == Some(OUT_OF_INSTANCES) => {
            "cannot be watched, as the limit of watchers is reached: raise fs.inotify.max_user_instances; until then \
             changes are found by scans"
                .to_owned()
        }
        _ => format!("cannot be watched: {error}; its changes are found by scans"),
    }
}

/// The error of `inotify_init` beyond `max_user_instances`.
const OUT_OF_INSTANCES: i32 = rustix::io::Errno::MFILE.raw_os_error();

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Returns `true` if a path is the Source's own, or hidden.
fn is_own(path: &Path, own: &[PathBuf]) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    hidden || own.iter().any(|own| path.starts_with(own))
}

fn messages_of(event: notify::Result<Event>, own: &[PathBuf]) -> Vec<LiveMessage> {
    let Ok(event) = event else { return vec![LiveMessage::EventsLost] };
    if event.need_rescan() {
        return vec![LiveMessage::EventsLost];
    }
    let touch = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) | EventKind::Modify(ModifyKind::Name(_)) => {
            Touch::Whole
        }
        EventKind::Access(_) => return Vec::new(),
        _ => Touch::Moving,
    };
    let paths = event.paths.into_iter().filter(|path| !is_own(path, own));
    paths.map(|path| LiveMessage::Touched(path, touch)).collect()
}

#[cfg(test)]
mod tests {
    use instep_testkit::wait_until;

    use super::*;

    #[test]
    fn own_output_and_hidden_names_are_no_content() {
        let own = [PathBuf::from("/data/resourcesync"), PathBuf::from("/data/robots.txt")];
        for path in [
            "/data/.instep",
            "/data/.well-known",
            "/data/resourcesync/a.xml",
            "/data/robots.txt",
            "/data/a/.b",
        ] {
            assert!(is_own(Path::new(path), &own), "{path}");
        }
        assert!(!is_own(Path::new("/data/resourcesync.txt"), &own));
    }

    #[test]
    fn an_overflow_or_an_error_of_the_watch_leads_to_a_look_at_everything() {
        let overflow = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        for event in [Ok(overflow), Err(notify::Error::generic("lost"))] {
            assert!(matches!(messages_of(event, &[]).as_slice(), [LiveMessage::EventsLost]));
        }
    }

    #[test]
    fn o630_a_folder_that_cannot_be_read_is_not_taken_for_one_without_folders() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        assert_eq!(folders_in(folder.path()).unwrap(), [folder.path().join("a")]);
        for none in ["file", "gone"] {
            assert!(folders_in(&folder.path().join(none)).unwrap().is_empty());
        }
        // A link to itself cannot be read by anybody.
        std::os::unix::fs::symlink("loop", folder.path().join("loop")).unwrap();
        assert!(folders_in(&folder.path().join("loop")).is_err());
    }

    #[test]
    fn o436_very_many_folders_without_a_watch_are_scanned_as_those_of_the_content_that_have_them() {
        let [one, other, whole] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let (sender, _receiver) = mpsc::sync_channel(64);
        let mut watches = Watches::new(Vec::new(), sender).unwrap();
        for folder in [&one, &other, &whole] {
            watches.add(folder.path(), &crate::NoMonitor);
        }
        watches.unwatched.extend((0..MOST_UNWATCHED).map(|number| one.path().join(number.to_string())));
        watches.unwatched.insert(other.path().join("a"));
        let new = whole.path().join("new");
        fs::create_dir(&new).unwrap();
        watches.add(&new, &crate::NoMonitor);
        let expected = [&one, &other].map(|folder| folder.path().to_owned());
        assert_eq!(*watches.unwatched(), BTreeSet::from(expected));
    }

    #[test]
    fn events_that_find_no_place_in_the_channel_are_lost_but_not_silently() {
        let folder = tempfile::tempdir().unwrap();
        let (sender, receiver) = mpsc::sync_channel(1);
        let mut watches = Watches::new(Vec::new(), sender).unwrap();
        watches.add(folder.path(), &crate::NoMonitor);
        assert!(watches.unwatched().is_empty());
        fs::write(folder.path().join("a"), "a").unwrap();
        wait_until("an event is lost", || {
            fs::write(folder.path().join("a"), "b").unwrap();
            watches.take_lost()
        });
        assert!(receiver.try_recv().is_ok());
    }
}
