//! The status of a copy, and of each of its Sources.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use resourcesync::DateTime;

use crate::plan::Coverage;

/// The status of a copy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Its folder.
    pub dir: PathBuf,
    /// The operator's URL of the last run.
    pub url: Option<String>,
    /// The number of resources held.
    pub held: u64,
    /// The number of bytes held.
    pub bytes: u64,
    /// Resources owed.
    pub owed: u64,
    /// The number of owed resources, by the kind of problem.
    pub problems: BTreeMap<String, u64>,
    /// The Source's time up to which everything is committed or owed.
    pub checkpoint: Option<DateTime>,
    /// The time at which the last run ended, by this machine's clock.
    pub last_run: Option<DateTime>,
    /// The exit code of the last run that ended.
    pub last_exit_code: Option<u8>,
    /// The summary of the last run, or the error that ended it.
    pub last_summary: Option<String>,
    /// Its problems, by kind: their number, and the text of the first.
    pub last_problems: BTreeMap<String, (u64, String)>,
    /// Free bytes on the disk of the copy; `None` if they are unknown, or if the bytes of the copy are in object
    /// storage.
    pub free: Option<u64>,
    /// The object storage that has the bytes; `None` if the folder has them.
    pub objects: Option<ObjectsStatus>,
    /// `true` if a run is using the copy now.
    pub running: bool,
    /// Each Source of the copy's resources, in the order in which they were added.
    pub sources: Vec<SourceStatus>,
}

/// The objects of a copy in object storage.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObjectsStatus {
    /// The place, with the layout of the objects.
    pub place: String,
    /// The number of packs and of large resources; 0 if each resource has an object under its path.
    pub packs: u64,
    /// The number of bytes in them.
    pub bytes: u64,
    /// The number of their bytes that belong to no resource any more.
    pub dead: u64,
}

/// The status of one Source of a copy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceStatus {
    /// The URL that the operator gave for it last.
    pub url: String,
    /// The number of its resources that are held. Sources may share some.
    pub held: u64,
    /// Resources owed.
    pub owed: u64,
    /// The number of owed resources, by the kind of problem.
    pub problems: BTreeMap<String, u64>,
    /// Held resources that are gone at the Source and stay, because deletions are not allowed.
    pub kept: u64,
    /// The Source's time up to which everything is committed or owed.
    pub checkpoint: Option<DateTime>,
    /// The part of the Source that the copy accounts for; `None` before its first synchronization is complete.
    pub coverage: Option<Coverage>,
    /// The last run over it that ended.
    pub last_run: Option<RunStatus>,
}

impl SourceStatus {
    /// Returns the age of the Source's state that the copy matches; `now` is this machine's clock.
    pub fn lag(&self, now: DateTime) -> Option<Duration> {
        self.checkpoint.map(|checkpoint| age(checkpoint, now))
    }
}

/// The end of a run over a Source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunStatus {
    /// The time at which it ended, by this machine's clock.
    pub ended: Option<DateTime>,
    /// Its exit code.
    pub exit_code: Option<u8>,
    /// Its summary, or the error that ended it.
    pub summary: Option<String>,
    /// Its problems, by kind: their number, and the text of the first.
    pub problems: BTreeMap<String, (u64, String)>,
}

impl RunStatus {
    /// Returns the status of a run without problems.
    pub fn new(ended: Option<DateTime>, exit_code: Option<u8>, summary: Option<String>) -> Self {
        Self { ended, exit_code, summary, problems: BTreeMap::new() }
    }
}

fn age(checkpoint: DateTime, now: DateTime) -> Duration {
    let micros = now.unix_micros() - checkpoint.unix_micros();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

impl Status {
    /// Returns the age of the Source's state that the copy matches; `now` is this machine's clock.
    pub fn lag(&self, now: DateTime) -> Option<Duration> {
        self.checkpoint.map(|checkpoint| age(checkpoint, now))
    }

    /// Returns the status of an empty copy.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            url: None,
            held: 0,
            bytes: 0,
            owed: 0,
            problems: BTreeMap::new(),
            checkpoint: None,
            last_run: None,
            last_exit_code: None,
            last_summary: None,
            last_problems: BTreeMap::new(),
            free: None,
            objects: None,
            running: false,
            sources: Vec::new(),
        }
    }
}
