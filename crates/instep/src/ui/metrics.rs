//! Metrics of a copy in the Prometheus text format, for the textfile collector of the node exporter.

pub(crate) mod text;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use instep_destination::{Event, Letter, Monitor, Phase, ProblemKind, Traffic, status};
use resourcesync::Uri;
use text::Text;

use crate::exit::Exit;

/// A monitor that counts events and passes them on. It writes a metrics file after each run, and every 15 s during a
/// run.
pub(crate) struct MetricsMonitor<'a> {
    file: PathBuf,
    dir: PathBuf,
    beside: &'a dyn Monitor,
    counts: Mutex<RunCounts>,
}

/// The counts since the start of this process.
#[derive(Debug, Default)]
struct RunCounts {
    changes: BTreeMap<&'static str, u64>,
    problems: BTreeMap<&'static str, u64>,
    hosts: BTreeMap<String, Traffic>,
    bytes: u64,
    leases: Vec<(Uri, Duration)>,
    /// The end of the last run in seconds since 1970, by the clock of this machine, and its exit code.
    ended: Option<(f64, u8)>,
    /// The end of the last run with exit code 0, also if an earlier process wrote it to the file.
    succeeded: Option<f64>,
    /// The beginning of the first run that wrote to the file. It shows how long a copy that never succeeded has been
    /// tried.
    first: Option<f64>,
    /// The time at which the file was last written.
    written: Option<Instant>,
}

const LAST_SUCCESS: &str = "instep_last_success_timestamp_seconds";
const FIRST_RUN: &str = "instep_first_run_timestamp_seconds";

/// The most hosts with metrics of their own. All further hosts share one entry, so that memory and file are bounded.
const MOST_HOSTS: usize = 50;

/// The time between two writes of the file during a run.
const EVERY: Duration = Duration::from_secs(15);

