//! `instep status`: prints the state of a copy.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use serde_json::json;

use crate::{
    exit::Exit,
    ui::{
        Output,
        format::{bytes, count, counted, elapsed, name},
    },
};

/// Show the state of a copy: resources held, lag, last run, problems
#[derive(Debug, Args)]
pub(crate) struct StatusCommand {
    /// The folder of the copy
    #[arg(default_value = ".")]
    dir: PathBuf,
}

impl StatusCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let status = instep_destination::status(&self.dir)?;
        let time = |time: Option<resourcesync::DateTime>| time.map(|time| time.to_string());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none yet".to_owned());
        output.line(format!("Copy        {}", status.dir.display()));
        output.line(format!("Source      {}", name(&or_none(status.url.clone()))));
        output.line(format!("Held        {}, {}", counted(status.held, "resource"), bytes(status.bytes)));
        let behind = status.lag(instep_destination::now()).map(|lag| format!("; {} ago", elapsed(lag)));
        output.line(format!(
            "Up to       {}{}",
            or_none(time(status.checkpoint)),
            behind.unwrap_or_default()
        ));
        if let Some(free) = status.free {
            output.line(format!("Free        {}", bytes(free)));
        }
        let how = status.last_exit_code.map(|code| format!("; {}", Exit::from_code(code).meaning()));
        output.line(format!(
            "Last run    {}{}{}",
            or_none(time(status.last_run)),
            how.unwrap_or_default(),
            if status.running { "; a run is active" } else { "" }
        ));
        if let Some(summary) = &status.last_summary {
            output.line(format!("            {}", name(summary)));
        }
        for (kind, (number, first)) in &status.last_problems {
            output.line(format!("Problems    {} {kind}; the first: {}", count(*number), name(first)));
        }
        if status.owed > 0 {
            let kinds: Vec<_> =
                status.problems.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
            output.line(format!(
                "Pending     {} ({}), retried by the next run",
                counted(status.owed, "resource"),
                kinds.join(", ")
            ));
        }
        output.object(
            "status",
            json!({
                "dir": status.dir,
                "url": status.url,
                "held": status.held,
                "bytes": status.bytes,
                "owed": status.owed,
                "problems": status.problems,
                "checkpoint": time(status.checkpoint),
                "last_run": time(status.last_run),
                "last_exit_code": status.last_exit_code,
                "last_summary": status.last_summary,
                "last_problems": status.last_problems.iter().map(|(kind, (number, _))| (kind, number)).collect::<BTreeMap<_, _>>(),
                "lag_seconds": status.lag(instep_destination::now()).map(|lag| lag.as_secs_f64()),
                "free_bytes": status.free,
                "running": status.running,
            }),
        );
        Ok(if status.owed > 0 { Exit::Problems } else { Exit::Done })
    }
}
