//! `instep audit`: compares a copy with its Source.

use std::path::{Path, PathBuf};

use clap::Args;
use instep_destination::{self as destination, AuditOptions, AuditReport, Coverage, SourceAudit, Verify};
use serde_json::json;

use crate::{
    args::{access::AccessArgs, folders, headings::CHECKING, selection::SelectionArgs, values},
    config::Config,
    exit::Exit,
    runtime,
    ui::{
        Output,
        format::{bytes, count, coverage, elapsed, name},
        progress::ProgressDisplay,
    },
};

/// Check a copy against its Source: + missing, ~ different, - surplus, ! error
///
/// Hashes the files of the copy and compares them with the Source's Resource List and later changes. The exit code is
/// 20 if there are differences, and 3 if something could not be compared.
#[derive(Debug, Args)]
#[command(
    after_help = "All options and examples: instep audit --help",
    after_long_help = "Examples:\n  instep audit https://example.org/ ./copy\n  instep audit --offline ./copy\n  instep audit https://example.org/ ./copy --sample 1%\n  instep audit ./copy-of-several-sources\n  instep audit https://original.example.org/ ./copy-of-a-mirror --origin"
)]
pub(crate) struct AuditCommand {
    /// Any URL of the Source, or the folder of a copy to compare it with each of its Sources
    url: String,
    /// The folder of the copy [default: ./HOST]
    #[arg(value_parser = values::path)]
    dir: Option<PathBuf>,
    /// Compare with the state of the copy instead of the Source
    #[arg(long, help_heading = CHECKING)]
    offline: bool,
    /// URL is the original Source of a copy of a mirror: compare with the resources that `via` links name
    #[arg(long, help_heading = CHECKING, hide_short_help = true, conflicts_with = "offline")]
    origin: bool,
    /// Hash only this part of the files, such as 1%
    #[arg(long, help_heading = CHECKING, value_parser = share, default_value = "100%", value_name = "PART")]
    sample: f64,
    /// Digests to verify: strongest or all
    #[arg(long, help_heading = CHECKING, hide_short_help = true, default_value = "strongest", value_name = "WHICH")]
    verify: Verify,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    access: AccessArgs,
}

fn share(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .strip_suffix('%')
        .unwrap_or(text)
        .parse()
        .map_err(|_| format!("{text:?} is not a percentage"))?;
    if (0.0..=100.0).contains(&number) && number > 0.0 {
        Ok(number / 100.0)
    } else {
        Err("write a percentage above 0% and up to 100%".into())
    }
}

impl AuditCommand {
    /// Runs the command.
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        let (is_offline, is_sample) = (self.offline, self.sample < 1.0);
        let options = self.options(config)?;
        let runtime = runtime::start()?;
        let signals =
            runtime::Signals::listen(&runtime, options.shutdown.clone(), *output, "the comparison ends here");
        let progress = ProgressDisplay::new(*output, false);
        let report = runtime.block_on(destination::audit(&options, &progress));
        progress.finish();
        let report = report?;
        show(output, &report, is_offline, is_sample);
        let exit = if report.interrupted { signals.exit() } else { Exit::from(&report) };
        output.object("summary", summary(&report, exit));
        Ok(exit)
    }

    fn options(self, config: &Config) -> anyhow::Result<AuditOptions> {
        let every_source =
            !self.offline && self.dir.is_none() && destination::Contents::are_at(Path::new(&self.url));
        let (url, dir) = if self.offline {
            (None, self.dir.unwrap_or_else(|| PathBuf::from(&self.url)))
        } else if every_source {
            (None, PathBuf::from(&self.url))
        } else {
            let url = values::url(&self.url).map_err(anyhow::Error::msg)?.into_string();
            let dir = self.dir.unwrap_or_else(|| folders::copy(&url));
            (Some(url), dir)
        };
        let mut options = AuditOptions::new(url, dir);
        options.sample = self.sample;
        options.every_source = every_source;
        options.compares_originals = self.origin;
        options.verify = self.verify;
        options.selection = self.selection.options()?;
        options.access = self.access.options(config)?;
        Ok(options)
    }
}

