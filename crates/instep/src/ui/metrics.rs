//! Figures of a copy in the text form of Prometheus, for the textfile collector of its node exporter.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use instep_destination::{Event, Letter, Monitor, Phase, ProblemKind, status};
use resourcesync::Uri;

/// A monitor that counts beside another one, and writes a file after each run.
pub(crate) struct Metrics<'a> {
    file: PathBuf,
    dir: PathBuf,
    beside: &'a dyn Monitor,
    counts: Mutex<Counts>,
}

/// What this process did.
#[derive(Debug, Default)]
struct Counts {
    changes: BTreeMap<&'static str, u64>,
    problems: BTreeMap<&'static str, u64>,
    bytes: u64,
    leases: Vec<(Uri, Duration)>,
}

const LAST_SUCCESS: &str = "instep_last_success_timestamp_seconds";

impl<'a> Metrics<'a> {
    /// Writes to `file` what the copy in `dir` is.
    pub(crate) fn new(file: PathBuf, dir: &Path, beside: &'a dyn Monitor) -> Self {
        Self { file, dir: dir.to_owned(), beside, counts: Mutex::default() }
    }

    /// Writes the file: whole, or not at all.
    pub(crate) fn write(&self, exit_code: u8) -> io::Result<()> {
        let text = self.text(exit_code, now());
        let mut beside = self.file.clone().into_os_string();
        beside.push(".new");
        fs::write(&beside, text)?;
        fs::rename(&beside, &self.file)
    }

    fn text(&self, exit_code: u8, now: f64) -> String {
        let mut text = Text::default();
        if let Ok(copy) = status(&self.dir) {
            let states = [("held", copy.held), ("owed", copy.owed)];
            text.family("instep_resources_total", "gauge", "state", states);
            text.one("instep_held_bytes", "gauge", copy.bytes as f64);
            if let Some(reached) = copy.checkpoint {
                text.one("instep_lag_seconds", "gauge", (now - reached.unix_micros() as f64 / 1e6).max(0.0));
            }
        }
        let success = if exit_code == 0 { Some(now) } else { self.last_success() };
        if let Some(success) = success {
            text.one(LAST_SUCCESS, "gauge", success);
        }
        text.one("instep_last_run_timestamp_seconds", "gauge", now);
        text.one("instep_last_run_exit_code", "gauge", exit_code.into());
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        text.family(
            "instep_changes_total",
            "counter",
            "change",
            counts.changes.iter().map(|(k, v)| (*k, *v)),
        );
        text.family(
            "instep_problems_total",
            "counter",
            "kind",
            counts.problems.iter().map(|(k, v)| (*k, *v)),
        );
        text.one("instep_fetch_bytes_total", "counter", counts.bytes as f64);
        let mismatches = counts.problems.get(ProblemKind::Mismatch.as_str()).copied().unwrap_or_default();
        text.one("instep_integrity_fail_total", "counter", mismatches as f64);
        let leases = counts.leases.iter().map(|(topic, left)| (topic.as_str(), left.as_secs()));
        text.family("instep_websub_lease_seconds", "gauge", "topic", leases);
        text.0
    }

    /// A run that failed keeps the time of the last one that did not.
    fn last_success(&self) -> Option<f64> {
        let text = fs::read_to_string(&self.file).ok()?;
        text.lines().find_map(|line| line.strip_prefix(LAST_SUCCESS)?.trim().parse().ok())
    }
}

impl Monitor for Metrics<'_> {
    fn event(&self, event: Event<'_>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match &event {
            Event::Committed(item) => {
                let change = match item.letter {
                    Letter::New => "created",
                    Letter::Gone => "deleted",
                    _ => "updated",
                };
                *counts.changes.entry(change).or_default() += 1;
            }
            Event::Problem(problem) => *counts.problems.entry(problem.kind.as_str()).or_default() += 1,
            Event::Progress { bytes } => counts.bytes += bytes,
            Event::Leases(leases) => counts.leases = leases.to_vec(),
            _ => {}
        }
        drop(counts);
        // While following, each look is a run of its own.
        if matches!(event, Event::Phase(Phase::Waiting))
            && let Err(error) = self.write(0)
        {
            tracing::warn!(%error, file = %self.file.display(), "the figures are not written");
        }
        self.beside.event(event);
    }
}

/// Lines of the text form.
#[derive(Debug, Default)]
struct Text(String);

impl Text {
    fn one(&mut self, name: &str, kind: &str, value: f64) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n{name} {value}");
    }

    fn family<'k>(
        &mut self,
        name: &str,
        kind: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'k str, u64)>,
    ) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        for (key, value) in values {
            let _ = writeln!(self.0, "{name}{{{label}=\"{key}\"}} {value}");
        }
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use instep_destination::VoidMonitor;

    use super::*;

    #[test]
    fn what_is_left_of_a_lease_is_that_of_the_last_look() {
        let metrics = Metrics::new(PathBuf::new(), Path::new("nowhere"), &VoidMonitor);
        let lease = |left| [(Uri::parse("http://a/topic").unwrap(), Duration::from_secs(left))];
        metrics.event(Event::Leases(&lease(7_200)));
        metrics.event(Event::Leases(&lease(7_100)));
        let text = metrics.text(0, 0.0);
        assert!(text.contains("instep_websub_lease_seconds{topic=\"http://a/topic\"} 7100\n"), "{text}");
        assert_eq!(text.matches("topic=").count(), 1);
        metrics.event(Event::Leases(&[]));
        assert!(!metrics.text(0, 0.0).contains("topic="));
    }
}
