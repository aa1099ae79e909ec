//! `instep audit`: compares a copy with its Source.

use std::path::PathBuf;

use clap::Args;
use instep_destination::{self as destination, AuditOptions, AuditReport, Verify};
use serde_json::json;

use crate::{
    args::{access::AccessArgs, folders, headings::CHECKING, selection::SelectionArgs, values},
    config::Config,
    exit::Exit,
    runtime,
    ui::{
        Output,
        format::{bytes, count, elapsed},
        progress::Progress,
    },
};

/// Check a copy against its Source: + missing, ~ different, - surplus, ! error
///
/// Hashes the files of the copy and compares them with the Source's Resource List and later changes. The exit code is
/// 20 if there are differences.
#[derive(Debug, Args)]
#[command(
    after_help = "All options and examples: instep audit --help",
    after_long_help = "Examples:\n  instep audit https://example.org/ ./copy\n  instep audit --offline ./copy\n  instep audit https://example.org/ ./copy --sample 1%\n  instep audit https://original.example.org/ ./copy-of-a-mirror --origin"
)]
pub(crate) struct AuditCommand {
    /// Any URL of the Source; the folder of the copy with --offline
    url: String,
    /// The folder of the copy [default: ./HOST]
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
        let options = self.options(config)?;
        let runtime = runtime::start()?;
        let signals =
            runtime::Signals::listen(&runtime, options.shutdown.clone(), *output, "the comparison ends here");
        let progress = Progress::new(*output, false);
        let report = runtime.block_on(destination::audit(&options, &progress));
        progress.finish();
        let report = report?;
        show(output, &report);
        output.object("summary", summary(&report));
        Ok(if report.interrupted { signals.exit() } else { Exit::from_code(report.exit_code()) })
    }

    fn options(self, config: &Config) -> anyhow::Result<AuditOptions> {
        let (url, dir) = if self.offline {
            (None, self.dir.unwrap_or_else(|| PathBuf::from(&self.url)))
        } else {
            let url = values::url(&self.url).map_err(anyhow::Error::msg)?.into_string();
            let dir = self.dir.unwrap_or_else(|| folders::copy(&url));
            (Some(url), dir)
        };
        let mut options = AuditOptions::new(url, dir);
        options.sample = self.sample;
        options.origin = self.origin;
        options.verify = self.verify;
        options.selection = self.selection.options()?;
        options.access = self.access.options(config)?;
        Ok(options)
    }
}

fn show(output: &Output, report: &AuditReport) {
    let state = match report.exit_code() {
        0 => "In step",
        20 => "Not in step",
        130 => "Interrupted",
        _ => "Not fully compared",
    };
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
    output.closing(format!("{line}; {} hashed in {}", bytes(report.bytes), elapsed(report.elapsed)));
}

fn summary(report: &AuditReport) -> serde_json::Value {
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
        "exit_code": report.exit_code(),
    })
}