fn show(output: &Output, report: &AuditReport, is_offline: bool, is_sample: bool) {
    let compared = report.same + report.missing + report.differing + report.surplus;
    let state = match Exit::from(report) {
        Exit::Done if compared + report.unauditable == 0 => "Nothing compared",
        // "In step" would be wrong: most files were not hashed.
        Exit::Done if is_sample => "No difference in the sample",
        // So it would be here: the files were compared with the state of the copy, and not with the Source.
        Exit::Done if is_offline => "Undamaged",
        // The Source may have something that its documents do not show.
        Exit::Done if gap(report.coverage).is_some() => "No difference found",
        Exit::Done => "In step",
        Exit::Differences => "Not in step",
        Exit::Interrupted => "Interrupted",
        _ => "Not fully compared",
    };
    if let several @ [_, _, ..] = &report.sources[..] {
        several.iter().for_each(|source| output.line(line(source, is_sample)));
    }
    let mut line = format!("{state}: {} same", count(report.same));
    for (number, what) in [
        (report.missing, "missing"),
        (report.differing, "differ"),
        (report.surplus, "surplus"),
        (report.failed, "not compared"),
        (report.unauditable, "without a digest or length to compare"),
    ] {
        if number > 0 {
            line.push_str(&format!(", {} {what}", count(number)));
        }
    }
    if let Some(coverage) = gap(report.coverage) {
        line.push_str(&format!("; {coverage}"));
    }
    output.closing(format!("{line}; {} hashed in {}", bytes(report.bytes), elapsed(report.elapsed)));
}

/// Returns the coverage of an audit if something may be missing in the documents that it read.
fn gap(coverage: Option<Coverage>) -> Option<Coverage> {
    coverage.filter(|coverage| !coverage.is_complete())
}

fn summary(report: &AuditReport, exit: Exit) -> serde_json::Value {
    json!({
        "command": "audit",
        "same": report.same,
        "missing": report.missing,
        "differing": report.differing,
        "surplus": report.surplus,
        "failed": report.failed,
        "unauditable": report.unauditable,
        "bytes": report.bytes,
        "seconds": report.elapsed.as_secs_f64(),
        "coverage": report.coverage.map(coverage),
        "sources": report.sources.iter().map(source).collect::<Vec<_>>(),
        "exit_code": exit.code(),
    })
}

/// Returns the line about one Source, for a copy of several.
fn line(source: &SourceAudit, is_sample: bool) -> String {
    let state = match &source.error {
        Some((_, what)) => format!("not compared: {what}"),
        None => {
            let counts = [
                (source.missing, "missing"),
                (source.differing, "differ"),
                (source.surplus, "surplus"),
                (source.failed, "not compared"),
            ];
            let found = counts.iter().filter(|(number, _)| *number > 0);
            let found: Vec<_> = found.map(|(number, what)| format!("{} {what}", count(*number))).collect();
            let same = match gap(source.coverage) {
                _ if is_sample => "no difference in the sample",
                Some(_) => "no difference found",
                None => "in step",
            };
            let mut state = if found.is_empty() { same.to_owned() } else { found.join(", ") };
            if let Some(coverage) = gap(source.coverage) {
                state.push_str(&format!("; {coverage}"));
            }
            state
        }
    };
    format!("{}: {state}", name(&source.url))
}

fn source(source: &SourceAudit) -> serde_json::Value {
    json!({
        "url": source.url,
        "missing": source.missing,
        "differing": source.differing,
        "surplus": source.surplus,
        "failed": source.failed,
        "unauditable": source.unauditable,
        "coverage": source.coverage.map(coverage),
        "error": source.error.as_ref().map(|(_, what)| what),
        "exit_code": source.exit_code(),
    })
}
