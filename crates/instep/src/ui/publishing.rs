//! What a Source tells, shown.

use std::{io, net::SocketAddr, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use instep_source::{Monitor, Phase, Problem, Progress};
use resourcesync::{Change, Uri};
use serde_json::json;

use super::{
    Output,
    format::{bytes, count, name},
    write_line,
};

/// The program's monitor of a Source.
pub(crate) struct Publishing {
    output: Output,
    bar: ProgressBar,
}

impl Publishing {
    pub(crate) fn new(output: Output) -> Self {
        let bar = if output.bars { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{spinner} {prefix} {msg} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        if output.bars {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self { output, bar }
    }

    /// Clears what was drawn.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Monitor for Publishing {
    fn phase(&self, phase: Phase) {
        self.bar.set_prefix(match phase {
            Phase::Scan => "looking at files",
            Phase::Write => "writing documents",
            Phase::Pack => "building packages",
            Phase::Commit => "putting in place",
            _ => "working",
        });
        self.bar.set_message("");
    }

    fn progress(&self, progress: Progress) {
        self.bar.set_message(format!("{}, {}", count(progress.done), bytes(progress.bytes)));
    }

    fn change(&self, change: &Change, uri: &Uri) {
        self.output.object("item", json!({ "change": change.as_str(), "uri": uri.as_str() }));
        if self.output.verbose {
            let letter = match change {
                Change::Created => "+",
                Change::Deleted => "-",
                _ => "~",
            };
            self.bar.suspend(|| self.output.line(format!("{letter} {uri}")));
        }
    }

    fn document(&self, document: &str, size: u64) {
        self.output.object("document", json!({ "name": document, "bytes": size }));
        if self.output.verbose {
            self.bar.suspend(|| self.output.note(format!("wrote {document} ({})", bytes(size))));
        }
    }

    fn serving(&self, base_url: &str, address: SocketAddr) {
        self.bar.finish_and_clear();
        let sync = format!("Copy it with: instep sync {base_url} COPY");
        self.output.line(format!("Serving {base_url} on {address}. {sync}"));
        self.output.object("ready", json!({ "url": base_url, "address": address.to_string() }));
    }

    fn problem(&self, problem: &Problem) {
        self.output.object(
            "problem",
            json!({ "subject": problem.subject, "what": problem.what, "skipped": problem.skipped }),
        );
        if !self.output.json && (problem.skipped || !self.output.quiet) {
            let line = format!("! {}: {}", name(&problem.subject), name(&problem.what));
            self.bar.suspend(|| write_line(io::stderr(), &line));
        }
    }
}
