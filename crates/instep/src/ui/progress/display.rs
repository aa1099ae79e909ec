//! The progress of a run as text: a block for a terminal, or a line.
//!
//! The text depends only on the counts, the time and the width, so that tests read the same text as an operator.

use std::time::{Duration, Instant};

use instep_destination::Phase;

use super::tally::ProgressTally;
use crate::ui::format::{bytes, count, counted, elapsed, name};

/// The most transfers that are shown one by one.
const TRANSFERS_SHOWN: usize = 8;

/// The time over which the speed is measured: long enough for a steady figure, short enough to show a stall.
const WINDOW: Duration = Duration::from_secs(10);

/// The progress in the last seconds, from which the speed is computed.
#[derive(Debug, Default)]
pub(super) struct Display {
    /// The resources and bytes at each time within [`WINDOW`].
    samples: Vec<(Instant, u64, u64)>,
}

/// The resources and bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Speed {
    resources: f64,
    bytes: f64,
}

impl Display {
    /// Returns the block for a terminal: totals, problems and waits, and the transfers in progress.
    pub(super) fn text(&mut self, tally: &mut ProgressTally, now: Instant, columns: usize) -> String {
        let mut lines = vec![self.totals(tally, now)];
        if lines[0].chars().count() > columns {
            // The word is left out so that the time that is left, at the end of the line, is not cut off.
            lines[0] = lines[0].replacen(" resources (", " (", 1);
        }
        lines.extend(asides(tally).map(|asides| format!("  {asides}")));
        for (uri, received, length) in tally.transfers.iter().take(TRANSFERS_SHOWN) {
            let amount = match length {
                Some(length) => format!("{:>4}  {:>10}", share(*received, *length), bytes(*length)),
                None => format!("      {:>10}", bytes(*received)),
            };
            lines.push(format!("  {amount}  {}", name(uri)));
        }
        if let Some(more) = tally.transfers.len().checked_sub(TRANSFERS_SHOWN).filter(|more| *more > 0) {
            lines.push(format!("  ... and {more} more"));
        }
        lines.iter().map(|line| cut(line, columns)).collect::<Vec<_>>().join("\n")
    }

    /// Returns the progress in one line.
    pub(super) fn line(&mut self, tally: &mut ProgressTally, now: Instant) -> String {
        let mut line = self.totals(tally, now);
        if let Some((oldest, ..)) = tally.transfers.first() {
            line.push_str(&format!(", {} in flight, the oldest {}", tally.transfers.len(), name(oldest)));
        }
        match asides(tally) {
            Some(asides) => format!("{line}; {asides}"),
            None => line,
        }
    }

    fn totals(&mut self, tally: &ProgressTally, now: Instant) -> String {
        let speed = self.speed(tally, now);
        let phase = tally.phase.map_or("starting", Phase::as_str);
        let planned = tally.planned;
        // While other work is done, the resources to fetch would be taken for those to delete, or to hash.
        if planned.fetches == 0 || tally.phase.is_some_and(|phase| phase != Phase::Fetching) {
            let time = elapsed(now.duration_since(tally.started));
            return match tally.bytes {
                0 => format!("{phase}, {time}"),
                arrived => format!("{phase}, {}, {}/s, {time}", bytes(arrived), bytes(speed.bytes as u64)),
            };
        }
        let done = tally.done.min(planned.fetches);
        let amount = match planned.bytes {
            0 => bytes(tally.bytes),
            total => format!("{} of {}", bytes(tally.bytes), bytes(total.max(tally.bytes))),
        };
        let mut line = format!(
            "{phase} {} of {} ({}), {amount}, {}/s",
            count(done),
            counted(planned.fetches, "resource"),
            share(done, planned.fetches),
            bytes(speed.bytes as u64)
        );
        if let Some(left) = time_left(tally, speed) {
            line.push_str(&format!(", ETA {}", elapsed(left)));
        }
        line
    }

