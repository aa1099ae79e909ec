//! The job `channels`: many WebSockets at one Source.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::{interval, sleep},
};

use super::{Served, memory, quantile};
use crate::{Options, measure::BenchReport};

const SUBSCRIBERS: usize = 1_000;
const CHANGES_A_SECOND: u64 = 100;
const SECONDS: u64 = 20;

/// A message by its `until`: the time at which its list was written, and the times at which the subscribers received
/// it.
type Arrivals = Arc<Mutex<BTreeMap<String, (SystemTime, Vec<SystemTime>)>>>;

/// Measures messages to many WebSockets on one channel.
pub fn channels(_: &Options, report: &mut BenchReport) -> Result<()> {
    let served = Arc::new(Served::start(2_000, "1s")?);
    let arrivals = Arrivals::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(fan_out(Arc::clone(&served), Arc::clone(&arrivals)))?;
    let [_, peak] = memory(served.id()?)?;
    let arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    let complete = arrivals.values().filter(|(_, at)| at.len() == SUBSCRIBERS).count();
    let delay = |published: &SystemTime, at: &SystemTime| {
        at.duration_since(*published).unwrap_or_default().as_secs_f64() * 1_000.0
    };
    let mut delays: Vec<f64> =
        arrivals.values().flat_map(|(published, at)| at.iter().map(|at| delay(published, at))).collect();
    let [half, most] = [0.5, 0.99].map(|share| quantile(&mut delays, share));
    println!("| messages | deliveries | median ms | p99 ms | peak MiB |\n|---:|---:|---:|---:|---:|");
    println!("| {} | {} | {half:.1} | {most:.1} | {peak:.1} |", arrivals.len(), delays.len());
    report.distribution(&format!("{SUBSCRIBERS} WebSockets"), "ms", &delays);
    report.conclude(
        format!("every one of {} messages at every subscriber: {complete}", arrivals.len()),
        complete == arrivals.len() && complete as u64 >= SECONDS / 2,
    );
    report.goal("p99 after publication, ms", most, 100.0);
    report.goal("peak MiB of the server", peak, 100.0);
    Ok(())
}

async fn fan_out(served: Arc<Served>, arrivals: Arrivals) -> Result<()> {
    let mut listening = Vec::new();
    for _ in 0..SUBSCRIBERS {
        let stream = open(&served).await?;
        listening.push(tokio::spawn(listen(stream, Arc::clone(&served), Arc::clone(&arrivals))));
    }
    let mut clock = interval(Duration::from_micros(1_000_000 / CHANGES_A_SECOND));
    for change in 0..SECONDS * CHANGES_A_SECOND {
        clock.tick().await;
        served.write(change as usize % 2_000, &format!("change {change}"))?;
    }
    sleep(Duration::from_secs(3)).await;
    let ended = listening.iter().filter(|task| task.is_finished()).count();
    listening.iter().for_each(tokio::task::JoinHandle::abort);
    ensure!(ended == 0, "{ended} subscribers were dropped");
    Ok(())
}

async fn open(served: &Served) -> Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).await?;
    let request = format!(
        "GET /resourcesync/change-notification HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        served.port
    );
    stream.write_all(request.as_bytes()).await?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    ensure!(line.contains(" 101 "), "{line}");
    while line.trim() != "" {
        line.clear();
        stream.read_line(&mut line).await?;
    }
    Ok(stream)
}

/// Reads frames: those of a server are not masked.
async fn listen(mut stream: BufReader<TcpStream>, served: Arc<Served>, arrivals: Arrivals) -> Result<()> {
    const PING: u8 = 9;
    const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];
    loop {
        let [kind, length] = [stream.read_u8().await? & 0x0f, stream.read_u8().await?];
        let length = match length {
            126 => stream.read_u16().await?.into(),
            127 => stream.read_u64().await?,
            length => length.into(),
        };
        let mut body = vec![0; usize::try_from(length)?];
        stream.read_exact(&mut body).await?;
        let now = SystemTime::now();
        if kind == PING {
            stream.write_all(&PONG).await?;
            continue;
        }
        let text = String::from_utf8(body)?;
        let until = text.split_once("until=\"").and_then(|(_, rest)| rest.split_once('"'));
        let until = until.context("a message without until")?.0.to_owned();
        let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        if !arrivals.contains_key(&until) {
            arrivals.insert(until.clone(), (served.published()?, Vec::with_capacity(SUBSCRIBERS)));
        }
        arrivals.get_mut(&until).context("just put there")?.1.push(now);
    }
}
