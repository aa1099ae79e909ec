//! Changes that applications report to a running Source: their rate, their delay in the Change List, and the growth
//! of memory.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use instep_testkit::{Server, free_port};

use crate::{Options, data, measure::BenchReport, programs::instep};

/// Changes a second that are to be sustained.
const GOAL: f64 = 2_000.0;
/// The interval at which two clients send arrays of 1,000, which makes that rate.
const SUSTAINED: Duration = Duration::from_millis(950);
/// The interval at which the Change List is read for the newest change.
const PROBE: Duration = Duration::from_millis(20);

/// The requests of a client.
#[derive(Clone, Copy)]
enum Said {
    /// Resources that only the application has: their number in one request, and the time between two requests.
    Named(usize, Duration),
    /// A file of the Source, rewritten before each request.
    Files,
}

/// Measures clients that report changes for `--seconds`, each over one connection.
pub fn record(options: &Options, report: &mut BenchReport) -> Result<()> {
    println!("| | changes/s | latest in the Change List after s | MiB at a quarter | MiB at the end |");
    println!("|---|---:|---:|---:|---:|");
    let clients = options.clients;
    for (name, clients, said) in [
        (format!("{clients} clients, one change each time"), clients, Said::Named(1, Duration::ZERO)),
        (format!("{clients} clients, one written file each time"), clients, Said::Files),
        ("2 clients, an array of 1,000 each 0.95 s".to_owned(), 2, Said::Named(1_000, SUSTAINED)),
        ("2 clients, arrays of 1,000".to_owned(), 2, Said::Named(1_000, Duration::ZERO)),
    ] {
        let outcome = run(options, clients, said)?;
        let RecordingFigures { rate, late, early_mib, final_mib } = outcome;
        println!("| {name} | {rate:.0} | {late:.2} | {early_mib:.1} | {final_mib:.1} |");
        report.conclude(format!("{name}: {rate:.0} changes/s, at least {GOAL}"), rate >= GOAL);
        report.goal(&format!("{name}: seconds until a change is in the Change List"), late, 1.0);
        report.goal(&format!("{name}: MiB that memory grows"), final_mib - early_mib, 16.0);
    }
    Ok(())
}

struct RecordingFigures {
    rate: f64,
    /// The longest time from the answer to a change until it is in the Change List.
    late: f64,
    early_mib: f64,
    final_mib: f64,
}

fn run(options: &Options, clients: usize, said: Said) -> Result<RecordingFigures> {
    let folder = data::empty("recording")?;
    fs::write(folder.join("first.txt"), "first")?;
    let port = free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let dir = folder.display().to_string();
    let server = Server::start(
        &mut instep(&["serve", &dir, "--listen", &listen, "--no-watch", "--dump", "never", "-q"]),
        port,
    )?;
    let admin = AdminClient::find(&folder)?;
    let (start, length) = (Instant::now(), Duration::from_secs(options.seconds));
    let until = start + length;
    let total = AtomicU64::new(0);
    let (late, early_mib) = thread::scope(|scope| -> Result<_> {
        let workers: Vec<_> = (0..clients)
            .map(|client| {
                let (admin, total, folder) = (&admin, &total, &folder);
                scope.spawn(move || work(admin, folder, client, said, until, total))
            })
            .collect();
        let watcher = scope.spawn(|| watch(&admin, &folder, until));
        thread::sleep(length / 4);
        let early_mib = resident_mib(server.id())?;
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a client ended"))??;
        }
        let late = watcher.join().map_err(|_| anyhow::anyhow!("the watcher ended"))??;
        Ok((late, early_mib))
    })?;
    let rate = total.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    let final_mib = resident_mib(server.id())?;
    drop(server);
    data::remove(&folder)?;
    Ok(RecordingFigures { rate, late, early_mib, final_mib })
}

