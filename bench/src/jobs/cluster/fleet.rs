//! A fleet that is kept in PostgreSQL and in object storage, and its workers.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use instep_testkit::{PostgresServer, S3Server, Server, free_port, peers};
use serde_json::Value;

use super::processes;
use crate::{
    Options, data,
    limits::sources::address,
    programs::{self, instep},
};

/// The round trip to each Source, in milliseconds.
pub const NEAR: u32 = 20;

/// Parallel looks of each worker: more would need more connections than the database allows.
const RUNS: usize = 12;

/// Longer than anything that is waited for.
const LONGEST: Duration = Duration::from_secs(3_600);

/// A fleet without workers.
pub struct BenchFleet {
    pub database: PostgresServer,
    bucket: S3Server,
    _sources: Server,
    /// The port of the Sources.
    pub port: u16,
    number: usize,
}

/// A worker, ended with this value.
pub struct BenchWorker {
    child: Child,
    pub port: u16,
}

/// Work that was done.
#[derive(Clone, Copy)]
pub struct FleetWork {
    pub seconds: f64,
    /// CPU of all processes of the database.
    pub engine: f64,
}

impl BenchFleet {
    /// Adds Sources to a new fleet, all of them due, with a round trip of so many milliseconds to each.
    pub fn new((number, resources): (usize, usize), milliseconds: u32) -> Result<Self> {
        let database = PostgresServer::start().context("PostgreSQL is missing")?;
        let bucket = programs::object_storage()?;
        let port = free_port()?;
        let mut serve = Command::new(std::env::current_exe()?);
        serve.args([
            "limit",
            "sources",
            &port.to_string(),
            &resources.to_string(),
            &milliseconds.to_string(),
        ]);
        let sources = Server::start(&mut serve, port)?;
        let fleet = Self { database, bucket, _sources: sources, port, number };
        let list = data::scratch()?.join("sources.csv");
        let mut lines = "name,url\n".to_owned();
        for source in 0..number {
            lines.push_str(&format!("{},{}\n", name(source), url(source, port)));
        }
        fs::write(&list, lines)?;
        let mut import = instep(&["source", "import", &list.display().to_string(), "-q"]);
        import.args(["--state", &fleet.database.url()]);
        let output = import.output()?;
        ensure!(output.status.success(), "import: {}", String::from_utf8_lossy(&output.stderr));
        Ok(fleet)
    }

    /// Starts workers and waits until each Source was visited.
    pub fn work(&self, workers: usize, options: &Options) -> Result<(FleetWork, Vec<BenchWorker>)> {
        data::empty("workers")?;
        let engine = processes::seconds_of_all(self.database.id())?;
        let (began, (sender, ended)) = (Instant::now(), channel());
        let mut started = Vec::new();
        for worker in 0..workers {
            started.push(self.worker(worker, options, &sender)?);
        }
        self.wait(&mut started, &ended)?;
        let seconds = began.elapsed().as_secs_f64();
        let engine = processes::seconds_of_all(self.database.id())? - engine;
        Ok((FleetWork { seconds, engine }, started))
    }

    /// Starts a worker, whose lines arrive with its number.
    pub fn worker(
        &self,
        worker: usize,
        options: &Options,
        sender: &Sender<(usize, String)>,
    ) -> Result<BenchWorker> {
        let folder = data::folder("workers")?.join(worker.to_string());
        let mut command =
            self.command(&["run", "--json", "--listen", "127.0.0.1:0", "--state", &self.database.url()]);
        command.args(["--store", &store(), "--fleet", &folder.display().to_string()]);
        command.args(["--runs", &RUNS.to_string(), "--transfers", &options.transfers.to_string()]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = child.stdout.take().context("no output")?;
        let sender = sender.clone();
        // Read to the end, or the worker would wait for a reader.
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        thread::spawn(move || lines.for_each(|line| drop(sender.send((worker, line)))));
        Ok(BenchWorker { child, port: 0 })
    }

    /// Returns a command that reaches the object storage.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = instep(arguments);
        self.bucket.configure(&mut command);
        command
    }

    /// Returns the places of the state and of the bytes of a copy.
    pub fn places(&self, source: usize) -> [String; 2] {
        let name = name(source);
        [format!("{}?copy={name}", self.database.url()), format!("{}/{name}", store())]
    }

    /// Waits until each Source is in step, and takes the ports of the dashboards.
    fn wait(&self, workers: &mut [BenchWorker], lines: &Receiver<(usize, String)>) -> Result<()> {
        let mut left: std::collections::BTreeSet<_> = (0..self.number).map(name).collect();
        while !left.is_empty() || workers.iter().any(|worker| worker.port == 0) {
            let (worker, line) = lines.recv_timeout(LONGEST).context("the workers say nothing more")?;
            let line: Value = serde_json::from_str(&line)?;
            match line["type"].as_str().unwrap_or_default() {
                "ready" => {
                    let url = line["url"].as_str().unwrap_or_default().trim_end_matches('/');
                    let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
                    workers[worker].port = port.with_context(|| format!("no port in {line}"))?;
                }
                "look" if line["state"] == "in-step" => {
                    left.remove(line["source"].as_str().unwrap_or_default());
                }
                "look" => bail!("a look failed: {line}"),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the mean and the longest time between which a Source was due and its look began, in seconds.
    pub fn waits(&self) -> Result<[f64; 2]> {
        let [psql] = peers::find(["psql"]).context("psql is missing")?;
        let sql = "SELECT avg(began - added), max(began - added) FROM instep_fleet.source";
        let output = Command::new(psql).args(["-A", "-t", "-X", "-c", sql, &self.database.url()]).output()?;
        ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        let (mean, most) = text.trim().split_once('|').context("no waits")?;
        Ok([mean.parse()?, most.parse()?])
    }
}

impl BenchWorker {
    /// Returns the seconds of CPU that it has taken.
    pub fn cpu(&self) -> Result<f64> {
        processes::seconds(self.child.id())
    }

    /// Fetches a page of its dashboard, and returns the milliseconds that it took.
    pub fn page(&self, target: &str) -> Result<f64> {
        let began = Instant::now();
        get(self.port, target)?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }
}

impl Drop for BenchWorker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the answer of a server on this machine.
pub fn get(port: u16, target: &str) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    let head = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n");
    stream.write_all(format!("{head}Accept: text/html\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    ensure!(answer.starts_with("HTTP/1.1 200 "), "{target}: {:.80}", answer);
    Ok(answer.into_owned())
}

/// Returns the place of the bytes of the fleet.
fn store() -> String {
    format!("s3://{}/fleet", S3Server::BUCKET)
}

/// Returns the URL of a Source.
pub fn url(source: usize, port: u16) -> String {
    format!("http://{}:{port}/capabilitylist.xml", address(source))
}

/// Returns the name of a Source.
pub fn name(number: usize) -> String {
    format!("s{number:06}")
}
