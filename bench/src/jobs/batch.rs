//! Many small resources in one answer, beside a request for each, over a line with a round trip.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use instep_testkit::{Server, free_port};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, tcp},
    sync::mpsc,
    time::sleep_until,
};

use crate::{
    Options, data,
    measure::{BenchReport, Contender, Sample, time, wall},
    programs::instep,
};

/// Half of the simulated round trip: each direction waits so long.
const ONE_WAY: Duration = Duration::from_millis(10);
/// Requests in flight, of those who ask for one resource each time.
const CONCURRENCY: usize = 16;

/// Measures requests for `--batch` resources, one by one and all at once.
pub fn batch(options: &Options, report: &mut BenchReport) -> Result<()> {
    let files = data::small_files(options.batch)?;
    for document in ["resourcesync", ".well-known", ".instep"] {
        data::remove(&files.join(document))?;
    }
    let (port, line) = (free_port()?, free_port()?);
    let (listen, base) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{line}/"));
    let dir = files.display().to_string();
    let arguments = ["serve", &dir, "--listen", &listen, "--base-url", &base, "--dump", "never", "-q"];
    let _server = Server::start(&mut instep(&arguments), port)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let far = runtime.block_on(TcpListener::bind(("127.0.0.1", line)))?;
    runtime.spawn(delay(far, port));
    let paths: Vec<String> =
        (0..options.batch).map(|number| format!("d{:04}/f{number:07}.txt", number / 100)).collect();
    let uris: Vec<String> = paths.iter().map(|path| format!("\"{base}{path}\"")).collect();
    let request = format!("[{}]", uris.join(","));
    let copy = data::folder("copy")?.display().to_string();
    let fresh = || data::empty("copy").map(drop);
    report.compare(
        options.rounds.min(3),
        vec![
            Contender::new("one batch", || Ok(()), || sample(|| at_once(line, &request))),
            Contender::new("GETs, 16 at a time", || Ok(()), || sample(|| one_by_one(line, &paths))),
            Contender::new("instep sync --via batch", fresh, || {
                time(&mut instep(&["sync", &base, &copy, "--via", "batch", "-q"]))
            }),
        ],
    )?;
    report.times_faster("one batch", "GETs, 16 at a time", wall, 20.0, "wall");
    Ok(())
}

fn sample(work: impl FnOnce() -> Result<()>) -> Result<Sample> {
    let start = Instant::now();
    work()?;
    Ok(Sample { wall: start.elapsed().as_secs_f64(), ..Sample::default() })
}

fn at_once(port: u16, request: &str) -> Result<()> {
    let mut connection = BatchConnection::open(port)?;
    let head = format!(
        "POST /resourcesync/batch HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {}",
        request.len()
    );
    let answer = connection.ask(&format!("{head}\r\nConnection: close\r\n\r\n{request}"))?;
    ensure!(answer.starts_with(b"PK") && answer.len() > request.len(), "no package");
    Ok(())
}

fn one_by_one(port: u16, paths: &[String]) -> Result<()> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..CONCURRENCY)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut connection = BatchConnection::open(port)?;
                    while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let request = format!("GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
                        let body = connection.ask(&request)?;
                        ensure!(!body.is_empty(), "{path} is empty");
                    }
                    Ok(())
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a worker ended"))?)
    })
}

struct BatchConnection(BufReader<TcpStream>);

impl BatchConnection {
    fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Returns the body of the answer, which has a length or ends with the connection.
    fn ask(&mut self, request: &str) -> Result<Vec<u8>> {
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut status, mut length) = (String::new(), String::new(), None);
        loop {
            line.clear();
            ensure!(self.0.read_line(&mut line)? > 0, "the server closed the connection");
            if status.is_empty() {
                status.clone_from(&line);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>().context("content-length")?);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        ensure!(status.contains(" 200 "), "{status}");
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.0.read_exact(&mut body)?;
            }
            None => drop(self.0.read_to_end(&mut body)?),
        }
        Ok(body)
    }
}

/// Passes connections on to the server on `port`, each byte later by [`ONE_WAY`], however many are on their way.
async fn delay(listener: TcpListener, port: u16) {
    while let Ok((near, _)) = listener.accept().await {
        tokio::spawn(async move {
            let Ok(far) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await else { return };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            tokio::join!(pump(near_in, far_out), pump(far_in, near_out));
        });
    }
}

async fn pump(mut from: tcp::OwnedReadHalf, mut to: tcp::OwnedWriteHalf) {
    let (sender, mut receiver) = mpsc::channel::<(tokio::time::Instant, Vec<u8>)>(4_096);
    let read = async move {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let due = tokio::time::Instant::now() + ONE_WAY;
            if sender.send((due, buffer[..length].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let write = async move {
        while let Some((due, bytes)) = receiver.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
