//! `instep status`: prints the state of a copy, or serves it as pages. It reads beside a run and changes nothing.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::bail;
use clap::Args;
use instep_destination::{RunStatus, SourceStatus, Status};
use resourcesync::DateTime;
use tokio_util::sync::CancellationToken;

use crate::{
    args::values,
    exit::Exit,
    pages::{CopyServer, copy},
    runtime,
    ui::{
        Output,
        format::{bytes, count, counted, elapsed, name},
    },
};

/// Show the state of a copy: resources held, lag, last run, problems
///
/// The exit code is 3 while resources are pending, which the next run tries again, and otherwise 0, also if the last run
/// failed: see --exit-code.
#[derive(Debug, Args)]
pub(crate) struct StatusCommand {
    /// The folder of the copy
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Show only the Source with this URL
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// End with the exit code of the last run if it was not 0; of several Sources, with the highest
    #[arg(long, conflicts_with = "listen")]
    exit_code: bool,
    /// Show the state as pages at this address until a signal; port 0 for any free one
    #[arg(long, value_parser = values::address, value_name = "ADDRESS", conflicts_with = "source")]
    listen: Option<String>,
}

impl StatusCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let mut status = instep_destination::status(&self.dir)?;
        if let Some(address) = &self.listen {
            return self.serve(address, output);
        }
        if let Some(url) = &self.source {
            choose(&mut status, url)?;
        }
        show(output, &status);
        output.object("status", copy::to_json(&status));
        Ok(match last_exit_code(&status) {
            Some(code) if self.exit_code && code > 0 => Exit::from_code(code),
            _ if status.owed > 0 => Exit::Problems,
            _ => Exit::Done,
        })
    }

    /// Serves the pages of the copy until a signal.
    fn serve(&self, address: &str, output: &Output) -> anyhow::Result<Exit> {
        let runtime = runtime::start()?;
        let shutdown = CancellationToken::new();
        let signals =
            runtime::Signals::listen(&runtime, shutdown.clone(), *output, "pages that are open are closed");
        // SIGHUP must not end the server (P2). It has no further effect: there is no configuration to read
        // again.
        let _hangups = runtime::Hangups::listen(&runtime);
        let served = runtime.block_on(async {
            let server = CopyServer::listen(address, &self.dir, None, output).await?;
            server.run(shutdown.cancelled()).await
        });
        runtime::end(runtime);
        served?;
        Ok(signals.exit())
    }
}

/// Returns the exit code of the last run; of several Sources, the highest one. `None` if no run has ended yet.
fn last_exit_code(status: &Status) -> Option<u8> {
    let codes = status.sources.iter().filter_map(|source| source.last_run.as_ref()?.exit_code);
    codes.max().or(status.last_exit_code)
}

/// Keeps only the Source with a URL in the status, with its problems and pending resources.
///
/// Errors: the copy has no Source with this URL.
fn choose(status: &mut Status, url: &str) -> anyhow::Result<()> {
    // URLs are compared in parsed form, because people leave out the last slash or write the host in capitals.
    let parsed = |url: &str| url::Url::parse(url).ok();
    let is_meant =
        |known: &str| known == url || parsed(known).is_some_and(|known| parsed(url) == Some(known));
    if !status.sources.iter().any(|source| is_meant(&source.url)) {
        let urls: Vec<_> = status.sources.iter().map(|source| name(&source.url)).collect();
        bail!("{} is not a Source of {}; it has {}", name(url), status.dir.display(), urls.join(", "));
    }
    status.sources.retain(|source| is_meant(&source.url));
    status.owed = status.sources.iter().map(|source| source.owed).sum();
    status.problems = add_up(status.sources.iter().map(|source| &source.problems));
    Ok(())
}

/// Returns the number of pending resources of several Sources, by the kind of problem.
fn add_up<'a>(problems: impl Iterator<Item = &'a BTreeMap<String, u64>>) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (kind, number) in problems.flatten() {
        *all.entry(kind.clone()).or_default() += number;
    }
    all
}

fn show(output: &Output, status: &Status) {
    let active = if status.running { "; a run is active" } else { "" };
    output.line(format!("Copy        {}{active}", status.dir.display()));
    output.line(format!("Held        {}, {}", counted(status.held, "resource"), bytes(status.bytes)));
    if let Some(now) = copy::LiveFigures::of_other_process(&status.dir) {
        output.line(format!("Now         {}", now.line()));
    }
    if let Some(objects) = &status.objects {
        output.line(format!("Stored in   {}", objects.place));
        if objects.packs > 0 {
            let dead = bytes(objects.dead);
            output.line(format!(
                "Objects     {}, {}, {dead} of them free",
                count(objects.packs),
                bytes(objects.bytes)
            ));
        }
    }
    if let Some(free) = status.free {
        output.line(format!("Free        {}", bytes(free)));
    }
    for source in &status.sources {
        output.line(String::new());
        show_source(output, source, status.sources.len() > 1);
    }
    if status.sources.is_empty() {
        output.line(format!("Source      {}", name(status.url.as_deref().unwrap_or("none yet"))));
        let last = RunStatus::new(status.last_run, status.last_exit_code, status.last_summary.clone());
        show_run(output, status.last_run.is_some().then_some(&last));
    }
}

fn show_source(output: &Output, source: &SourceStatus, is_one_of_several: bool) {
    output.line(format!("Source      {}", name(&source.url)));
    if is_one_of_several {
        output.line(format!("Held        {}", counted(source.held, "resource")));
    }
    let behind = source.lag(instep_destination::now()).map(|lag| format!("; {} ago", elapsed(lag)));
    output.line(format!("Up to       {}{}", or_none(source.checkpoint), behind.unwrap_or_default()));
    if let Some(coverage) = source.coverage {
        output.line(format!("Known       {coverage}"));
    }
    if source.kept > 0 {
        let verb = if source.kept == 1 { "is" } else { "are" };
        let kept = counted(source.kept, "resource");
        output.line(format!("Kept        {kept} that {verb} gone at the Source"));
    }
    show_run(output, source.last_run.as_ref());
    if source.owed > 0 {
        let kinds: Vec<_> = source.problems.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
        let owed = counted(source.owed, "resource");
        output.line(format!("Pending     {owed} ({}), retried by the next run", kinds.join(", ")));
    }
}

fn show_run(output: &Output, run: Option<&RunStatus>) {
    let Some(run) = run else { return output.line("Last run    none yet") };
    let how = run.exit_code.map(|code| format!("; {}", Exit::from_code(code).in_short()));
    output.line(format!("Last run    {}{}", or_none(run.ended), how.unwrap_or_default()));
    if let Some(summary) = &run.summary {
        output.line(format!("            {}", name(summary)));
    }
    for (kind, (number, first)) in &run.problems {
        output.line(format!("Problems    {} {kind}; the first: {}", count(*number), name(first)));
    }
}

fn or_none(time: Option<DateTime>) -> String {
    time.map_or_else(|| "none yet".to_owned(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o586_the_problems_of_several_sources_are_added_up() {
        let of = |number| BTreeMap::from([("missing".to_owned(), number)]);
        assert_eq!(add_up([of(2), of(3)].iter()), of(5));
    }
}