    /// Returns the speed over the last seconds.
    fn speed(&mut self, tally: &ProgressTally, now: Instant) -> Speed {
        // Samples with higher counts are of an earlier round, because each round counts from 0.
        self.samples.retain(|(at, done, bytes)| {
            now.duration_since(*at) <= WINDOW && *done <= tally.done && *bytes <= tally.bytes
        });
        self.samples.push((now, tally.done, tally.bytes));
        let (at, done, arrived) = self.samples.first().copied().unwrap_or((tally.started, 0, 0));
        let (at, done, arrived) =
            if self.samples.len() == 1 { (tally.started, 0, 0) } else { (at, done, arrived) };
        let seconds = now.duration_since(at).as_secs_f64();
        if seconds < 0.1 {
            return Speed::default();
        }
        let per_second = |number: u64| number as f64 / seconds;
        Speed { resources: per_second(tally.done - done), bytes: per_second(tally.bytes - arrived) }
    }
}

/// Returns the time that the rest will take, computed from bytes if the lists state lengths, and otherwise from
/// resources. `None` if nothing is left, or if nothing has arrived within [`WINDOW`].
fn time_left(tally: &ProgressTally, speed: Speed) -> Option<Duration> {
    let planned = tally.planned;
    let (left, per_second) = match planned.bytes.checked_sub(tally.bytes) {
        Some(left) if left > 0 => (left, speed.bytes),
        _ => (planned.fetches.saturating_sub(tally.done), speed.resources),
    };
    (per_second > 0.0 && left > 0).then(|| Duration::from_secs_f64((left as f64 / per_second).min(1e8)))
}

/// Returns the errors so far and the hosts that a run waits for; `None` if there are none.
fn asides(tally: &ProgressTally) -> Option<String> {
    let errors = (tally.errors > 0).then(|| counted(tally.errors, "error"));
    let waits =
        tally.waiting.iter().map(|(host, pause)| format!("waiting {} for {}", elapsed(*pause), name(host)));
    let asides: Vec<_> = errors.into_iter().chain(waits).collect();
    (!asides.is_empty()).then(|| asides.join("; "))
}

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "100%".to_owned(),
        whole => format!("{}%", (part as f64 / whole as f64 * 100.0).min(100.0) as u64),
    }
}

