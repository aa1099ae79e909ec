//! The jobs by name; each prints its medians and says which goals it reached.

mod batch;
mod dump;
mod far;
mod million;
mod more;
mod publish;
mod push;
mod read;
mod record;
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
    Job {
        name: "sync-far",
        about: "a baseline over a round trip of 20 ms, by list and by dump",
        run: far::distance,
    },
    Job { name: "sync-held", about: "a copy of many resources, nothing new", run: far::held },
    Job { name: "changes", about: "one file in a hundred changed, by Change List", run: more::changes },
    Job { name: "large", about: "a baseline of 200 files of 5 MB", run: more::large },
    Job { name: "audit", about: "every held file hashed", run: more::audit },
    Job { name: "validate", about: "all offline rules over a Resource List", run: more::validate },
    Job { name: "dump", about: "a Resource Dump of small files", run: dump::dump },
    Job {
        name: "million",
        about: "a Source of 1,000,000 files: nothing, little, all to be written",
        run: million::publish,
    },
    Job { name: "record", about: "changes said by applications while serving", run: record::record },
    Job { name: "batch", about: "10,000 resources at once and one by one, 20 ms away", run: batch::batch },
    Job { name: "serve", about: "requests a second", run: more::serve },
    Job {
        name: "lag",
        about: "a file at the Source to a file at a Destination that follows",
        run: push::lag,
    },
    Job { name: "channels", about: "1,000 WebSockets, 100 changes a second", run: push::channels },
    Job { name: "hub", about: "500 subscribers and a dead one, one message", run: push::hub },
    Job {
        name: "profiles",
        about: "two Sources that exist, simulated: a baseline, then their changes",
        run: push::profiles,
    },
    Job { name: "endure", about: "following 50 changes a second, three restarts", run: push::endure },
    Job { name: "memory", about: "publish and sync at 50,000 and at 200,000 files", run: sync::memory },
];

/// The list of jobs for `--help`.
pub fn help() -> String {
    let lines = ALL.iter().map(|job| format!("  {:<15} {}", job.name, job.about));
    format!("Jobs:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
