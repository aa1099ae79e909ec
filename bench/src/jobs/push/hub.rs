//! The job `hub`: messages to many WebSub subscribers.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    time::sleep,
};

use super::{Served, memory};
use crate::{Options, measure::BenchReport};

/// The subscriber of this name never answers a delivery.
const DEAD: &str = "dead";
/// Messages a second.
const MESSAGES: u64 = 10;
/// MiB that the server may grow by from the first quarter of the messages on.
const FLAT: f64 = 8.0;

/// The subscribers that confirmed, those that received the expected message, and the time of the last one.
#[derive(Default)]
struct CallbackCounts {
    confirmed: BTreeSet<String>,
    /// The part of a delivery that is waited for.
    awaited: String,
    told: BTreeSet<String>,
    last: Option<SystemTime>,
    deliveries: u64,
}

type SharedCounts = Arc<Mutex<CallbackCounts>>;

/// Measures one message to many subscribers of the hub, one of them dead; then several a second for a while.
pub fn hub(options: &Options, report: &mut BenchReport) -> Result<()> {
    let served = Served::start(10, "50ms")?;
    let shared = SharedCounts::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("| | s |\n|---|---:|");
    runtime.block_on(async {
        let subscribing = subscribe(&served, &shared, options.subscribers).await?;
        println!("| {} subscribers verified | {subscribing:.3} |", options.subscribers);
        let delivery = deliver(&served, &shared, options.subscribers, 0).await?;
        println!("| one message at all of them | {delivery:.3} |");
        report.goal("last delivery after publication, s", delivery, 1.0);
        many(&served, &shared, options, report).await
    })
}

fn lock(shared: &SharedCounts) -> MutexGuard<'_, CallbackCounts> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Subscribes all; returns the seconds until each is verified.
async fn subscribe(served: &Served, shared: &SharedCounts, subscribers: usize) -> Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let desk = Arc::clone(shared);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, Arc::clone(&desk)));
        }
    });
    let began = Instant::now();
    let names: Vec<String> = (0..subscribers).map(|number| number.to_string()).collect();
    let mut asking = tokio::task::JoinSet::new();
    for name in names.iter().map(String::as_str).chain([DEAD]) {
        let topic = format!("{}resourcesync/change-notification", served.url());
        let form = format!("hub.mode=subscribe&hub.topic={topic}&hub.callback=http://{address}/{name}");
        asking.spawn(post(served.port, form));
        while asking.len() >= 32 {
            asking.join_next().await.context("a request")???;
        }
    }
    while let Some(asked) = asking.join_next().await {
        asked??;
    }
    wait_for(shared, |callbacks| callbacks.confirmed.len() == subscribers + 1).await?;
    let subscribing = began.elapsed().as_secs_f64();
    // Confirmations reach the hub's book a moment later than they are sent.
    sleep(Duration::from_secs(1)).await;
    Ok(subscribing)
}

/// Changes a file; returns the seconds from its publication until each subscriber was notified.
async fn deliver(served: &Served, shared: &SharedCounts, subscribers: usize, file: usize) -> Result<f64> {
    {
        let mut counts = lock(shared);
        counts.awaited = super::name(file);
        counts.told.clear();
    }
    served.write(file, "changed")?;
    wait_for(shared, |callbacks| callbacks.told.len() == subscribers).await?;
    let last = lock(shared).last.context("nobody was told")?;
    Ok(last.duration_since(served.published()?)?.as_secs_f64())
}

/// Sends a message every tenth of a second. Messages that are not delivered in time are replaced by newer ones.
async fn many(
    served: &Served,
    shared: &SharedCounts,
    options: &Options,
    report: &mut BenchReport,
) -> Result<()> {
    let messages = options.seconds.max(4) * MESSAGES;
    let (before, began) = (lock(shared).deliveries, Instant::now());
    let mut early = 0.0;
    for message in 0..messages {
        let due = Duration::from_millis(message * 1_000 / MESSAGES);
        sleep(due.saturating_sub(began.elapsed())).await;
        served.write(1 + (message % 8) as usize, &format!("message {message}"))?;
        if message == messages / 4 {
            [early, _] = memory(served.id()?)?;
        }
    }
    let rate = (lock(shared).deliveries - before) as f64 / began.elapsed().as_secs_f64();
    let [late, most] = memory(served.id()?)?;
    let last = deliver(served, shared, options.subscribers, 9).await?;
    println!("| the last of {messages} messages, {MESSAGES} a second, at all of them | {last:.3} |");
    println!(
        "\n{rate:.0} deliveries a second; {early:.1} MiB at a quarter, {late:.1} MiB at the end, peak {most:.1} MiB\n"
    );
    report.number("deliveries", "1/s", rate);
    report.number("peak", "MiB", most);
    report.goal("the last message after its publication, s", last, 1.0);
    report.goal("MiB more than at a quarter", late - early, FLAT);
    Ok(())
}

async fn wait_for(shared: &SharedCounts, is_done: impl Fn(&CallbackCounts) -> bool) -> Result<()> {
    for _ in 0..120_000 {
        if is_done(&lock(shared)) {
            return Ok(());
        }
        sleep(Duration::from_millis(1)).await;
    }
    let callbacks = lock(shared);
    anyhow::bail!("{} confirmed, {} told", callbacks.confirmed.len(), callbacks.told.len())
}

async fn post(port: u16, form: String) -> Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let head = format!(
        "POST /resourcesync/hub HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length:"
    );
    stream.write_all(format!("{head} {}\r\n\r\n{form}", form.len()).as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    ensure!(answer.contains(" 202 "), "{answer}");
    Ok(())
}

async fn converse(stream: TcpStream, shared: SharedCounts) -> Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.to_ascii_lowercase());
        }
        let length = lines.iter().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(Ok(0), |length| length.trim().parse())?;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let target = lines[0].split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
        let (name, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut answer = "";
        if lines[0].starts_with("get") {
            answer =
                query.split('&').find_map(|pair| pair.strip_prefix("hub.challenge=")).unwrap_or_default();
            lock(&shared).confirmed.insert(name.to_owned());
        } else if name == DEAD {
            sleep(Duration::from_secs(60)).await;
        } else {
            let mut callbacks = lock(&shared);
            callbacks.deliveries += 1;
            let is_awaited = String::from_utf8_lossy(&body).contains(&callbacks.awaited);
            if is_awaited && callbacks.told.insert(name.to_owned()) {
                callbacks.last = Some(SystemTime::now());
            }
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
        stream.write_all(answer.as_bytes()).await?;
    }
}