/// Cuts a line to the width of the terminal, so that it stays one line.
fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    line.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use instep_destination::{Event, Item, Letter, PlanTotals};

    use super::*;

    fn tally(now: Instant) -> ProgressTally {
        let mut tally = ProgressTally::new(now);
        let mut planned = PlanTotals::new();
        (planned.fetches, planned.bytes) = (328, 40 << 20);
        tally.add(&Event::Phase(Phase::Fetching));
        tally.add(&Event::Planned(planned));
        tally
    }

    #[test]
    fn p6_progress_has_totals_speed_and_time_left() {
        let start = Instant::now();
        let (mut tally, mut display) = (tally(start), Display::default());
        assert_eq!(
            display.line(&mut tally, start),
            "fetching 0 of 328 resources (0%), 0 B of 40.0 MiB, 0 B/s"
        );
        tally.add(&Event::Progress { bytes: 10 << 20 });
        (0..82).for_each(|_| tally.add(&Event::Committed(Item::new(Letter::New, "http://a/b", None))));
        assert_eq!(
            display.line(&mut tally, start + Duration::from_secs(10)),
            "fetching 82 of 328 resources (25%), 10.0 MiB of 40.0 MiB, 1.0 MiB/s, ETA 30.0 s"
        );
    }

    #[test]
    fn o755_resources_are_counted_only_while_they_are_fetched() {
        let start = Instant::now();
        let (mut tally, mut display) = (tally(start), Display::default());
        tally.add(&Event::Phase(Phase::Deleting));
        assert_eq!(display.line(&mut tally, start + Duration::from_secs(5)), "deleting, 5.0 s");
    }

    #[test]
    fn p6_bytes_move_while_nothing_is_committed_as_in_a_dump() {
        let start = Instant::now();
        let (mut tally, mut display) = (tally(start), Display::default());
        display.line(&mut tally, start);
        tally.add(&Event::Progress { bytes: 20 << 20 });
        let line = display.line(&mut tally, start + Duration::from_secs(5));
        assert!(line.contains("20.0 MiB of 40.0 MiB, 4.0 MiB/s, ETA 5.0 s"), "{line}");
    }

    #[test]
    fn p6_transfers_errors_and_waits_are_shown_within_the_width() {
        let start = Instant::now();
        let (mut tally, mut display) = (tally(start), Display::default());
        tally.transfers.push(("http://example.org/letters/1701.pdf".into(), 1 << 20, Some(4 << 20)));
        tally.transfers.push((format!("http://example.org/{}", "x".repeat(200)), 5, None));
        tally.waiting.insert("http://busy.example".into(), Duration::from_secs(12));
        tally.errors = 2;
        let text = display.text(&mut tally, start, 60);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "  2 errors; waiting 12.0 s for http://busy.example");
        assert_eq!(lines[2], "   25%     4.0 MiB  http://example.org/letters/1701.pdf");
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn p17_the_time_left_of_a_large_run_is_within_80_columns() {
        let start = Instant::now();
        let (mut tally, mut display) = (ProgressTally::new(start), Display::default());
        let mut planned = PlanTotals::new();
        (planned.fetches, planned.bytes) = (123_456, 900 << 20);
        tally.add(&Event::Phase(Phase::Fetching));
        tally.add(&Event::Planned(planned));
        display.text(&mut tally, start, 80);
        tally.add(&Event::Progress { bytes: 100 << 20 });
        let text = display.text(&mut tally, start + Duration::from_secs(5), 80);
        assert_eq!(text, "fetching 0 of 123,456 (0%), 100.0 MiB of 900.0 MiB, 20.0 MiB/s, ETA 40.0 s");
    }

    #[test]
    fn p10_a_line_of_a_log_names_the_host_that_a_run_waits_for_and_how_long() {
        let start = Instant::now();
        let (mut tally, mut display) = (ProgressTally::new(start), Display::default());
        tally.add(&Event::Phase(Phase::Discovering));
        let later = start + Duration::from_secs(30);
        assert_eq!(display.line(&mut tally, later), "discovering, 30.0 s");
        tally.transfers.push(("http://slow.example/list.xml".into(), 0, None));
        let said = "discovering, 30.0 s, 1 in flight, the oldest http://slow.example/list.xml";
        assert_eq!(display.line(&mut tally, later), said);
        let waiting = [("http://down.example".to_owned(), Duration::from_secs(12))];
        tally.add(&Event::UnderWay { requests: &[], waiting: &waiting });
        assert_eq!(
            display.line(&mut tally, later),
            "discovering, 30.0 s; waiting 12.0 s for http://down.example"
        );
    }

    #[test]
    fn o757_a_run_that_waits_shows_no_transfer_and_the_wait_is_no_part_of_the_next_round() {
        let start = Instant::now();
        let (mut tally, mut display) = (ProgressTally::new(start), Display::default());
        tally.transfers.push(("http://example.org/list.xml".into(), 0, None));
        tally.end_round(start);
        tally.add(&Event::Phase(Phase::Waiting));
        assert_eq!(display.line(&mut tally, start + Duration::from_secs(30)), "waiting, 30.0 s");
        let begun = start + Duration::from_secs(300);
        tally.end_wait(begun);
        tally.add(&Event::Phase(Phase::Discovering));
        assert_eq!(display.line(&mut tally, begun + Duration::from_secs(1)), "discovering, 1.0 s");
        let round = tally.end_round(begun + Duration::from_secs(2));
        assert_eq!(round.fields(0)["seconds"], 2.0);
    }

    #[test]
    fn p6_a_run_that_waits_shows_no_totals_of_its_documents() {
        let start = Instant::now();
        let (mut tally, mut display) = (ProgressTally::new(start), Display::default());
        tally.add(&Event::Phase(Phase::Waiting));
        assert_eq!(display.line(&mut tally, start + Duration::from_secs(90)), "waiting, 1 min 30 s");
    }
}
