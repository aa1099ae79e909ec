//! The listener of a running `serve`, asked over HTTP.

use std::{
    fs,
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use instep_source::{catalogue::Recorded, serve::ADMIN_FILE};
use resourcesync::{Change, Uri};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

/// How long an answer may take: longer than the server gives itself.
const PATIENCE: Duration = Duration::from_secs(70);
/// The same for a compaction.
const COMPACTION: Duration = Duration::from_secs(1_860);

/// Where a running `serve` listens, and what it asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct Listener {
    url: Option<String>,
    socket: Option<PathBuf>,
    token: String,
}

/// What the listener says it has recorded.
#[derive(Deserialize)]
struct Answer {
    sequence: u64,
    created: u64,
    updated: u64,
    deleted: u64,
}

/// What it has dropped, and the bytes of the catalogue before and after.
#[derive(Deserialize)]
pub(crate) struct Compacted {
    pub(crate) forgotten: u64,
    pub(crate) before: u64,
    pub(crate) after: u64,
}

impl Listener {
    /// The one that a state folder names and that answers; none where a killed server left the name behind.
    pub(crate) fn find(state: &Path) -> anyhow::Result<Option<Self>> {
        let path = state.join(ADMIN_FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("Cannot read {}", path.display()))?,
        };
        let listener: Self =
            serde_json::from_slice(&text).with_context(|| format!("{} is not ours", path.display()))?;
        Ok(listener.connect(PATIENCE).is_ok().then_some(listener))
    }

    /// Says a change of some resources; they are recorded when this returns.
    pub(crate) fn tell(&self, change: &Change, uris: &[Uri]) -> anyhow::Result<Recorded> {
        let item = |uri: &Uri| json!({ "uri": uri.as_str(), "change": change.as_str() });
        let body = serde_json::to_vec(&uris.iter().map(item).collect::<Vec<_>>())?;
        let answer: Answer = self.ask("/changes", &body, PATIENCE)?;
        let mut recorded = Recorded::default();
        recorded.sequence = answer.sequence;
        (recorded.created, recorded.updated, recorded.deleted) =
            (answer.created, answer.updated, answer.deleted);
        Ok(recorded)
    }

    /// Has it drop history, and wait until its space is given back.
    pub(crate) fn compact(&self) -> anyhow::Result<Compacted> {
        self.ask("/compact", b"", COMPACTION)
    }

    fn ask<T: DeserializeOwned>(&self, path: &str, body: &[u8], patience: Duration) -> anyhow::Result<T> {
        let answer = self.post(path, body, patience).context("The running server does not answer")?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).unwrap_or_default();
        if status != "200" {
            bail!("The running server refuses: {status} {body}");
        }
        serde_json::from_str(body).context("The running server answers nonsense")
    }

    fn post(&self, path: &str, body: &[u8], patience: Duration) -> io::Result<String> {
        let mut stream = self.connect(patience)?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.token,
            body.len()
        )?;
        stream.write_all(body)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    fn connect(&self, patience: Duration) -> io::Result<Box<dyn Stream>> {
        if let Some(socket) = &self.socket {
            let stream = UnixStream::connect(socket)?;
            stream.set_read_timeout(Some(patience))?;
            return Ok(Box::new(stream));
        }
        let url = self.url.as_deref().unwrap_or_default();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Box::new(stream))
    }
}

trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}