impl<'a> MetricsMonitor<'a> {
    /// Returns a monitor that writes metrics of the copy in `dir` to `file`.
    pub(crate) fn new(file: PathBuf, dir: &Path, beside: &'a dyn Monitor) -> Self {
        // A device could have bytes without end, and a pipe none until somebody writes to it.
        let is_file = fs::metadata(&file).is_ok_and(|found| found.is_file());
        let before = if is_file { fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
        let (succeeded, first) = (recorded(&before, LAST_SUCCESS), recorded(&before, FIRST_RUN));
        // A file that an earlier version wrote has no time of the first run.
        let first = first.or(succeeded).or_else(|| Some(now()));
        let counts = RunCounts { succeeded, first, ..RunCounts::default() };
        Self { file, dir: dir.to_owned(), beside, counts: Mutex::new(counts) }
    }

    /// Writes the file after a run.
    ///
    /// Errors: the file cannot be written.
    pub(crate) fn end(&self, exit_code: u8) -> io::Result<()> {
        self.counts().end(exit_code, now());
        self.write()
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, RunCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file.
    fn write(&self) -> io::Result<()> {
        // The path is absolute, so that it identifies the copy whatever the working folder is.
        let dir = std::path::absolute(&self.dir).unwrap_or_else(|_| self.dir.clone());
        let mut text = Text::about(dir.to_string_lossy());
        self.write_copy(&mut text, now());
        let mut counts = self.counts();
        counts.write(&mut text);
        counts.written = Some(Instant::now());
        place(&self.file, text.into_string().as_bytes())
    }

    fn write_copy(&self, text: &mut Text, now: f64) {
        let Ok(copy) = status(&self.dir) else { return };
        let states = [("held", copy.held), ("owed", copy.owed)];
        text.family(
            "instep_resources_total",
            "gauge",
            states.map(|(state, number)| label("state", state, number)),
        );
        text.one("instep_held_bytes", "gauge", copy.bytes as f64);
        if let Some(reached) = copy.checkpoint {
            text.one("instep_lag_seconds", "gauge", (now - reached.unix_micros() as f64 / 1e6).max(0.0));
        }
        if let Some(free) = copy.free {
            text.one("instep_disk_free_bytes", "gauge", free as f64);
        }
    }

    /// Writes the file. A failure is only logged, because metrics must not end a run.
    fn write_or_warn(&self) {
        if let Err(error) = self.write() {
            tracing::warn!(%error, file = %self.file.display(), "cannot write the metrics file");
        }
    }
}

impl RunCounts {
    fn end(&mut self, exit_code: u8, now: f64) {
        self.ended = Some((now, exit_code));
        if exit_code == Exit::Done.code() {
            self.succeeded = Some(now);
        }
    }

    fn add_traffic(&mut self, host: &str, traffic: &Traffic) {
        let is_known = self.hosts.contains_key(host) || self.hosts.len() < MOST_HOSTS;
        self.hosts.entry(if is_known { host } else { "other" }.to_owned()).or_default().add(traffic);
    }

    fn write(&self, text: &mut Text) {
        if let Some(success) = self.succeeded {
            text.one(LAST_SUCCESS, "gauge", success);
        }
        if let Some(first) = self.first {
            text.one(FIRST_RUN, "gauge", first);
        }
        if let Some((ended, exit_code)) = self.ended {
            text.one("instep_last_run_timestamp_seconds", "gauge", ended);
            text.one("instep_last_run_exit_code", "gauge", exit_code.into());
        }
        text.family(
            "instep_changes_total",
            "counter",
            self.changes.iter().map(|(k, v)| label("change", k, *v)),
        );
        text.family(
            "instep_problems_total",
            "counter",
            self.problems.iter().map(|(k, v)| label("kind", k, *v)),
        );
        text.one("instep_fetch_bytes_total", "counter", self.bytes as f64);
        let mismatches = self.problems.get(ProblemKind::Mismatch.as_str()).copied().unwrap_or_default();
        text.one("instep_integrity_fail_total", "counter", mismatches as f64);
        let leases = self.leases.iter().map(|(topic, left)| label("topic", topic.as_str(), left.as_secs()));
        text.family("instep_websub_lease_seconds", "gauge", leases);
        self.write_hosts(text);
    }

    fn write_hosts(&self, text: &mut Text) {
        let answers = self.hosts.iter().flat_map(|(host, traffic)| {
            let host = ("host", host.clone());
            traffic
                .answers
                .iter()
                .map(move |(code, number)| ([host.clone(), ("code", code.to_string())], *number))
        });
        text.family("instep_fetch_total", "counter", answers);
        let each = |figure: fn(&Traffic) -> u64| {
            self.hosts.iter().map(move |(host, traffic)| label("host", host, figure(traffic)))
        };
        text.family("instep_fetch_errors_total", "counter", each(errors));
        text.family("instep_retry_total", "counter", each(|traffic| traffic.retries));
        text.family("instep_received_bytes_total", "counter", each(|traffic| traffic.bytes));
        text.family("instep_transfers", "gauge", each(|traffic| traffic.transfers as u64));
        text.family("instep_transfers_limit", "gauge", each(|traffic| traffic.most_transfers as u64));
        text.kind("instep_fetch_seconds", "histogram");
        for (host, traffic) in &self.hosts {
            let (label, sum) = (("host", host.as_str()), traffic.waited.as_secs_f64());
            text.histogram("instep_fetch_seconds", label, &Traffic::BOUNDS, &traffic.latencies, sum);
        }
    }
}

/// Writes a new file and renames it, so that no reader sees an incomplete one. A device, such as `/dev/null`, is written
/// and stays.
fn place(file: &Path, text: &[u8]) -> io::Result<()> {
    let found = fs::metadata(file).map(|found| found.file_type()).ok();
    if found.is_some_and(|found| found.is_char_device()) {
        return fs::write(file, text);
    }
    // Such as `/dev/stdout`, also if it leads to a file: root would replace the link for the whole machine.
    let is_descriptor = fs::read_link(file).is_ok_and(|target| target.starts_with("/proc"));
    if is_descriptor || found.is_some_and(|found| !found.is_file()) {
        return Err(io::Error::other("it is neither a file nor a device"));
    }
    let mut beside = file.to_owned().into_os_string();
    beside.push(".new");
    // A killed run can leave one behind. Anybody who may write to the folder can put a link there, which must not be
    // followed.
    let _ = fs::remove_file(&beside);
    fs::File::create_new(&beside)?.write_all(text)?;
    fs::rename(&beside, file)
}

/// Returns the number of requests without an answer or with an error.
fn errors(traffic: &Traffic) -> u64 {
    traffic.answers.iter().filter(|(code, _)| **code == 0 || **code >= 400).map(|(_, number)| number).sum()
}

fn label(name: &'static str, value: &str, number: u64) -> ([(&'static str, String); 1], u64) {
    ([(name, value.to_owned())], number)
}

