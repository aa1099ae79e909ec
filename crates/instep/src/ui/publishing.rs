//! Shows the events of a Source: as a spinner on a terminal, as lines, and as JSON for programs.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use instep_source::{
    Difference, DifferenceKind, LeftOut, PublishMonitor, PublishPhase, PublishProblem, PublishProgress,
};
use resourcesync::{Change, Uri};
use serde_json::json;

use super::{
    Output,
    format::{bytes, count, counted, name, shell_argument},
    output::LineLevel,
    stream,
};
use crate::service;

/// The most resources that are left out in a phase and printed one by one. Further ones are only counted: a repository
/// or a list may have any number of them.
const LEFT_OUT_SHOWN: u64 = 20;

/// The monitor of a Source.
pub(crate) struct Publishing {
    output: Output,
    bar: ProgressBar,
    served: Mutex<ServedState>,
    /// The problems of this phase that leave a resource out.
    left_out: AtomicU64,
}

/// The state of a server, as the service manager shows it.
#[derive(Default)]
struct ServedState {
    /// The base URL, once requests are answered.
    url: Option<String>,
    /// The resources that are published, in figures.
    resources: String,
}

impl Publishing {
    pub(crate) fn new(output: Output) -> Self {
        let bar = if output.bars { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{spinner} {prefix} {msg} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        if output.bars {
            bar.enable_steady_tick(Duration::from_millis(120));
            stream::draw(&bar);
        }
        Self { output, bar, served: Mutex::default(), left_out: AtomicU64::new(0) }
    }

    /// Returns `true` if a server began to answer requests since the last call.
    pub(crate) fn take_served(&self) -> bool {
        self.served().url.take().is_some()
    }

    fn served(&self) -> MutexGuard<'_, ServedState> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the state of the server to the service manager; `more` describes a fault.
    fn show_state(&self, more: &str) {
        let served = self.served();
        if let Some(url) = &served.url {
            service::status(&format!("Serving {url}: {}{more}", served.resources));
        }
    }

    /// Clears the drawing, and prints how many problems were not shown.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
        stream::clear();
        self.end_phase();
    }

    /// Prints how many problems of a phase were not shown, and counts those of the next one.
    fn end_phase(&self) {
        let hidden = self.left_out.swap(0, Ordering::Relaxed).saturating_sub(LEFT_OUT_SHOWN);
        if hidden > 0 && !self.output.verbose && !self.output.json {
            let line = format!("! ... and {}; -v shows each", counted(hidden, "more problem"));
            self.output.log(LineLevel::Error, &line);
        }
    }
}

/// The differences between content and catalogue, which are printed one by one and counted.
pub(crate) struct Differences {
    output: Output,
    pub(crate) unknown: u64,
    pub(crate) differing: u64,
    pub(crate) missing: u64,
}

impl Differences {
    pub(crate) fn new(output: Output) -> Self {
        Self { output, unknown: 0, differing: 0, missing: 0 }
    }

    /// Prints and counts a difference.
    pub(crate) fn add(&mut self, difference: &Difference) {
        let (letter, number) = match difference.kind {
            DifferenceKind::Unknown => ("+", &mut self.unknown),
            DifferenceKind::Missing => ("-", &mut self.missing),
            _ => ("~", &mut self.differing),
        };
        *number += 1;
        let uri = difference.uri.as_str();
        self.output.line(format!("{letter} {}", name(uri)));
        self.output.object("item", json!({ "letter": letter, "uri": uri }));
    }
}

impl PublishMonitor for Publishing {
    fn phase(&self, phase: PublishPhase) {
        self.end_phase();
        self.bar.set_prefix(match phase {
            PublishPhase::Scan => "scanning files",
            PublishPhase::Write => "writing documents",
            PublishPhase::Pack => "building packages",
            PublishPhase::Commit => "moving documents into place",
            PublishPhase::Deliver => "delivering documents",
            _ => "working",
        });
        self.bar.set_message("");
    }

    fn progress(&self, progress: PublishProgress) {
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
            self.output.line(format!("{letter} {}", name(uri.as_str())));
        }
    }

    fn left_out(&self, path: &str, reason: LeftOut) {
        if self.output.verbose {
            let why = match reason {
                LeftOut::Private => "not readable by everybody",
                LeftOut::Link => "a symbolic link",
                LeftOut::Special => "neither file nor folder",
                _ => "a hidden name or an editor's backup",
            };
            self.bar.suspend(|| self.output.note(format!("not published: {} ({why})", name(path))));
        }
    }

    fn document(&self, document: &str, size: u64) {
        self.output.object("document", json!({ "name": document, "bytes": size }));
        if self.output.verbose {
            self.output.note(format!("wrote {document} ({})", bytes(size)));
        }
    }

    fn published(&self, resources: u64, size: u64) {
        self.served().resources = format!("{}, {}", counted(resources, "resource"), bytes(size));
        self.show_state("");
    }

    fn serving(&self, base_url: &str, address: SocketAddr) {
        self.served().url = Some(base_url.to_owned());
        service::ready();
        self.show_state("");
        self.bar.finish_and_clear();
        let sync = format!("Copy it with: instep sync {} COPY", shell_argument(base_url));
        self.output.line(format!("Serving {base_url} on {address}. {sync}"));
        self.output.object("ready", json!({ "url": base_url, "address": address.to_string() }));
    }

    fn standing_by(&self, holder: &str, address: Option<SocketAddr>) {
        let meanwhile = address.map(|address| format!(", and shows its documents on {address}"));
        let line = format!("Standing by for {holder}{}", meanwhile.unwrap_or_default());
        self.bar.finish_and_clear();
        self.output.note(&line);
        let address = address.map(|address| address.to_string());
        self.output.object("standby", json!({ "holder": holder, "address": address }));
        // A server that stands by is ready for the service manager: it does its task.
        service::ready();
        service::status(&line);
    }

    fn problem(&self, problem: &PublishProblem) {
        if problem.subject == "publication" {
            self.show_state(&format!("; not current: {}", problem.what));
        }
        self.output.object(
            "problem",
            json!({ "subject": problem.subject, "what": problem.what, "skipped": problem.skipped }),
        );
        let is_one_of_many = problem.skipped
            && self.left_out.fetch_add(1, Ordering::Relaxed) >= LEFT_OUT_SHOWN
            && !self.output.verbose;
        if !self.output.json && !is_one_of_many && (problem.skipped || !self.output.quiet) {
            let line = format!("! {}: {}", name(&problem.subject), name(&problem.what));
            self.output.log(if problem.skipped { LineLevel::Error } else { LineLevel::Warn }, &line);
        }
    }
}
