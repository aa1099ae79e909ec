//! The jobs by name; each prints its medians and the goals it reached.

mod archive;
mod batch;
mod cluster;
mod dump;
mod far;
mod growth;
mod harvest;
mod instructions;
mod million;
mod more;
mod publish;
mod push;
mod read;
mod record;
mod search;
mod sync;
mod write;

use anyhow::Result;

use crate::{Options, measure::BenchReport};

/// A job that can be requested by name.
pub struct BenchJob {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&Options, &mut BenchReport) -> Result<()>,
}

/// In the order of the README.
pub const ALL: &[BenchJob] = &[
    BenchJob { name: "read", about: "a Resource List to typed entries", run: read::time },
    BenchJob { name: "read-memory", about: "1,000,000 entries, streamed", run: read::memory },
    BenchJob { name: "write", about: "typed entries to a Resource List", run: write::time },
    BenchJob { name: "publish", about: "a folder of small files, first run", run: publish::first },
    BenchJob { name: "publish-again", about: "the same folder, nothing changed", run: publish::again },
    BenchJob { name: "sync", about: "a baseline of small files from nginx", run: sync::baseline },
    BenchJob { name: "sync-again", about: "the same copy, nothing changed", run: sync::again },
    BenchJob {
        name: "sync-far",
        about: "a baseline over round trips of 20 and 100 ms, by list, dump and batch, and over HTTP/2",
        run: far::distance,
    },
    BenchJob { name: "sync-held", about: "a copy of many resources, nothing new", run: far::held },
    BenchJob { name: "changes", about: "one file in a hundred changed, by Change List", run: more::changes },
    BenchJob { name: "large", about: "a baseline of 200 files of 5 MB", run: more::large },
    BenchJob { name: "warc", about: "a baseline that is kept as a web archive too", run: archive::warc },
    BenchJob { name: "audit", about: "every held file hashed", run: more::audit },
    BenchJob { name: "validate", about: "all offline rules over a Resource List", run: more::validate },
    BenchJob { name: "dump", about: "a Resource Dump of small files", run: dump::dump },
    BenchJob {
        name: "million",
        about: "a Source of 1,000,000 files: nothing, little, all to be written",
        run: million::publish,
    },
    BenchJob { name: "record", about: "changes said by applications while serving", run: record::record },
    BenchJob {
        name: "batch",
        about: "10,000 resources at once and one by one, 20 ms away",
        run: batch::batch,
    },
    BenchJob {
        name: "oai",
        about: "a repository of --records records that speaks OAI-PMH, harvested",
        run: harvest::harvest,
    },
    BenchJob {
        name: "cluster",
        about: "a fleet of 1 and of --workers workers over PostgreSQL and object storage, 20 ms away",
        run: cluster::cluster,
    },
    BenchJob {
        name: "kills",
        about: "one Source copied by three workers for --minutes, each 10 s one killed or the database stopped",
        run: cluster::kills,
    },
    BenchJob {
        name: "search",
        about: "the search of the pages over --resources resources",
        run: search::search,
    },
    BenchJob { name: "serve", about: "requests a second", run: more::serve },
    BenchJob {
        name: "lag",
        about: "a file at the Source to a file at a Destination that follows",
        run: push::lag,
    },
    BenchJob { name: "channels", about: "1,000 WebSockets, 100 changes a second", run: push::channels },
    BenchJob {
        name: "hub",
        about: "--subscribers subscribers and a dead one: one message, then ten a second",
        run: push::hub,
    },
    BenchJob {
        name: "profiles",
        about: "two Sources that exist, simulated: a baseline, then their changes",
        run: push::profiles,
    },
    BenchJob { name: "endure", about: "following 50 changes a second, three restarts", run: push::endure },
    BenchJob {
        name: "instructions",
        about: "instructions of the main jobs, against those recorded in bench/instructions.tsv",
        run: instructions::count,
    },
    BenchJob {
        name: "growth",
        about: "the cost of each resource at 1,000 of them and at a million (--sizes)",
        run: growth::growth,
    },
    BenchJob { name: "memory", about: "publish and sync at 50,000 and at 200,000 files", run: sync::memory },
];

/// Returns the list of jobs for `--help`.
pub fn help() -> String {
    let lines = ALL.iter().map(|job| format!("  {:<15} {}", job.name, job.about));
    format!("Jobs:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
