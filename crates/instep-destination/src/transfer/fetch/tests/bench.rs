//! A Source that misbehaves, and a fetcher that fetches from it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use instep_net::{Client, HttpOptions, Scope};
use instep_testkit::FakeSource;
use resourcesync::{Algorithm, Digests, Hasher, Uri};

use crate::{
    Verify,
    store::{FolderOptions, FolderStore, StagingArea},
    transfer::fetch::{FetchError, FetchOutcome, Fetcher, PartSizes, Task},
};

/// The size from which on a resource is fetched in parts.
pub(super) const PARTS_FROM: u64 = 3_500_000;

/// A Source, and a fetcher that stages in a folder of its own.
pub(super) struct Bench {
    pub(super) source: FakeSource,
    pub(super) folder: tempfile::TempDir,
    pub(super) fetcher: Fetcher,
}

pub(super) fn uri(text: impl AsRef<str>) -> Uri {
    Uri::parse(text.as_ref()).unwrap()
}

pub(super) fn sha256(bytes: &[u8]) -> Digests {
    let mut hasher = Hasher::new([&Algorithm::Sha256]);
    hasher.update(bytes);
    hasher.finish()
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut HttpOptions)) -> Self {
        let source = FakeSource::start();
        let mut options = HttpOptions::new(Scope::for_source(&source.url("")).unwrap());
        options.backoff = Duration::from_millis(1);
        change(&mut options);
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn StagingArea> =
            Arc::new(FolderStore::open(folder.path(), FolderOptions::new()).unwrap());
        let parts = PartSizes::new(PARTS_FROM, 400_000);
        let fetcher = Fetcher::with_parts(Client::new(options).unwrap(), store, Verify::Strongest, parts);
        Self { source, folder, fetcher }
    }

    pub(super) fn task(&self, path: &str) -> Task<()> {
        Task::new(uri(self.source.url(path)), ())
    }

    /// Returns a task that expects these bytes.
    pub(super) fn expecting(&self, path: &str, body: &[u8]) -> Task<()> {
        let mut task = self.task(path);
        task.expected.length = Some(body.len() as u64);
        task.expected.digests = sha256(body);
        task
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.folder.path().join(".instep/staging")
    }

    pub(super) fn staged_files(&self) -> usize {
        std::fs::read_dir(self.staging()).unwrap().count()
    }

    /// Returns the bytes that were staged for a task.
    pub(super) async fn bytes(&self, task: &Task<()>) -> Vec<u8> {
        match self.fetcher.fetch(task).await {
            FetchOutcome::Staged(arrival) => {
                let bytes = std::fs::read(self.staging().join(arrival.staged.name.to_string())).unwrap();
                assert_eq!(bytes.len() as u64, arrival.staged.length);
                bytes
            }
            other => panic!("not staged: {other:?}"),
        }
    }

    pub(super) async fn error(&self, task: &Task<()>) -> FetchError {
        match self.fetcher.fetch(task).await {
            FetchOutcome::Failed(error) => error,
            other => panic!("no error: {other:?}"),
        }
    }
}

/// Returns a body that is large enough to arrive in several pieces.
pub(super) fn large() -> Vec<u8> {
    (0..3_000_000_u32).map(|number| (number % 251) as u8).collect()
}

/// Answers each connection with the next of these texts; the last one serves all that follow.
pub(super) fn raw_server(answers: Vec<&'static str>) -> String {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut answers = answers.into_iter().peekable();
        let mut answer = "";
        for mut stream in listener.incoming().flatten() {
            answer = answers.next().unwrap_or(answer);
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}
