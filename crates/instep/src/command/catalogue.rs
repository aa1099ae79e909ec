//! `instep catalogue`: maintains the catalogue of a Source.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use instep_source::{BackupReport, Publisher};
use serde_json::json;

use crate::{
    args::folders,
    exit::Exit,
    listener::{Compacted, RunningServer},
    ui::{
        Output,
        format::{bytes, count, counted},
        publishing::{Differences, Publishing},
    },
};

/// Maintain the catalogue of a Source: check, compact, backup, restore
#[derive(Debug, Args)]
pub(crate) struct CatalogueCommand {
    #[command(subcommand)]
    task: CatalogueTask,
}

#[derive(Debug, Subcommand)]
enum CatalogueTask {
    /// Hash every file and compare it with the catalogue; record nothing
    ///
    /// `+` is a file that is not in the catalogue, `~` one with other bytes, `-` one that is gone. The next publication
    /// records ordinary changes. A running `serve` is not interrupted. The exit code is 20 if there are differences, and
    /// 3 if a file could not be compared.
    Check(CataloguePlace),
    /// Drop history that no published document needs, and free its space on disk
    ///
    /// Each publication drops such history; this command frees the space. A running `serve` does the work itself and
    /// records nothing meanwhile.
    Compact(CataloguePlace),
    /// Write a backup of the catalogue and the hub's subscriptions to a new file
    ///
    /// A running `serve` is not interrupted. Documents are not in the backup, because the next publication writes them.
    Backup(BackupFile),
    /// Put a backup in place as the state of a Source
    ///
    /// Refuses if the Source has a catalogue. Publish afterwards: the Change Lists begin anew, so that Destinations compare
    /// everything once.
    Restore(RestoredBackup),
}

/// A Source and a backup of it.
#[derive(Debug, Args)]
struct BackupFile {
    /// The folder that is published
    dir: PathBuf,
    /// File of the backup
    file: PathBuf,
    /// Folder of its catalogue [default: DIR/.instep]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// A Source and a backup of it that is put in place.
#[derive(Debug, Args)]
struct RestoredBackup {
    /// The folder that is published
    dir: PathBuf,
    /// File of the backup, or folder of a catalogue that another program copied
    backup: PathBuf,
    /// Folder of its catalogue [default: DIR/.instep]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// The Source to work on.
#[derive(Debug, Args)]
struct CataloguePlace {
    /// The folder that is published
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Folder of its catalogue [default: DIR/.instep]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

impl CatalogueCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self.task {
            CatalogueTask::Check(place) => check(&folders::state(&place.dir, place.state), output),
            CatalogueTask::Compact(place) => compact(&folders::state(&place.dir, place.state), output),
            CatalogueTask::Backup(BackupFile { dir, file, state }) => {
                let backup = instep_source::backup(&folders::state(&dir, state), &file)?;
                show_backup("backup", &format!("Backup written to {}", file.display()), &backup, output);
                Ok(Exit::Done)
            }
            CatalogueTask::Restore(RestoredBackup { dir, backup, state }) => {
                let state = folders::state(&dir, state);
                let backup = instep_source::restore(&backup, &state)?;
                show_backup("restore", &format!("Restored to {}", state.display()), &backup, output);
                Ok(Exit::Done)
            }
        }
    }
}

fn check(state: &Path, output: &Output) -> anyhow::Result<Exit> {
    let monitor = Publishing::new(*output);
    let mut differences = Differences::new(*output);
    let report = instep_source::check(state, &monitor, &mut |difference| differences.add(&difference));
    monitor.finish();
    let report = report?;
    let Differences { unknown, differing, missing, .. } = differences;
    let verdict = match unknown + differing + missing {
        0 if report.skipped > 0 => "Not fully compared".to_owned(),
        0 => "The catalogue matches the files".to_owned(),
        number => counted(number, "difference"),
    };
    let skipped = match report.skipped {
        0 => String::new(),
        skipped => format!("; {} could not be compared", counted(skipped, "file")),
    };
    output.line(format!(
        "{verdict}: {} checked, {}{skipped}",
        counted(report.seen, "file"),
        bytes(report.hashed_bytes)
    ));
    output.object(
        "summary",
        json!({
            "command": "catalogue check", "files": report.seen, "bytes": report.hashed_bytes, "unknown": unknown,
            "differing": differing, "missing": missing, "skipped": report.skipped,
        }),
    );
    Ok(match unknown + differing + missing {
        0 if report.skipped > 0 => Exit::Problems,
        0 => Exit::Done,
        _ => Exit::Differences,
    })
}

fn show_backup(task: &str, verdict: &str, backup: &BackupReport, output: &Output) {
    let (databases, size) = (backup.databases.join(" and "), bytes(backup.bytes));
    output.closing(format!("{verdict}: {databases}, {size}, up to change {}", count(backup.sequence)));
    output.object(
        "summary",
        json!({
            "command": format!("catalogue {task}"), "databases": backup.databases, "bytes": backup.bytes,
            "sequence": backup.sequence,
        }),
    );
}

fn compact(state: &Path, output: &Output) -> anyhow::Result<Exit> {
    let done = match RunningServer::find(state)? {
        Some(listener) => listener.compact()?,
        None => {
            let done = Publisher::reopen(state)?.compact()?;
            Compacted { forgotten: done.forgotten, before: done.before, after: done.after }
        }
    };
    let size = if done.after < done.before {
        format!("the catalogue shrank from {} to {}", bytes(done.before), bytes(done.after))
    } else {
        format!("the catalogue has {}", bytes(done.after))
    };
    output.line(format!("{} dropped; {size}", counted(done.forgotten, "old change")));
    output.object(
        "summary",
        json!({
            "command": "catalogue compact", "forgotten": done.forgotten, "bytes_before": done.before,
            "bytes_after": done.after,
        }),
    );
    Ok(Exit::Done)
}
