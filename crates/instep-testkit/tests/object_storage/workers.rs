//! Several `instep run` that keep one fleet, with its state in PostgreSQL and the bytes in a bucket: one is killed, one is
//! stopped for longer than its lease, and the database crashes, or fails over, while they work.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use flate2::read::GzDecoder;
use instep_testkit::{FakeSource, Fault, PostgresServer, Run, S3Server, instep, peers, wait_for, wait_until};
use serde_json::Value;
use tempfile::TempDir;

const BUCKET: &str = S3Server::BUCKET;

const FILES: usize = 120;

/// A file of a Source whose first request is kept waiting.
const HELD: &str = "n/00060.txt";

pub(super) fn text(source: &str, number: usize) -> String {
    format!("resource {number} of {source}")
}

/// A fleet, its database and its bucket.
pub(crate) struct SharedFleet {
    database: PostgresServer,
    /// The standby of the database; `None` if it has none.
    standby: Option<PostgresServer>,
    bucket: S3Server,
    psql: PathBuf,
    room: TempDir,
}

/// A process that is killed with this value.
pub(crate) struct Worker(Child);

impl Worker {
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl SharedFleet {
    /// `None` if a peer is missing.
    pub(crate) fn new() -> Option<Self> {
        let [psql] = peers::find(["psql"])?;
        let (database, bucket) = (PostgresServer::start()?, S3Server::moto()?);
        Some(Self { database, standby: None, bucket, psql, room: tempfile::tempdir().unwrap() })
    }

    /// Returns a fleet whose database has a synchronous standby. `None` if a peer is missing.
    fn with_standby() -> Option<Self> {
        let fleet = Self::new()?;
        let standby = fleet.database.synchronous_standby()?;
        Some(Self { standby: Some(standby), ..fleet })
    }

    /// Stops the database as a crash does, and lets its standby take over.
    fn fail_over(&self) {
        self.database.stop_at_once();
        self.standby.iter().for_each(PostgresServer::promote);
    }

    /// Returns the URL of the database, with all its servers.
    fn url(&self) -> String {
        match &self.standby {
            None => self.database.url(),
            Some(standby) => {
                format!(
                    "postgres://instep@127.0.0.1:{},127.0.0.1:{}/copies",
                    self.database.port(),
                    standby.port()
                )
            }
        }
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = instep(words);
        command.args(["--state", &self.url()]).current_dir(self.room.path());
        self.bucket.configure(&mut command);
        command
    }

    /// Adds a Source with its own files.
    fn add(&self, name: &str) -> FakeSource {
        let files = (0..FILES).map(|number| (format!("n/{number:05}.txt"), text(name, number)));
        let source = FakeSource::start().with_resources(files);
        self.add_url(name, &source.capability_list_url());
        source
    }

    pub(crate) fn add_url(&self, name: &str, url: &str) {
        let add = ["source", "add", url, "--name", name, "--every", "1h", "--delete"];
        drop(Run::of(&mut self.command(&add)).with_code(0));
    }

    /// Starts a worker with its own folder. It visits one Source at a time.
    pub(crate) fn work(&self, folder: &str, options: &[&str]) -> Worker {
        let store = format!("s3://{BUCKET}/fleet");
        let mut command = self.command(&["run", "--json", "--runs", "1"]);
        command.args(options);
        command.args(["--listen", "127.0.0.1:0", "--fleet", folder, "--store", &store]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let is_ready = |line: String| serde_json::from_str::<Value>(&line).unwrap()["type"] == "ready";
        assert!(lines.any(is_ready));
        // The output must be read; otherwise the program would wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Worker(child)
    }

    /// Runs a statement with psql, without our code.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let url = format!("{}?target_session_attrs=read-write", self.url());
        let run = Run::of(Command::new(&self.psql).args(["-A", "-t", "-X", "-c", sql, &url]));
        run.stdout.trim().to_owned()
    }

    /// Returns the place of the worker that has a Source, among all that were started.
    pub(crate) fn worker_of(&self, source: &str, workers: &[Worker]) -> usize {
        let sql = format!(
            "SELECT w.name FROM instep_fleet.source s JOIN instep_fleet.worker w ON w.id = s.worker WHERE s.name = '{source}'"
        );
        wait_for(|| {
            let name = self.sql(&sql);
            let is_it = |worker: &Worker| name.starts_with(&format!("process {} on ", worker.0.id()));
            workers.iter().position(is_it).ok_or_else(|| format!("nobody has {source}: {name:?}"))
        })
    }

    pub(crate) fn states(&self) -> Vec<(String, Value)> {
        let listed = Run::of(&mut self.command(&["source", "list", "--json"]));
        let sources = listed.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let sources = sources.filter(|line| line["type"] == "source");
        sources.map(|source| (source["state"].as_str().unwrap().to_owned(), source)).collect()
    }

    /// Waits until the fleet has this number of Sources, all of them in step.
    fn wait_in_step(&self, sources: usize) {
        wait_for(|| {
            let states = self.states();
            let is_so = states.len() == sources && states.iter().all(|(state, _)| state == "in-step");
            if is_so { Ok(()) } else { Err(format!("not every Source is in step: {states:?}")) }
        });
    }

    /// Asserts that the copies equal their Sources, and that no resource was fetched more than twice, nothing placed twice, and
    /// no change recorded twice.
    fn assert_complete(&self, names: &[&str], sources: &[FakeSource]) {
        for (name, source) in names.iter().zip(sources) {
            let truth: Vec<_> = (0..FILES).map(|number| text(name, number)).collect();
            assert_eq!(self.resources(name), truth, "{name}");
            let more =
                source.tally().into_iter().filter(|(path, count)| path.starts_with("n/") && *count > 2);
            assert_eq!(more.count(), 0, "{name}: what was in transfer is fetched once more");
        }
        assert_eq!(
            self.sql("SELECT count(*) FROM instep.pack WHERE dead > 0"),
            "0",
            "nothing was placed twice"
        );
        let looks = self
            .sql("SELECT max(n) FROM (SELECT sum(changed) AS n FROM instep_fleet.look GROUP BY source) AS s");
        assert_eq!(looks, FILES.to_string(), "no change is recorded twice");
    }

    /// Returns the resources of a copy as they are in the bucket, in the order of their URIs.
    pub(super) fn resources(&self, copy: &str) -> Vec<String> {
        let rows = self.sql(&format!(
            "SELECT p.key, h.\"offset\", h.packed FROM instep.held h JOIN instep.copy c ON c.id = h.copy
             JOIN instep.pack p ON p.copy = h.copy AND p.id = h.pack WHERE c.name = '{copy}' ORDER BY h.uri"
        ));
        // Read after the rows, because an object exists before a row refers to it.
        let objects = self.bucket.objects(self.room.path(), &format!("fleet/{copy}/"));
        let resource = |row: &str| {
            let [key, offset, length] = row.split('|').collect::<Vec<_>>()[..] else { panic!("{row}") };
            let (offset, length): (usize, usize) = (offset.parse().unwrap(), length.parse().unwrap());
            let mut record = String::new();
            let part = &objects[key][offset..offset + length];
            GzDecoder::new(part).read_to_string(&mut record).unwrap();
            record.trim_end().rsplit("\r\n\r\n").next().unwrap().to_owned()
        };
        rows.lines().map(resource).collect()
    }
}

#[test]
fn workers_that_are_killed_or_stopped_and_a_database_that_crashes_cost_no_copy_anything() {
    let Some(fleet) = SharedFleet::new() else { return };
    let names = ["a", "b", "c", "d", "e"];
    let sources = names.map(|name| fleet.add(name));
    for held in &sources[..2] {
        held.fail(HELD, [Fault::Hold]);
    }
    let workers =
        ["one", "two", "three"].map(|folder| fleet.work(folder, &["--retries", "0", "--runs-per-host", "1"]));
    for held in &sources[..2] {
        held.wait_for(HELD, 1);
    }
    let [killed, stopped] = ["a", "b"].map(|name| fleet.worker_of(name, &workers));
    workers[killed].signal("-KILL");
    workers[stopped].signal("-STOP");
    fleet.database.stop_at_once();
    fleet.database.begin();

    // The others take over the Sources of the two, and the copies are complete.
    fleet.wait_in_step(names.len());
    // The stopped worker continues a look at a Source that another worker has now. It commits nothing, and registers
    // again.
    workers[stopped].signal("-CONT");
    sources[1].release();
    wait_until("two workers are left", || fleet.sql("SELECT count(*) FROM instep_fleet.worker") == "2");
    let sql = format!(
        "SELECT count(*) FROM instep_fleet.worker WHERE name LIKE 'process {} on %'",
        workers[stopped].0.id()
    );
    assert_eq!(fleet.sql(&sql), "1", "the one that was stopped has registered again");

    fleet.assert_complete(&names, &sources);
    assert_eq!(fleet.sql("SELECT count(*) FROM instep_fleet.source WHERE worker IS NOT NULL"), "0");

    // The fleet continues to follow changes.
    sources[1].put(HELD, "another text");
    drop(Run::of(&mut fleet.command(&["source", "run", "b"])).with_code(0));
    wait_for(|| match fleet.resources("b")[60].as_str() {
        "another text" => Ok(()),
        // A failed look is repeated at its next turn, which is awaited here.
        text => Err(format!("{text:?}: {:?}", fleet.states())),
    });
}

#[test]
fn workers_go_on_with_a_standby_that_takes_over_and_none_of_them_counts_as_dead() {
    let Some(fleet) = SharedFleet::with_standby() else { return };
    let names = ["a", "b", "c", "d", "e"];
    let sources = names.map(|name| fleet.add(name));
    for held in &sources[..2] {
        held.fail(HELD, [Fault::Hold]);
    }
    let _workers =
        ["one", "two"].map(|folder| fleet.work(folder, &["--retries", "0", "--runs-per-host", "1"]));
    for held in &sources[..2] {
        held.wait_for(HELD, 1);
    }
    let workers = || fleet.sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM instep_fleet.worker");
    let before = workers();
    assert_eq!(before.split(' ').count(), 2, "{before}");
    fleet.fail_over();
    sources[..2].iter().for_each(FakeSource::release);
    fleet.wait_in_step(names.len());
    fleet.assert_complete(&names, &sources);
    assert_eq!(workers(), before);
}

#[test]
fn o302_a_copy_in_a_bucket_is_shown_where_it_is() {
    let Some(fleet) = SharedFleet::new() else { return };
    let source = FakeSource::start().with_resources([("a.txt", "a")]);
    fleet.add_url("a", &source.capability_list_url());
    let shown = || Run::of(&mut fleet.command(&["source", "show", "a"])).with_code(0).stdout;
    assert!(shown().contains("Copy        none yet"), "{}", shown());
    let _worker = fleet.work("one", &[]);
    wait_until("it is in step", || fleet.states().iter().all(|(state, _)| state == "in-step"));
    assert!(shown().contains(&format!("Copy        s3://{BUCKET}/fleet/a\n")), "{}", shown());
}
