//! The jobs by name; each prints its medians and says which goals it reached.

mod publish;
mod read;
mod sync;

use anyhow::Result;

use crate::{Options, measure::Report};

/// A job that can be asked for by name.
pub struct Job {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&Options, &mut Report) -> Result<()>,
}

/// In the order of the README.
pub const ALL: &[Job] = &[
    Job { name: "read", about: "a Resource List to typed entries", run: read::time },
    Job { name: "read-memory", about: "1,000,000 entries, streamed", run: read::memory },
    Job { name: "publish", about: "a folder of small files, first run", run: publish::first },
    Job { name: "publish-again", about: "the same folder, nothing changed", run: publish::again },
    Job { name: "sync", about: "a baseline of small files from nginx", run: sync::baseline },
    Job { name: "sync-again", about: "the same copy, nothing changed", run: sync::again },
    Job { name: "memory", about: "publish and sync at 50,000 and at 200,000 files", run: sync::memory },
];

/// The list of jobs for `--help`.
pub fn help() -> String {
    let lines = ALL.iter().map(|job| format!("  {:<15} {}", job.name, job.about));
    format!("Jobs:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
