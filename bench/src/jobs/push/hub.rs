//! The job `hub`: one message to many WebSub subscribers.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    time::sleep,
};

use super::Served;
use crate::{Options, measure::BenchReport};

const SUBSCRIBERS: usize = 500;
/// The subscriber of this name never answers a delivery.
const DEAD: &str = "dead";

/// The subscribers that confirmed, those that received a delivery, and the time of the last one.
#[derive(Default)]
struct CallbackCounts {
    confirmed: BTreeSet<String>,
    told: BTreeSet<String>,
    last: Option<SystemTime>,
}

type SharedCounts = Arc<Mutex<CallbackCounts>>;

/// One message to many subscribers of the hub, one of them dead.
pub fn hub(_: &Options, report: &mut BenchReport) -> Result<()> {
    let served = Served::start(10, "50ms")?;
    let shared = SharedCounts::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (subscribing, delivery) = runtime.block_on(deliver(&served, &shared))?;
    println!("| | s |\n|---|---:|");
    println!("| {SUBSCRIBERS} subscribers verified | {subscribing:.3} |");
    println!("| one message at all of them | {delivery:.3} |");
    report.goal("last delivery after publication, s", delivery, 1.0);
    Ok(())
}

async fn deliver(served: &Served, shared: &SharedCounts) -> Result<(f64, f64)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let desk = Arc::clone(shared);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, Arc::clone(&desk)));
        }
    });
    let began = Instant::now();
    let names: Vec<String> = (0..SUBSCRIBERS).map(|number| number.to_string()).collect();
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
    wait_for(shared, |callbacks| callbacks.confirmed.len() == SUBSCRIBERS + 1).await?;
    let subscribing = began.elapsed().as_secs_f64();
    // Confirmations reach the hub's book a moment later than they are sent.
    sleep(Duration::from_secs(1)).await;
    served.write(0, "changed")?;
    wait_for(shared, |callbacks| callbacks.told.len() == SUBSCRIBERS).await?;
    let last = shared.lock().unwrap_or_else(PoisonError::into_inner).last.context("nobody was told")?;
    Ok((subscribing, last.duration_since(served.published()?)?.as_secs_f64()))
}

async fn wait_for(shared: &SharedCounts, is_done: impl Fn(&CallbackCounts) -> bool) -> Result<()> {
    for _ in 0..60_000 {
        if is_done(&shared.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        sleep(Duration::from_millis(1)).await;
    }
    let callbacks = shared.lock().unwrap_or_else(PoisonError::into_inner);
    anyhow::bail!("{} confirmed, {} told", callbacks.confirmed.len(), callbacks.told.len())
}

async fn post(port: u16, form: String) -> Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let head = "POST /resourcesync/hub HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
        Content-Type: application/x-www-form-urlencoded\r\nContent-Length:";
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
        stream.read_exact(&mut vec![0; length]).await?;
        let target = lines[0].split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
        let (name, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut answer = "";
        if lines[0].starts_with("get") {
            answer =
                query.split('&').find_map(|pair| pair.strip_prefix("hub.challenge=")).unwrap_or_default();
            shared.lock().unwrap_or_else(PoisonError::into_inner).confirmed.insert(name.to_owned());
        } else if name == DEAD {
            sleep(Duration::from_secs(60)).await;
        } else {
            let mut callbacks = shared.lock().unwrap_or_else(PoisonError::into_inner);
            callbacks.told.insert(name.to_owned());
            callbacks.last = Some(SystemTime::now());
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
        stream.write_all(answer.as_bytes()).await?;
    }
}
