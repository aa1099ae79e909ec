//! `instep catalogue`: looking after what a Source knows.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use instep_source::Publisher;
use serde_json::json;

use crate::{
    args::state,
    exit::Exit,
    listener::{Compacted, Listener},
    ui::{
        Output,
        format::{bytes, counted},
        publishing::{Differences, Publishing},
    },
};

/// Look after the catalogue of a Source
#[derive(Debug, Args)]
pub(crate) struct Catalogue {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Hash every file and compare it with the catalogue; nothing is recorded
    ///
    /// `+` is a file that the catalogue does not know, `~` one with other bytes, `-` one that is not there any more.
    /// The next publication records what has simply changed since the last one. A running `serve` goes on meanwhile.
    Check(Place),
    /// Drop history that no published document shows any more, and give its space back
    ///
    /// Such history goes with each publication; this gives the space back to the disk. A running `serve` does it
    /// itself, and records nothing meanwhile.
    Compact(Place),
}

/// The Source.
#[derive(Debug, Args)]
struct Place {
    /// The folder that is published
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Where its catalogue is [default: DIR/.instep]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

impl Catalogue {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self.task {
            Task::Check(place) => check(&state::folder(&place.dir, place.state), output),
            Task::Compact(place) => compact(&state::folder(&place.dir, place.state), output),
        }
    }
}

fn check(state: &Path, output: &Output) -> anyhow::Result<Exit> {
    let monitor = Publishing::new(*output);
    let mut differences = Differences::new(*output);
    let report = instep_source::check(state, &monitor, &mut |difference| differences.tell(&difference));
    monitor.finish();
    let report = report?;
    let Differences { unknown, differing, missing, .. } = differences;
    let verdict = match unknown + differing + missing {
        0 => "The catalogue is right".to_owned(),
        number => counted(number, "difference"),
    };
    output.line(format!(
        "{verdict}: {} looked at, {}",
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
    Ok(if unknown + differing + missing > 0 { Exit::Differences } else { Exit::Done })
}

fn compact(state: &Path, output: &Output) -> anyhow::Result<Exit> {
    let done = match Listener::find(state)? {
        Some(listener) => listener.compact()?,
        None => {
            let done = Publisher::reopen(state)?.compact()?;
            Compacted { forgotten: done.forgotten, before: done.before, after: done.after }
        }
    };
    output.line(format!(
        "{} dropped; the catalogue had {}, has {}",
        counted(done.forgotten, "old change"),
        bytes(done.before),
        bytes(done.after)
    ));
    output.object(
        "summary",
        json!({
            "command": "catalogue compact", "forgotten": done.forgotten, "bytes_before": done.before,
            "bytes_after": done.after,
        }),
    );
    Ok(Exit::Done)
}
