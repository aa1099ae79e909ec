//! `instep change`: an application or its operator reports changed resources. A running server takes the report;
//! without one it is recorded in the catalogue.

mod stream;

use std::{
    io::{self, BufRead},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use instep_source::{Publisher, Recorded, ReportedChange, published_base_url};
use resourcesync::{Change as Kind, Uri};
use serde_json::json;

use crate::{
    args::{folders, waiting::WaitArgs},
    exit::Exit,
    foreign::ForeignResources,
    listener::RunningServer,
    ui::{Output, format::count, publishing::Publishing},
};
use stream::{AT_ONCE, NOTHING_CHANGED};

/// Report resources as added, changed or removed
///
/// The report is durable when the command ends. A running `serve` publishes it within a second; otherwise the next
/// `publish` does. If a resource is a file of the Source, the change is read from the file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChangeCommand {
    /// The folder that is published
    #[arg(long, global = true, default_value = ".", value_name = "DIR")]
    dir: PathBuf,
    /// Folder of its catalogue [default: DIR/.instep]
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    wait: WaitArgs,
    /// Read changes from standard input until it ends: a JSON object per line, each answered once it is durable
    #[arg(long)]
    stdin: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Report these resources as new or changed
    Add(UriArgs),
    /// Report these resources as deleted
    Remove(UriArgs),
}

#[derive(Debug, Args)]
struct UriArgs {
    /// URIs of the resources; - reads them from standard input, one per line
    #[arg(required = true, value_name = "URI")]
    uris: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  instep change add https://example.org/records/17 --dir /srv/data
  instep change remove https://example.org/records/3 https://example.org/records/4
  psql -qAt -c 'select url from news' | instep change add -
  changes-of-my-database | instep change --stdin --dir /srv/data";

impl ChangeCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let state = folders::state(&self.dir, self.state);
        let (change, uris) = match (self.stdin, self.verb) {
            (true, None) => return stream::run(&state, self.wait, output),
            (false, Some(Verb::Add(uris))) => (Kind::Updated, uris.read(&Kind::Updated)?),
            (false, Some(Verb::Remove(uris))) => (Kind::Deleted, uris.read(&Kind::Deleted)?),
            _ => bail!("Write `add URI` or `remove URI` after the command, or only --stdin"),
        };
        // Looked up in each attempt: a server may have started while this command waited.
        let (recorded, by) = self.wait.until_free(
            &state,
            output,
            || false,
            || {
                Ok(match RunningServer::find(&state)? {
                    Some(listener) => (report(&listener, &change, &uris)?, "listener"),
                    None => (record(&state, &change, &uris, output)?, "catalogue"),
                })
            },
        )?;
        if change != Kind::Deleted
            && let Some(mut foreign) = published_base_url(&state)?.as_deref().map(ForeignResources::of)
        {
            uris.iter().for_each(|uri| foreign.see(uri.as_str()));
            foreign.warn(output);
        }
        let Recorded { created, updated, deleted, sequence, .. } = recorded;
        if !uris.is_empty() && created + updated + deleted == 0 {
            output.note(NOTHING_CHANGED);
        }
        let when = if by == "listener" { "published now" } else { "the next publication announces it" };
        let figures = format!("+{} ~{} -{}", count(created), count(updated), count(deleted));
        output.closing(format!("Recorded: {figures}; {when}"));
        output.object(
            "summary",
            json!({
                "command": "change", "reported": uris.len(), "refused": 0, "created": created, "updated": updated,
                "deleted": deleted, "sequence": sequence, "by": by,
            }),
        );
        Ok(Exit::Done)
    }
}

impl UriArgs {
    fn read(self, change: &Kind) -> anyhow::Result<Vec<Uri>> {
        let mut uris = Vec::new();
        for text in self.uris {
            if text != "-" {
                uris.push(parse(&text, change)?);
                continue;
            }
            for (number, line) in (1..).zip(io::stdin().lock().lines()) {
                let line = line.context("Cannot read standard input")?;
                if !line.trim().is_empty() {
                    uris.push(parse(line.trim(), change).with_context(|| format!("line {number}"))?);
                }
            }
        }
        Ok(uris)
    }
}

/// Reads the absolute URI of a change. A relative reference is refused, because it names no resource; others are refused
/// as in a manifest.
fn parse(text: &str, change: &Kind) -> anyhow::Result<Uri> {
    let uri = match Uri::parse(text) {
        Ok(uri) => uri,
        Err(error) => bail!("{text:?} is not a URI: {error}; write it as in the Resource List"),
    };
    let reported = json!({ "uri": uri.as_str(), "change": change.as_str() });
    ReportedChange::list_from_json(reported).map_err(anyhow::Error::msg)?;
    Ok(uri)
}

/// Reports changes through the server that has the lock of the Source.
fn report(listener: &RunningServer, change: &Kind, uris: &[Uri]) -> anyhow::Result<Recorded> {
    let mut recorded = Recorded::default();
    for uris in uris.chunks(AT_ONCE) {
        recorded.add(&listener.report(change, uris)?);
    }
    Ok(recorded)
}

/// Records changes in the catalogue, under the lock of the Source.
fn record(state: &Path, change: &Kind, uris: &[Uri], output: &Output) -> anyhow::Result<Recorded> {
    let publisher = Publisher::reopen(state)?;
    let monitor = Publishing::new(*output);
    let reported = |uri: &Uri| match change {
        Kind::Deleted => ReportedChange::remove(uri.clone()),
        _ => ReportedChange::add(uri.clone()),
    };
    let mut recorded = Recorded::default();
    for uris in uris.chunks(AT_ONCE) {
        recorded.add(&publisher.record(uris.iter().map(reported).collect(), &monitor)?);
    }
    monitor.finish();
    Ok(recorded)
}
