//! The state of a copy as a file that any engine can import, to move a copy between SQLite and PostgreSQL, or between
//! databases.

mod figures;
mod lines;
mod taking;

use std::{
    fs,
    io::{BufRead, Write},
    ops::ControlFlow,
    path::PathBuf,
};

use crate::{
    CopyLocation, Error, Guard,
    run::LocalCopy,
    state::StatePlace,
    store::{FolderOptions, FolderStore},
};
pub use figures::StateFigures;
use lines::{LineFault, LineReader, LineWriter};
use taking::Taking;

impl CopyLocation {
    /// Writes the state of the copy as lines that [`CopyLocation::import_state`] reads: a consistent snapshot, also
    /// beside a run. Memory does not grow with the state.
    ///
    /// # Errors
    /// If the folder is not a copy, its state cannot be read, or the lines cannot be written.
    pub fn export_state(&self, to: &mut dyn Write) -> Result<StateFigures, Error> {
        let state = LocalCopy::state_at(self)?.open_beside()?;
        let mut lines = LineWriter::begin(to, state.last_change()?).map_err(unwritten)?;
        let mut failed = Ok(());
        let exported = state.export(&mut |record| match lines.write(&record) {
            Ok(()) => ControlFlow::Continue(()),
            Err(fault) => {
                failed = Err(fault);
                ControlFlow::Break(())
            }
        })?;
        if exported.is_break() {
            failed.map_err(unwritten)?;
        }
        lines.finish().map_err(unwritten)
    }

    /// Creates the state of the copy from lines of [`CopyLocation::export_state`]: at its URL, or in an SQLite file in
    /// the folder. Everything is read back before it takes effect. If there is a fault, nothing is changed.
    ///
    /// # Errors
    /// If the copy has a state that is not empty, a run has it, the lines are cut off or not those of an export, or
    /// the state cannot be written.
    pub fn import_state(&self, from: &mut dyn BufRead) -> Result<StateFigures, Error> {
        // The first line is read before anything is created.
        let lines = LineReader::begin(from).map_err(|fault| unread(&fault))?;
        let dir = &*self.dir;
        let own = LocalCopy::own_folder(dir);
        let place = StatePlace::of(&own, self.state.as_deref())?;
        place.probe()?;
        let (has_dir, has_own) = (dir.exists(), own.exists());
        // The lock keeps other runs out until the remains of a failure are removed.
        let folder = FolderStore::open(dir, FolderOptions::new())?;
        let has_state = LocalCopy::is_at(dir);
        let taken = take_over(&folder, &place, lines);
        if taken.is_err() {
            if !has_state {
                place.remove_new(&own);
            }
            if !has_own {
                let _ = fs::remove_dir_all(&own);
            }
            if !has_dir {
                let _ = fs::remove_dir(dir);
            }
        }
        taken
    }
}

fn take_over(folder: &FolderStore, place: &StatePlace, lines: LineReader<'_>) -> Result<StateFigures, Error> {
    let mut state = place.open(&folder.own_folder())?;
    if state.export(&mut |_| ControlFlow::Break(()))?.is_break() {
        let what = format!("the state {} is not empty, and would be lost", state.place());
        return Err(Error::Refused { guard: Guard::StateInUse, what });
    }
    let mut taking = Taking::of(lines, state.longest_uri(), state.place());
    let imported = match state.import(&mut taking) {
        Ok(imported) => imported,
        // The engine refuses records that no export has, such as duplicates. The digest of the lines shows if the file
        // is at fault.
        Err(error) => {
            return Err(taking.fault_of_lines().map_or_else(|| error.into(), |fault| unread(&fault)));
        }
    };
    let figures = taking.finish().map_err(|fault| unread(&fault))?;
    if imported.is_break() {
        return Err(unread(&LineFault::Invalid { what: "the records ended too early".to_owned() }));
    }
    state.make_durable()?;
    Ok(figures)
}

fn unwritten(fault: LineFault) -> Error {
    Error::Storage { action: "write", path: PathBuf::from("the exported state"), source: Box::new(fault) }
}

fn unread(fault: &LineFault) -> Error {
    match *fault {
        LineFault::Newer { found, known } => {
            Error::NewerState { path: PathBuf::from("the file"), found: found.into(), known: known.into() }
        }
        _ => Error::Usage { what: format!("Nothing is imported: {}", crate::error::error_chain(fault)) },
    }
}

#[cfg(test)]
mod tests;
