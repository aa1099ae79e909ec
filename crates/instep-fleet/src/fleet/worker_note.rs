//! The note by which a process knows the worker that the last process with its folder was. If the record still has that
//! worker, it was killed, or could not reach the record at its end: others remove themselves. Nobody need watch its
//! heartbeat then, because the lock of the folder shows that its process is gone.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::{record::FleetRecord, share::WorkerId};

/// The note in the folder of a process.
pub(super) struct WorkerNote {
    path: PathBuf,
    /// The name of this machine.
    machine: String,
    /// The number of the folder on its disk. A copy of the folder has another one.
    folder: u64,
}

impl WorkerNote {
    /// Returns the note in the folder of a fleet, whose lock this process has.
    pub(super) fn in_folder(dir: &Path) -> Self {
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let own = FleetRecord::own_folder(dir);
        let folder = fs::metadata(&own).map(|own| own.ino()).unwrap_or_default();
        Self { path: own.join("worker"), machine, folder }
    }

    /// Returns the worker that the last process was, and the name of that process; `None` if they are not known, or it was
    /// one on another machine or with another folder. That process may be alive: its folder may have been copied, or lie on a
    /// disk where locks hold for one machine only.
    pub(super) fn former(&self) -> Option<(WorkerId, String)> {
        let text = fs::read_to_string(&self.path).ok()?;
        let (worker, rest) = text.strip_suffix('\n')?.split_once(' ')?;
        let (folder, process) = rest.split_once(' ')?;
        let (_, machine) = process.rsplit_once(" on ")?;
        let is_here = machine == self.machine && folder.parse::<u64>() == Ok(self.folder);
        if is_here { Some((worker.parse().ok()?, process.to_owned())) } else { None }
    }

    /// Notes the worker that this process is about to become, with the name of the process. Without the note the next
    /// process leaves it to the others to see that the heartbeat has stopped, so a failure is only logged.
    pub(super) fn write(&self, worker: WorkerId, process: &str) {
        if let Err(error) = self.replace(worker, process) {
            tracing::debug!(%error, "the number of this worker is not written down");
        }
    }

    fn replace(&self, worker: WorkerId, process: &str) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // A new file, so that nothing is written through a link.
        let mut file = OpenOptions::new().write(true).create_new(true).open(&self.path)?;
        writeln!(file, "{worker} {} {process}", self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o962_the_former_worker_is_known_on_its_own_machine_only() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(FleetRecord::own_folder(dir.path())).unwrap();
        let on =
            |machine: &str| WorkerNote { machine: machine.to_owned(), ..WorkerNote::in_folder(dir.path()) };
        let note = on("here");
        assert_eq!(note.former(), None);
        note.write(7, "process 1 on here");
        note.write(8, "process 2 on here");
        assert_eq!(note.former(), Some((8, "process 2 on here".to_owned())));
        assert_eq!(on("there").former(), None);
        fs::write(&note.path, format!("8 {} process 2 on here", note.folder)).unwrap();
        assert_eq!(note.former(), None, "it was cut off");
    }

    #[test]
    fn o935_a_worker_is_not_the_former_one_of_a_copy_of_its_folder() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [note, copied] = dirs.each_ref().map(|dir| {
            fs::create_dir(FleetRecord::own_folder(dir.path())).unwrap();
            WorkerNote::in_folder(dir.path())
        });
        note.write(7, &format!("process 1 on {}", note.machine));
        fs::copy(&note.path, &copied.path).unwrap();
        assert!(note.former().is_some());
        assert_eq!(copied.former(), None);
    }
}
