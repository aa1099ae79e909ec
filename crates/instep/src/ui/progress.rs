//! Shows the events of a Destination: a bar on a terminal, a line every 30 s elsewhere, JSON for programs.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use instep_destination::{Event, Item, Letter, Monitor, Phase, PlanTotals, Problem};
use serde_json::json;

use super::{
    Output,
    format::{bytes, count, name},
    output::Level,
    stream,
};
use crate::advice;

/// Time between two progress lines of a run that draws no bar.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Problems that are printed one by one; further ones are only counted.
const PROBLEMS_SHOWN: u64 = 20;

/// The monitor of a Destination.
pub(crate) struct Progress {
    output: Output,
    bar: ProgressBar,
    planned: Mutex<PlanTotals>,
    last_line: Mutex<Instant>,
    done: AtomicU64,
    bytes: AtomicU64,
    problems: AtomicU64,
}

impl Progress {
    pub(crate) fn new(output: Output) -> Self {
        let bar = if output.bars { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(spinner());
        if output.bars {
            bar.enable_steady_tick(Duration::from_millis(120));
            stream::draw(&bar);
        }
        Self {
            output,
            bar,
            planned: Mutex::default(),
            last_line: Mutex::new(Instant::now()),
            done: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            problems: AtomicU64::new(0),
        }
    }

    /// Clears the display and prints how many problems were not shown.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
        stream::clear();
        let hidden = self.problems.load(Ordering::Relaxed).saturating_sub(PROBLEMS_SHOWN);
        if hidden > 0 && !self.output.verbose {
            self.output.note(format!(
                "... and {} more problems; -v shows each, `instep status` counts them",
                count(hidden)
            ));
        }
    }

    fn phase(&self, phase: Phase) {
        self.bar.set_message(phase.as_str());
        let planned = *self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        if phase == Phase::Fetching && planned.fetches > 0 {
            self.bar.set_length(planned.fetches);
            self.bar.set_style(bar());
        }
    }

    fn item(&self, item: &Item<'_>, planned: bool) {
        if !planned {
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            if item.letter != Letter::Gone {
                self.bar.set_position(done);
            }
        }
        if self.output.json {
            let fields = json!({ "letter": item.letter.to_string(), "uri": item.uri, "bytes": item.bytes, "detail": item.detail, "planned": planned });
            self.output.object("item", fields);
        }
        if planned || self.output.verbose {
            let detail = item.detail.map_or(String::new(), |detail| format!("  ({})", name(detail)));
            let color = match item.letter {
                Letter::New => 32,
                Letter::Changed => 33,
                Letter::Gone | Letter::Failed => 31,
                Letter::Same => 90,
            };
            let letter = self.output.paint(color, &item.letter.to_string());
            self.output.line(format!("{letter} {}{detail}", name(item.uri)));
        }
    }

    fn problem(&self, problem: &Problem<'_>, severity: &str) {
        let hint = problem.hint.or_else(|| advice::for_problem(problem.kind));
        let fields = json!({
            "severity": severity,
            "kind": problem.kind.as_str(),
            "uri": problem.uri,
            "what": problem.what.to_string(),
            "hint": hint,
        });
        self.output.object("problem", fields);
        let shown = self.problems.fetch_add(1, Ordering::Relaxed) < PROBLEMS_SHOWN;
        if (shown || self.output.verbose)
            && !self.output.json
            && !(self.output.quiet && severity == "warning")
        {
            let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
            let sign = if severity == "warning" { "warning:" } else { "!" };
            let line =
                format!("{sign} {}: {}{}", name(problem.uri), name(&problem.what.to_string()), name(&hint));
            self.output.log(if severity == "warning" { Level::Warn } else { Level::Error }, &line);
        }
    }

    /// Prints a line every 30 s if no bar is drawn.
    fn line_if_due(&self) {
        if self.output.bars || self.output.quiet || self.output.json {
            return;
        }
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            let (done, transferred) = (self.done.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
            let planned = *self.planned.lock().unwrap_or_else(PoisonError::into_inner);
            self.output.note(format!(
                "{} of {} done, {} transferred",
                count(done),
                count(planned.fetches),
                bytes(transferred)
            ));
        }
    }
}

impl Monitor for Progress {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Phase(phase) => self.phase(phase),
            Event::Note(text) => {
                self.output.object("note", json!({ "text": text }));
                self.output.note(name(text));
            }
            Event::Planned(totals) => {
                *self.planned.lock().unwrap_or_else(PoisonError::into_inner) = totals;
                self.output.object(
                    "plan",
                    json!({
                        "fetches": totals.fetches,
                        "deletions": totals.deletions,
                        "unchanged": totals.unchanged,
                        "bytes": totals.bytes,
                    }),
                );
            }
            Event::Itemized(item) => self.item(&item, true),
            Event::Committed(item) => self.item(&item, false),
            Event::Progress { bytes: more } => {
                let transferred = self.bytes.fetch_add(more, Ordering::Relaxed) + more;
                self.bar.set_prefix(bytes(transferred));
                self.line_if_due();
            }
            Event::Problem(problem) => self.problem(&problem, "error"),
            Event::Warning(problem) => self.problem(&problem, "warning"),
            _ => {}
        }
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg} {prefix} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn bar() -> ProgressStyle {
    ProgressStyle::with_template("{msg} {bar:30} {human_pos}/{human_len} {prefix} {per_sec} ETA {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
