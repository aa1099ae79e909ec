//! A proxy that adds a round trip to a connection.

use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

/// Hands connections on to another port, each byte so much later: half of the round trip in each direction.
pub fn proxy(port: &str, upstream: &str, round_trip_ms: &str) -> Result<u64> {
    let (port, upstream): (u16, u16) = (port.parse()?, upstream.parse()?);
    let line = Arc::new(DelayLine::open(Duration::from_millis(round_trip_ms.parse::<u64>()?) / 2));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.context("the proxy's port")?;
        loop {
            let (near, _) = listener.accept().await?;
            let line = Arc::clone(&line);
            tokio::spawn(async move {
                let Ok(far) = TcpStream::connect(("127.0.0.1", upstream)).await else { return };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                tokio::join!(carry(near_in, far_out, &line), carry(far_in, near_out, &line));
            });
        }
    })
}

/// Writes each part when its delay is over; reading continues meanwhile.
async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, line: &DelayLine) {
    let (sender, mut due) = unbounded_channel();
    let read = async move {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            line.put(buffer[..read].to_vec(), sender.clone());
        }
    };
    let write = async move {
        while let Some(bytes) = due.recv().await {
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(read, write);
}

/// Bytes on their way, and their destination.
type Piece = (Instant, Vec<u8>, UnboundedSender<Vec<u8>>);

/// Holds everything for the same time. It is a thread: a timer of the runtime is late by a millisecond and more, and a
/// round trip by four.
struct DelayLine {
    delay: Duration,
    pieces: mpsc::Sender<Piece>,
}

impl DelayLine {
    fn open(delay: Duration) -> Self {
        let (pieces, received) = mpsc::channel::<Piece>();
        std::thread::spawn(move || {
            for (due, bytes, out) in received {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                // There is no reader after the connection is closed.
                let _ = out.send(bytes);
            }
        });
        Self { delay, pieces }
    }

    fn put(&self, bytes: Vec<u8>, out: UnboundedSender<Vec<u8>>) {
        // The thread ends with the program.
        let _ = self.pieces.send((Instant::now() + self.delay, bytes, out));
    }
}
