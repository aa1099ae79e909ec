//! Shows the events of a Destination: as a display that is drawn on a terminal, otherwise as a line every 30 s, and as
//! JSON for programs.

mod display;
mod tally;

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use instep_destination::{Event, Item, Letter, Monitor, Phase, Problem};
use serde_json::json;

use self::{display::Display, tally::ProgressTally};
use super::{
    Output,
    format::{count, name},
    output::LineLevel,
    stream,
};
use crate::{advice, service};

/// The time between two lines of a run that draws nothing.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// The time between two drawings.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// The most problems that are printed one by one. Further ones are only counted.
const PROBLEMS_SHOWN: u64 = 20;

/// The monitor of a Destination.
pub(crate) struct ProgressDisplay {
    output: Output,
    shared: Arc<DisplayShared>,
    /// `true` if the run follows its Source, and so each of its rounds gets a line (P11).
    follows: bool,
    /// `true` if at least one round is over.
    has_waited: AtomicBool,
}

/// The state that the monitor and the thread that draws share.
struct DisplayShared {
    tally: Mutex<ProgressTally>,
    ended: Mutex<bool>,
    end: Condvar,
}

impl DisplayShared {
    fn tally(&self) -> MutexGuard<'_, ProgressTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a while, or until the run ends. Returns `false` if the run has ended.
    fn wait(&self, pause: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.end.wait_timeout_while(ended, pause, |ended| !*ended);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl ProgressDisplay {
    /// Starts showing the events of a run.
    pub(crate) fn new(output: Output, follows: bool) -> Self {
        let tally = Mutex::new(ProgressTally::new(Instant::now()));
        let shared = Arc::new(DisplayShared { tally, ended: Mutex::new(false), end: Condvar::new() });
        let progress = Self { output, shared, follows, has_waited: AtomicBool::new(false) };
        if output.bars {
            progress.draw_until_end();
        } else if !output.quiet && !output.json {
            progress.print_until_end();
        }
        progress
    }

    /// Draws the state of the run periodically, on a thread of its own, because a run that waits sends no events.
    fn draw_until_end(&self) {
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        stream::draw(&bar);
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            let mut display = Display::default();
            while shared.wait(DRAW_EVERY) {
                let text = display.text(&mut shared.tally(), Instant::now(), stream::columns());
                bar.set_message(text);
                bar.tick();
            }
        });
    }

    /// Prints a line every 30 s.
    fn print_until_end(&self) {
        let (shared, output) = (Arc::clone(&self.shared), self.output);
        thread::spawn(move || {
            let mut display = Display::default();
            while shared.wait(LINE_EVERY) {
                let line = display.line(&mut shared.tally(), Instant::now());
                output.note(line);
            }
        });
    }

    /// Clears the display and prints how many problems were not shown.
    pub(crate) fn finish(&self) {
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.end.notify_all();
        stream::clear();
        let hidden = self.shared.tally().problems.saturating_sub(PROBLEMS_SHOWN);
        if hidden > 0 && !self.output.verbose {
            let hidden = count(hidden);
            self.output
                .note(format!("... and {hidden} more problems; -v shows each, `instep status` counts them"));
        }
    }

    fn item(&self, item: &Item<'_>, planned: bool) {
        if self.output.json {
            let fields = json!({
                "letter": item.letter.to_string(),
                "uri": item.uri,
                "bytes": item.bytes,
                "detail": item.detail,
                "planned": planned,
            });
            self.output.object("item", fields);
        }
        if planned || self.output.verbose {
            let detail = item.detail.map_or(String::new(), |detail| format!("  ({})", name(detail)));
            let color = match item.letter {
                Letter::New => 32,
                Letter::Changed => 33,
                Letter::Gone | Letter::Failed => 31,
                _ => 90,
            };
            let letter = self.output.paint(color, &item.letter.to_string());
            self.output.line(format!("{letter} {}{detail}", name(item.uri)));
        }
    }

    fn problem(&self, problem: &Problem<'_>, is_warning: bool, number: u64) {
        let hint = problem.hint.or_else(|| advice::for_this_problem(problem));
        let fields = json!({
            "severity": if is_warning { "warning" } else { "error" },
            "kind": problem.kind.as_str(),
            "uri": problem.uri,
            "what": problem.what.to_string(),
            "hint": hint,
        });
        self.output.object("problem", fields);
        let is_shown = number <= PROBLEMS_SHOWN || self.output.verbose;
        if !is_shown || self.output.json || (self.output.quiet && is_warning) {
            return;
        }
        let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
        let (sign, level) = if is_warning { ("warning:", LineLevel::Warn) } else { ("!", LineLevel::Error) };
        let what = name(&problem.what.to_string());
        self.output.log(level, &format!("{sign} {}: {what}{}", name(problem.uri), name(&hint)));
    }

    /// Notes that a round is over and the run waits for the next change.
    fn wait_for_changes(&self) {
        self.has_waited.store(true, Ordering::Relaxed);
        service::ready();
    }

    /// Returns `true` if at least one round is over.
    pub(crate) fn has_waited(&self) -> bool {
        self.has_waited.load(Ordering::Relaxed)
    }

    /// Prints a line about a round that has ended, and shows it to the service manager.
    fn round(&self, exit_code: u8) {
        let round = self.shared.tally().end_round(Instant::now());
        let line = round.line(exit_code);
        service::status(&line);
        self.output.note(line);
        self.output.object("round", round.fields(exit_code));
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.end.notify_all();
    }
}

impl Monitor for ProgressDisplay {
    fn event(&self, event: Event<'_>) {
        let mut tally = self.shared.tally();
        if matches!(event, Event::Phase(phase) if phase != Phase::Waiting) {
            tally.end_wait(Instant::now());
        }
        tally.add(&event);
        drop(tally);
        match event {
            Event::Note(text) => {
                self.output.object("note", json!({ "text": text }));
                self.output.note(name(text));
            }
            Event::Planned(totals) => {
                let fields = json!({
                    "fetches": totals.fetches,
                    "deletions": totals.deletions,
                    "unchanged": totals.unchanged,
                    "bytes": totals.bytes,
                });
                self.output.object("plan", fields);
            }
            Event::Itemized(item) => self.item(&item, true),
            Event::Committed(item) => self.item(&item, false),
            Event::Problem(problem) => {
                let number = self.shared.tally().problems;
                self.problem(&problem, false, number);
            }
            Event::Warning(problem) => {
                let number = self.shared.tally().problems;
                self.problem(&problem, true, number);
            }
            Event::Ended { exit_code } if self.follows => self.round(exit_code),
            // The round counts as over even if the Source could not be reached: the copy that is held can be used.
            Event::Phase(Phase::Waiting) => self.wait_for_changes(),
            _ => {}
        }
    }
}