/// Returns the time of a metric in a file that an earlier process wrote; `None` if it has none.
fn recorded(text: &str, name: &str) -> Option<f64> {
    let value = |line: &str| line.strip_prefix(name)?.rsplit(' ').next()?.parse().ok();
    text.lines().find_map(value)
}

impl Monitor for MetricsMonitor<'_> {
    fn event(&self, event: Event<'_>) {
        let mut counts = self.counts();
        let mut is_due = false;
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
            Event::Traffic { host, traffic } => {
                counts.add_traffic(host, traffic);
                is_due = counts.written.get_or_insert_with(Instant::now).elapsed() >= EVERY;
            }
            Event::Leases(leases) => counts.leases = leases.to_vec(),
            Event::Ended { exit_code } => counts.end(*exit_code, now()),
            // A run that follows writes the file after each round.
            Event::Phase(Phase::Waiting) => is_due = true,
            _ => {}
        }
        drop(counts);
        if is_due {
            self.write_or_warn();
        }
        self.beside.event(event);
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::os::{
        fd::AsRawFd as _,
        unix::{fs::symlink, net::UnixListener},
    };

    use instep_destination::VoidMonitor;

    use super::*;

    /// Writes the metrics of a run to a file.
    fn written_to(file: &Path) -> io::Result<()> {
        MetricsMonitor::new(file.to_owned(), Path::new("nowhere"), &VoidMonitor).end(0)
    }

    #[test]
    fn d47_o1109_a_link_that_was_planted_beside_the_metrics_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [file, planted, other] =
            ["copy.prom", "copy.prom.new", "other"].map(|name| folder.path().join(name));
        fs::write(&other, "of somebody else").unwrap();
        symlink(&other, &planted).unwrap();
        written_to(&file).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "of somebody else");
        assert!(fs::symlink_metadata(&file).unwrap().is_file());
        assert!(fs::read_to_string(&file).unwrap().contains(FIRST_RUN));
        assert!(fs::symlink_metadata(&planted).is_err());
    }

    #[test]
    fn o1110_metrics_replace_no_device_and_nothing_else_that_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let [null, socket] = ["null", "socket"].map(|name| folder.path().join(name));
        symlink("/dev/null", &null).unwrap();
        written_to(&null).unwrap();
        assert!(fs::symlink_metadata(&null).unwrap().is_symlink());
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(written_to(&socket).is_err());
        assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
    }

    #[test]
    fn o1131_metrics_replace_no_link_to_a_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let [output, link] = ["output", "stdout"].map(|name| folder.path().join(name));
        let opened = fs::File::create(&output).unwrap();
        symlink(format!("/proc/self/fd/{}", opened.as_raw_fd()), &link).unwrap();
        assert!(written_to(&link).is_err());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_remaining_time_of_a_lease_is_that_of_the_last_event() {
        let metrics = MetricsMonitor::new(PathBuf::new(), Path::new("nowhere"), &VoidMonitor);
        let lease = |left| [(Uri::parse("http://a/topic").unwrap(), Duration::from_secs(left))];
        let written = || {
            let mut text = Text::about("/srv/copy");
            metrics.counts().write(&mut text);
            text.into_string()
        };
        metrics.event(Event::Leases(&lease(7_200)));
        metrics.event(Event::Leases(&lease(7_100)));
        let text = written();
        assert!(
            text.contains("instep_websub_lease_seconds{copy=\"/srv/copy\",topic=\"http://a/topic\"} 7100\n"),
            "{text}"
        );
        assert_eq!(text.matches("topic=").count(), 1);
        metrics.event(Event::Leases(&[]));
        assert!(!written().contains("topic="));
    }
}
