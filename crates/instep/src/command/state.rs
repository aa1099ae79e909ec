//! `instep state`: writes the state of a copy to a file, and makes a state from such a file, to move it between
//! engines.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use instep_destination::{CopyLocation, StateFigures};
use instep_store::parent_folder;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::{
    args::values,
    exit::Exit,
    ui::{
        Output, ResultWriter,
        format::{count, counted},
    },
};

/// The file name for standard input or output.
const STANDARD: &str = "-";

/// Move the state of a copy between SQLite and PostgreSQL: export, import
///
/// The state records the resources held, the pending retries and the progress of each set. Files and objects stay
/// where they are: move files with other tools. Use only one of two states of the same copy from then on.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StateCommand {
    #[command(subcommand)]
    task: StateTask,
}

const EXAMPLES: &str = "\
Examples:
  instep state export ./copy copy.state
  instep state import ./moved copy.state --state postgres://me@db.example/copies
  instep state export ./copy - | zstd > copy.state.zst
  zstdcat copy.state.zst | instep state import ./restored -";

#[derive(Debug, Subcommand)]
enum StateTask {
    /// Write the state of a copy to a new file that every engine can import
    ///
    /// A run may continue meanwhile: the file is a consistent snapshot.
    Export(ExportStateArgs),
    /// Create the state of a copy from an exported one
    ///
    /// Refuses if the copy has a state that is not empty. Everything is read back before it counts; if anything is
    /// wrong, nothing is changed.
    Import(ImportStateArgs),
}

#[derive(Debug, Args)]
struct ExportStateArgs {
    /// The folder of the copy
    #[arg(value_parser = values::path)]
    dir: PathBuf,
    /// File to write, which must not exist; - for standard output
    file: PathBuf,
}

#[derive(Debug, Args)]
struct ImportStateArgs {
    /// The folder of the copy
    #[arg(value_parser = values::path)]
    dir: PathBuf,
    /// File to read; - for standard input
    file: PathBuf,
    /// Put the state into PostgreSQL: postgres://USER@HOST/DATABASE [default: a file in the folder]
    #[arg(long, value_name = "URL")]
    state: Option<String>,
}

impl StateCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self.task {
            StateTask::Export(ExportStateArgs { dir, file }) if file == Path::new(STANDARD) => {
                let copy = CopyLocation::in_folder(dir);
                let figures = copy.export_state(&mut BufWriter::new(ResultWriter))?;
                output.note(summary("Exported", &figures));
            }
            StateTask::Export(ExportStateArgs { dir, file }) => {
                let figures = export_to(&dir, &file)?;
                output.closing(format!("{} to {}", summary("Exported", &figures), file.display()));
                show("state export", &figures, output);
            }
            StateTask::Import(ImportStateArgs { dir, file, state }) => {
                let mut copy = CopyLocation::in_folder(dir);
                copy.state = state;
                let figures = copy.import_state(&mut *open(&file)?)?;
                output.closing(format!("{} into {}", summary("Imported", &figures), copy.dir.display()));
                show("state import", &figures, output);
            }
        }
        Ok(Exit::Done)
    }
}

/// Writes the state to a new file, which gets its name only when it is complete and on disk.
///
/// Errors: the file exists or cannot be written, or the state cannot be read.
fn export_to(dir: &Path, file: &Path) -> anyhow::Result<StateFigures> {
    if file.exists() {
        bail!("{} is there already; name a file that is not", file.display());
    }
    let folder = parent_folder(file);
    let failed = || format!("Cannot write {}", file.display());
    let mut unfinished = NamedTempFile::new_in(folder).with_context(failed)?;
    let mut lines = BufWriter::new(unfinished.as_file_mut());
    let figures = CopyLocation::in_folder(dir).export_state(&mut lines)?;
    lines.flush().with_context(failed)?;
    drop(lines);
    unfinished.as_file().sync_all().with_context(failed)?;
    unfinished.persist_noclobber(file).with_context(failed)?;
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(failed)?;
    Ok(figures)
}

fn open(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if file == Path::new(STANDARD) {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(file).with_context(|| format!("Cannot read {}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn summary(what: &str, figures: &StateFigures) -> String {
    let pending = match figures.owed {
        0 => String::new(),
        owed => format!(", {} pending", count(owed)),
    };
    format!("{what}: {} held{pending}", counted(figures.held, "resource"))
}

fn show(command: &str, figures: &StateFigures, output: &Output) {
    let StateFigures { held, owed, records, .. } = figures;
    output.object("summary", json!({ "command": command, "held": held, "owed": owed, "records": records }));
}
