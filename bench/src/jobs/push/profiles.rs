//! The job `profiles`: Sources that change like arXiv and DBpedia Live.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
use instep_testkit::free_port;
use resourcesync::DateTime;

use super::{memory, quantile};
use crate::{Options, data, measure::BenchReport, programs::instep};

/// A Source that exists, scaled: how many resources it has in full, and how it changes.
struct Profile {
    name: &'static str,
    resources: f64,
    pace: &'static [&'static str],
    changes_a_minute: u64,
}

const PROFILES: [Profile; 2] = [
    // A day is 30 s.
    Profile {
        name: "arxiv",
        resources: 2_400_000.0,
        pace: &["--burst", "2000", "--burst-every", "30s"],
        changes_a_minute: 2_000,
    },
    Profile { name: "dbpedia-live", resources: 3_770_000.0, pace: &["--rate", "2/s"], changes_a_minute: 100 },
];

/// A time that is longer than between two bursts. If no change arrives for so long, no further ones come: several changes
/// of one resource may arrive as one.
const SILENCE: Duration = Duration::from_secs(40);
const MIB: f64 = 1_048_576.0;

/// Measures a baseline of each profile, then its changes as they come.
pub fn profiles(options: &Options, report: &mut BenchReport) -> Result<()> {
    for profile in PROFILES {
        let resources = ((profile.resources * options.scale) as u64).max(1_000).to_string();
        let changes = profile.changes_a_minute * options.minutes;
        let source = Simulated::start(&profile, &resources)?;
        let copy = data::empty("profile-copy")?.display().to_string();
        let baseline = Program::start(&["sync", &source.url(), &copy, "--json"])?.watch(0)?;
        let followed = Program::start(&[
            "sync",
            &source.url(),
            &copy,
            "--json",
            "--delete",
            "--follow",
            "--events",
            "-",
        ])?;
        let followed = followed.watch(changes)?;
        let is_right = audits_clean(&source.url(), &copy)?;
        println!("{} of {resources} resources:\n", profile.name);
        println!("| | s | requests | MiB | peak MiB |\n|---|---:|---:|---:|---:|");
        baseline.row("baseline");
        followed.row(&format!("{} changes followed", followed.lags.len()));
        println!("| the Source | | | | {:.1} |\n", memory(source.child.id())?[1]);
        let [median, most] = [0.5, 1.0].map(|share| quantile(&mut followed.lags.clone(), share));
        println!("From a change to its verified file: median {median:.3} s, at most {most:.3} s.\n");
        report.conclude(format!("changes of {} were heard", profile.name), !followed.lags.is_empty());
        report.conclude(format!("the copy of {} audits clean", profile.name), is_right);
        report.goal(&format!("median of {}, s", profile.name), median, 1.5);
        report.goal(&format!("MiB while following {}", profile.name), followed.peak_mib, 64.0);
    }
    Ok(())
}

/// Audits the copy between two changes. The Source continues to change, so this takes some attempts.
fn audits_clean(url: &str, copy: &str) -> Result<bool> {
    for _ in 0..20 {
        instep(&["sync", url, copy, "--delete", "-q"]).status()?;
        if instep(&["audit", url, copy, "-q"]).status()?.success() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `instep simulate`; ends when dropped.
struct Simulated {
    child: Child,
    port: u16,
}

impl Simulated {
    fn start(profile: &Profile, resources: &str) -> Result<Self> {
        let port = free_port()?;
        let listen = format!("127.0.0.1:{port}");
        let mut command = instep(&["simulate", "--profile", profile.name, "--resources", resources, "-q"]);
        command.args(["--listen", &listen]).args(profile.pace);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let mut source = Self { child, port };
        // Millions of resources take their time until the dump is there.
        while !source.offers_dump() {
            if let Some(status) = source.child.try_wait()? {
                bail!("{command:?} ended: {status}");
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(source)
    }

    fn offers_dump(&self) -> bool {
        let ask = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            let request = "GET /resourcesync/capabilitylist.xml HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes())?;
            std::io::read_to_string(stream)
        };
        ask().is_ok_and(|list: String| list.contains("resourcedump.xml"))
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `instep sync` with JSON output; ends when dropped.
struct Program {
    child: Child,
    lines: mpsc::Receiver<(SystemTime, String)>,
}

/// The figures of a run.
#[derive(Debug, Default)]
struct Ran {
    seconds: f64,
    requests: f64,
    mib: f64,
    peak_mib: f64,
    lags: Vec<f64>,
}

impl Program {
    fn start(arguments: &[&str]) -> Result<Self> {
        let mut command = instep(arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().context("no output")?).lines().map_while(Result::ok);
        thread::spawn(move || {
            output.map(|line| (SystemTime::now(), line)).try_for_each(|line| sender.send(line))
        });
        Ok(Self { child, lines })
    }

    /// Waits for this number of changes, then ends it like an operator; without a number, it ends by itself.
    fn watch(mut self, changes: u64) -> Result<Ran> {
        let mut ran = Ran::default();
        let (mut last, mut is_told) = (Instant::now(), changes == 0);
        loop {
            ran.peak_mib = memory(self.child.id()).map_or(ran.peak_mib, |[_, most]| most);
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok((arrived, line)) => {
                    last = Instant::now();
                    ran.hear(arrived, &line);
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if !is_told && (ran.lags.len() as u64 >= changes || last.elapsed() > SILENCE) {
                is_told = true;
                Command::new("kill").arg(self.child.id().to_string()).status()?;
            }
        }
        self.child.wait()?;
        Ok(ran)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    fn hear(&mut self, arrived: SystemTime, line: &str) {
        let number = |name| field(line, name).and_then(|value| value.parse::<f64>().ok());
        if field(line, "type") == Some("summary") {
            self.seconds = number("seconds").unwrap_or_default();
            self.requests = number("requests").unwrap_or_default();
            self.mib = number("bytes").unwrap_or_default() / MIB;
        } else if let Some(changed) = field(line, "datetime").and_then(|time| DateTime::parse(time).ok()) {
            let arrived = arrived.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            self.lags.push(arrived - changed.unix_micros() as f64 / 1e6);
        }
    }

    fn row(&self, what: &str) {
        let Self { seconds, requests, mib, peak_mib, .. } = self;
        println!("| {what} | {seconds:.1} | {requests:.0} | {mib:.1} | {peak_mib:.1} |");
    }
}

/// Returns the value of a name in a line of JSON without nesting.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
    rest.split([',', '}']).next().map(|value| value.trim_matches('"'))
}
