//! `instep catalogue`: looking after what a Source knows.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use instep_source::{Publisher, scan::DifferenceKind};
use serde_json::json;

use crate::{
    args::state,
    exit::Exit,
    ui::{
        Output,
        format::{bytes, counted, name},
        publishing::Publishing,
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
    /// The next publication records what has simply changed since the last one.
    Check(Place),
    /// Drop history that no published document shows any more, and give its space back
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
    let publisher = Publisher::reopen(state)?;
    let monitor = Publishing::new(*output);
    let (mut unknown, mut differing, mut missing) = (0u64, 0u64, 0u64);
    let report = publisher.check(&monitor, &mut |difference| {
        let (letter, number) = match difference.kind {
            DifferenceKind::Unknown => ("+", &mut unknown),
            DifferenceKind::Missing => ("-", &mut missing),
            _ => ("~", &mut differing),
        };
        *number += 1;
        let uri = difference.uri.as_str();
        output.line(format!("{letter} {}", name(uri)));
        output.object("item", json!({ "letter": letter, "uri": uri }));
    });
    monitor.finish();
    let report = report?;
    let differences = unknown + differing + missing;
    let verdict = match differences {
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
    Ok(if differences > 0 { Exit::Differences } else { Exit::Done })
}

fn compact(state: &Path, output: &Output) -> anyhow::Result<Exit> {
    let done = Publisher::reopen(state)?.compact()?;
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