fn work(
    admin: &AdminClient,
    folder: &Path,
    client: usize,
    said: Said,
    until: Instant,
    total: &AtomicU64,
) -> Result<()> {
    let mut connection = admin.connect()?;
    let mut number = 0_usize;
    while Instant::now() < until {
        let began = Instant::now();
        let body = match said {
            Said::Named(many, _) => {
                let uri =
                    |n: usize| format!(r#"{{"uri":"http://application.example/{client}/{n}","length":{n}}}"#);
                let items: Vec<_> = (number..number + many).map(|n| uri(n % 20_000)).collect();
                number += many;
                format!("[{}]", items.join(","))
            }
            Said::Files => {
                let name = format!("client-{client}-{}.txt", number % 500);
                fs::write(folder.join(&name), format!("number {number}"))?;
                number += 1;
                format!(r#"{{"uri":"{}{name}"}}"#, admin.base)
            }
        };
        connection.post(&body)?;
        let (many, pace) =
            if let Said::Named(many, pace) = said { (many, pace) } else { (1, Duration::ZERO) };
        total.fetch_add(many as u64, Ordering::Relaxed);
        thread::sleep(pace.saturating_sub(began.elapsed()));
    }
    Ok(())
}

/// Reports a separate change again and again, and waits for each in the Change List on disk.
fn watch(admin: &AdminClient, folder: &Path, until: Instant) -> Result<f64> {
    let documents = folder.join(".instep/documents/resourcesync");
    let (mut connection, mut latest, mut number) = (admin.connect()?, Duration::ZERO, 0);
    while Instant::now() < until {
        let marker = format!("http://application.example/marker/{number}.");
        let mut lists = Lists::from_newest(&documents)?;
        connection.post(&format!(r#"{{"uri":"{marker}"}}"#))?;
        let answered = Instant::now();
        while !lists.tell(&marker)? {
            ensure!(answered.elapsed() < Duration::from_secs(30), "{marker} never came");
            thread::sleep(PROBE);
        }
        (latest, number) = (latest.max(answered.elapsed()), number + 1);
    }
    Ok(latest.as_secs_f64())
}

/// The Change Lists from the one on that was the newest; each is read again only when it was written again.
struct Lists {
    folder: PathBuf,
    first: Option<PathBuf>,
    read: BTreeMap<PathBuf, (u64, SystemTime)>,
}

impl Lists {
    fn from_newest(folder: &Path) -> Result<Self> {
        let mut lists = Self { folder: folder.to_owned(), first: None, read: BTreeMap::new() };
        lists.first = lists.paths()?.into_iter().max();
        Ok(lists)
    }

    fn paths(&self) -> Result<Vec<PathBuf>> {
        let is_list = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("changelist-0") && Some(path) >= self.first.as_ref()
        };
        let paths = fs::read_dir(&self.folder)?.filter_map(|entry| Some(entry.ok()?.path()));
        Ok(paths.filter(is_list).collect())
    }

    /// Returns `true` if one of them has this text.
    fn tell(&mut self, marker: &str) -> Result<bool> {
        for path in self.paths()? {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            let written = (metadata.len(), metadata.modified()?);
            if self.read.insert(path.clone(), written) != Some(written)
                && fs::read_to_string(&path)?.contains(marker)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The listener, according to the file in the state.
struct AdminClient {
    address: String,
    token: String,
    base: String,
}

impl AdminClient {
    fn find(folder: &Path) -> Result<Self> {
        let file = folder.join(".instep/admin.json");
        let began = Instant::now();
        while !file.exists() && began.elapsed() < Duration::from_secs(10) {
            thread::sleep(PROBE);
        }
        let text = fs::read_to_string(file)?;
        let field = |name: &str| {
            let rest = text.split(&format!("\"{name}\":\"")).nth(1).context("admin.json")?;
            rest.split('"').next().map(str::to_owned).context("admin.json")
        };
        let list = fs::read_to_string(folder.join(".instep/documents/resourcesync/resourcelist.xml"))?;
        let first = list.split("<loc>").nth(1).and_then(|rest| rest.split("first.txt").next());
        let address = field("url")?.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { address, token: field("token")?, base: first.context("no entry")?.to_owned() })
    }

    fn connect(&self) -> Result<AdminConnection> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST /changes HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n",
            self.address, self.token
        );
        Ok(AdminConnection { stream: BufReader::new(stream), head })
    }
}

/// One connection that is kept open.
struct AdminConnection {
    stream: BufReader<TcpStream>,
    head: String,
}

impl AdminConnection {
    fn post(&mut self, body: &str) -> Result<()> {
        let request = format!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut status, mut length) = (String::new(), String::new(), 0);
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
            if status.is_empty() {
                status.clone_from(&line);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        ensure!(status.contains(" 200 "), "{status}{}", String::from_utf8_lossy(&answer));
        Ok(())
    }
}

fn resident_mib(process: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    Ok(resident.context("no VmRSS")?.trim().parse::<f64>()? / 1024.0)
}
