//! `instep change`: an application, or its operator, says what changed.

use std::{
    io::{self, BufRead},
    path::PathBuf,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use instep_source::{Publisher, catalogue::Recorded, scan::ReportedChange};
use resourcesync::{Change as Kind, Uri};
use serde_json::json;

use crate::{
    args::state,
    exit::Exit,
    listener::Listener,
    ui::{Output, format::count, publishing::Publishing},
};

/// Changes that are handed over at once.
const AT_ONCE: usize = 1_000;

/// Say that resources were added, changed or removed
///
/// What is said is durable when the command ends. A running `serve` publishes it within a second; else the next
/// `publish` does. Of a resource that is a file of the Source the file itself tells what happened to it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Change {
    /// The folder that is published
    #[arg(long, global = true, default_value = ".", value_name = "DIR")]
    dir: PathBuf,
    /// Where its catalogue is [default: DIR/.instep]
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(subcommand)]
    said: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// These are new, or have changed
    Add(Uris),
    /// These are gone
    Remove(Uris),
}

#[derive(Debug, Args)]
struct Uris {
    /// The resources; - reads them from standard input, one a line
    #[arg(required = true, value_name = "URI")]
    uris: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  instep change add https://example.org/records/17 --dir /srv/data
  instep change remove https://example.org/records/3 https://example.org/records/4
  psql -qAt -c 'select url from news' | instep change add -";

impl Change {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let state = state::folder(&self.dir, self.state);
        let (change, uris) = match self.said {
            Verb::Add(uris) => (Kind::Updated, uris.read()?),
            Verb::Remove(uris) => (Kind::Deleted, uris.read()?),
        };
        let (recorded, by) = match Listener::find(&state)? {
            Some(listener) => (tell(&listener, &change, &uris)?, "listener"),
            None => (record(&state, &change, &uris, output)?, "catalogue"),
        };
        let Recorded { created, updated, deleted, sequence, .. } = recorded;
        let when = if by == "listener" { "published now" } else { "published next time" };
        let figures = format!("+{} ~{} -{}", count(created), count(updated), count(deleted));
        output.closing(format!("Recorded: {figures}; {when}"));
        output.object(
            "summary",
            json!({
                "command": "change", "said": uris.len(), "created": created, "updated": updated,
                "deleted": deleted, "sequence": sequence, "by": by,
            }),
        );
        Ok(Exit::Done)
    }
}

impl Uris {
    fn read(self) -> anyhow::Result<Vec<Uri>> {
        let mut uris = Vec::new();
        for text in self.uris {
            if text != "-" {
                uris.push(parse(&text)?);
                continue;
            }
            for (number, line) in (1..).zip(io::stdin().lock().lines()) {
                let line = line.context("Cannot read standard input")?;
                if !line.trim().is_empty() {
                    uris.push(parse(line.trim()).with_context(|| format!("line {number}"))?);
                }
            }
        }
        Ok(uris)
    }
}

/// A relative reference would be the resource of nobody.
fn parse(text: &str) -> anyhow::Result<Uri> {
    match Uri::parse(text) {
        Ok(uri) => Ok(uri),
        Err(error) => bail!("{text:?} is no URI: {error}; write it as the Resource List has it"),
    }
}

/// Through the server that holds the Source.
fn tell(listener: &Listener, change: &Kind, uris: &[Uri]) -> anyhow::Result<Recorded> {
    let mut recorded = Recorded::default();
    for uris in uris.chunks(AT_ONCE) {
        recorded.add(&listener.tell(change, uris)?);
    }
    Ok(recorded)
}

/// Directly, under the lock of the Source.
fn record(state: &std::path::Path, change: &Kind, uris: &[Uri], output: &Output) -> anyhow::Result<Recorded> {
    let publisher = Publisher::reopen(state)?;
    let monitor = Publishing::new(*output);
    let said = |uri: &Uri| match change {
        Kind::Deleted => ReportedChange::remove(uri.clone()),
        _ => ReportedChange::add(uri.clone()),
    };
    let mut recorded = Recorded::default();
    for uris in uris.chunks(AT_ONCE) {
        recorded.add(&publisher.record(uris.iter().map(said).collect(), &monitor)?);
    }
    monitor.finish();
    Ok(recorded)
}
