//! The figures of a run in progress, which pages and `status` show. A run writes them to a file in the copy's own
//! folder, so that other processes can show them, too.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};
use serde::{Deserialize, Serialize};

use crate::ui::format::{bytes, count, counted};

/// The file in the copy's own folder.
const FILE: &str = ".instep/run.json";
/// The shortest time between two writes of the file, unless a write is urgent.
const EVERY: Duration = Duration::from_secs(1);
/// The most bytes of the file that are read.
const MOST_BYTES: u64 = 1 << 20;

/// A run in progress: its plan, its results, its transfers, and the throughput of each host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LiveFigures {
    /// The id of the process that runs.
    pub(super) process: i32,
    /// The phase, as [`instep_destination::Phase::as_str`] names it; empty before the first event.
    pub(super) phase: String,
    /// Resources to fetch and to remove in this round.
    pub(super) actions: u64,
    /// Bytes to fetch, as far as they are known.
    pub(super) planned_bytes: u64,
    /// Resources that were committed in this round.
    pub(super) committed: u64,
    /// Problems in this round.
    pub(super) problems: u64,
    /// Bytes that arrived in this round.
    pub(super) bytes: u64,
    /// Requests whose answers are arriving.
    pub(super) requests: Vec<LiveRequest>,
    /// Hosts that are paused.
    pub(super) waiting: Vec<(String, Duration)>,
    /// The hosts, by name.
    pub(super) hosts: Vec<LiveHost>,
    /// The last sentence for the operator.
    pub(super) note: String,
}

/// A request whose answer is arriving.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LiveRequest {
    pub(super) uri: String,
    pub(super) received: u64,
    pub(super) length: Option<u64>,
}

/// The traffic with a host since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LiveHost {
    pub(super) name: String,
    /// Bytes per second in the last ten seconds.
    pub(super) rate: u64,
    pub(super) bytes: u64,
    pub(super) answers: u64,
    /// Answers that were errors, and requests without any.
    pub(super) errors: u64,
    pub(super) retries: u64,
    pub(super) transfers: u64,
    pub(super) most_transfers: u64,
}

impl LiveFigures {
    /// Returns the figures of the process that keeps the copy in a folder; `None` if there is none.
    pub(crate) fn of_other_process(dir: &Path) -> Option<Self> {
        Self::read(&dir.join(FILE)).filter(Self::is_alive)
    }

    fn read(file: &Path) -> Option<Self> {
        let mut text = String::new();
        fs::File::open(file).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns the phase as text, with its progress.
    pub(crate) fn line(&self) -> String {
        let mut line = self.phase_name().to_owned();
        if self.actions > 0 && self.phase != "waiting" {
            let rate: u64 = self.hosts.iter().map(|host| host.rate).sum();
            let (done, all) = (count(self.committed), counted(self.actions, "resource"));
            line.push_str(&format!(", {done} of {all}, {} per second", bytes(rate)));
        }
        line
    }

    /// Returns the phase for people.
    pub(super) fn phase_name(&self) -> &str {
        match self.phase.as_str() {
            "" => "starting",
            "waiting" => "waiting for the next change",
            phase => phase,
        }
    }

    /// Returns `true` if the process exists. A process that was killed has left its file.
    fn is_alive(&self) -> bool {
        let Some(process) = Pid::from_raw(self.process) else { return false };
        matches!(test_kill_process(process), Ok(()) | Err(Errno::PERM))
    }
}

/// The file with the figures of this process. It is written without waiting for the disk, and failures are ignored,
/// because only pages depend on it. It is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct FiguresFile {
    path: PathBuf,
    written: Mutex<Option<Instant>>,
}

impl FiguresFile {
    /// Returns the file for the copy in a folder, without writing it.
    pub(super) fn of(dir: &Path) -> Self {
        Self { path: dir.join(FILE), written: Mutex::default() }
    }

    /// Writes the figures, at most once a second unless it `is_urgent`.
    pub(super) fn write(&self, is_urgent: bool, figures: impl FnOnce() -> LiveFigures) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_urgent && written.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        *written = Some(Instant::now());
        let figures = LiveFigures { process: std::process::id().cast_signed(), ..figures() };
        let next = self.path.with_extension("json.new");
        let text = serde_json::to_vec(&figures).unwrap_or_default();
        let _ = fs::write(&next, text).and_then(|()| fs::rename(&next, &self.path));
    }
}

impl Drop for FiguresFile {
    fn drop(&mut self) {
        // A run that ends because another process has the copy must not remove the file of that process.
        let own = std::process::id().cast_signed();
        if LiveFigures::read(&self.path).is_some_and(|figures| figures.process == own) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_there_while_their_process_runs_and_gone_when_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".instep")).unwrap();
        let file = FiguresFile::of(folder.path());
        let figures = || LiveFigures { phase: "fetching".into(), committed: 7, ..LiveFigures::default() };
        file.write(false, figures);
        file.write(false, || panic!("the second write comes too early"));
        let read = LiveFigures::of_other_process(folder.path()).unwrap();
        assert_eq!((&*read.phase, read.committed), ("fetching", 7));
        let read = LiveFigures { actions: 1_200, ..read };
        assert_eq!(read.line(), "fetching, 7 of 1,200 resources, 0 B per second");
        file.write(true, || LiveFigures { committed: 8, ..figures() });
        assert_eq!(LiveFigures::of_other_process(folder.path()).unwrap().committed, 8);
        drop(file);
        assert_eq!(LiveFigures::of_other_process(folder.path()), None);
        // The file of a process that was killed: no process has this id.
        fs::write(folder.path().join(FILE), r#"{"process": 2147483647, "phase": "fetching"}"#).unwrap();
        assert_eq!(LiveFigures::of_other_process(folder.path()), None);
    }

    #[test]
    fn o192_a_run_that_ends_at_once_leaves_the_figures_of_the_one_that_has_the_copy() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".instep")).unwrap();
        let other = std::os::unix::process::parent_id();
        let figures = format!(r#"{{"process": {other}, "phase": "fetching"}}"#);
        fs::write(folder.path().join(FILE), figures).unwrap();
        drop(FiguresFile::of(folder.path()));
        assert_eq!(LiveFigures::of_other_process(folder.path()).unwrap().phase, "fetching");
    }
}
