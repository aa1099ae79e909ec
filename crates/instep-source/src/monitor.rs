//! Reports of a Source while it works: phases, progress and problems.

use std::{net::SocketAddr, sync::Mutex};

use resourcesync::{Change, Uri};

/// Receives the events of a publication; it returns nothing. Called from several threads.
pub trait PublishMonitor: Send + Sync {
    /// A phase begins.
    fn phase(&self, _phase: PublishPhase) {}

    /// Reports the progress of a phase, at most a few times a second.
    fn progress(&self, _progress: PublishProgress) {}

    /// A change was published.
    fn change(&self, _change: &Change, _uri: &Uri) {}

    /// A file or folder is not published because of its mode, its kind or its name. Called for each in every scan.
    fn left_out(&self, _path: &str, _reason: LeftOut) {}

    /// A document or package was put in place.
    fn document(&self, _name: &str, _bytes: u64) {}

    /// A publication of a Source that keeps itself current is complete; it has this many resources and bytes.
    fn published(&self, _resources: u64, _bytes: u64) {}

    /// Requests are answered from now on, under this base URL and at this address.
    fn serving(&self, _base_url: &str, _address: SocketAddr) {}

    /// Another server publishes the Source, and this one stands by: at the address, if it shows the same documents meanwhile.
    fn standing_by(&self, _holder: &str, _address: Option<SocketAddr>) {}

    /// A problem occurred; the work continues.
    fn problem(&self, _problem: &PublishProblem) {}
}

/// A reason why a file or folder is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LeftOut {
    /// Not everybody may read it.
    Private,
    /// It is a symbolic link.
    Link,
    /// It is neither a file nor a folder.
    Special,
    /// Its name is hidden, or that of an editor's backup.
    Name,
}

/// The number of files and folders that are not published, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOutCounts {
    /// Not everybody may read them.
    pub private: u64,
    /// They are symbolic links.
    pub links: u64,
    /// They are neither files nor folders.
    pub special: u64,
    /// Their names are hidden, or those of editors' backups.
    pub names: u64,
}

/// The phases of a publication, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PublishPhase {
    /// Walks the content and hashes new files.
    Scan,
    /// Writes documents.
    Write,
    /// Builds packages.
    Pack,
    /// Puts documents in place.
    Commit,
    /// Delivers documents to object storage.
    Deliver,
}

/// The progress of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishProgress {
    /// The phase.
    pub phase: PublishPhase,
    /// Resources done.
    pub done: u64,
    /// Resources in all, if known.
    pub total: Option<u64>,
    /// Bytes read or written.
    pub bytes: u64,
}

impl PublishProgress {
    /// Returns the progress of a phase whose total is not known.
    pub fn new(phase: PublishPhase, done: u64, bytes: u64) -> Self {
        Self { phase, done, total: None, bytes }
    }
}

/// A fault that affects at most one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishProblem {
    /// The file, URI or document it is about.
    pub subject: String,
    /// A sentence that describes the fault and what to do.
    pub what: String,
    /// `true` if a resource is left out because of it.
    pub skipped: bool,
}

impl PublishProblem {
    /// Returns a problem that leaves a resource out.
    pub fn skipped(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { subject: subject.into(), what: what.into(), skipped: true }
    }

    /// Returns a problem that leaves nothing out.
    pub fn warning(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { subject: subject.into(), what: what.into(), skipped: false }
    }
}

/// A monitor that ignores every report.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMonitor;

impl PublishMonitor for NoMonitor {}

/// Keeps everything, for tests.
#[derive(Debug, Default)]
pub struct RecordingMonitor {
    seen: Mutex<PublishEvents>,
}

/// The reports that a [`RecordingMonitor`] has received.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PublishEvents {
    /// The phases, in order.
    pub phases: Vec<PublishPhase>,
    /// The changes recorded, in order.
    pub changes: Vec<(Change, Uri)>,
    /// The documents put in place, in order.
    pub documents: Vec<String>,
    /// The problems, in order.
    pub problems: Vec<PublishProblem>,
}

impl RecordingMonitor {
    /// Returns a monitor without reports.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the reports received until now.
    pub fn seen(&self) -> PublishEvents {
        self.with(|seen| seen.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut PublishEvents) -> T) -> T {
        act(&mut self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl PublishMonitor for RecordingMonitor {
    fn phase(&self, phase: PublishPhase) {
        self.with(|seen| seen.phases.push(phase));
    }

    fn change(&self, change: &Change, uri: &Uri) {
        self.with(|seen| seen.changes.push((change.clone(), uri.clone())));
    }

    fn document(&self, name: &str, _bytes: u64) {
        self.with(|seen| seen.documents.push(name.to_owned()));
    }

    fn problem(&self, problem: &PublishProblem) {
        self.with(|seen| seen.problems.push(problem.clone()));
    }
}
