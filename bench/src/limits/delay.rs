use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// Hands connections on to another port, each byte so much later: half of the round trip in each direction.
pub fn proxy(port: &str, upstream: &str, round_trip_ms: &str) -> Result<u64> {
    let (port, upstream): (u16, u16) = (port.parse()?, upstream.parse()?);
    let delay = Duration::from_millis(round_trip_ms.parse::<u64>()?) / 2;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.context("the proxy's port")?;
        loop {
            let (near, _) = listener.accept().await?;
            tokio::spawn(async move {
                let Ok(far) = TcpStream::connect(("127.0.0.1", upstream)).await else { return };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                tokio::join!(carry(near_in, far_out, delay), carry(far_in, near_out, delay));
            });
        }
    })
}

/// What is read now is written after the delay; reading goes on meanwhile.
async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, delay: Duration) {
    let (sender, mut line) = mpsc::channel::<(Instant, Vec<u8>)>(1_024);
    let read = async move {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let due = Instant::now() + delay;
            if sender.send((due, buffer[..read].to_vec())).await.is_err() {
                break;
            }
        }
    };
    let write = async move {
        while let Some((due, bytes)) = line.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(read, write);
}
