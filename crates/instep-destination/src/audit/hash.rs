//! Compares held files with their records in the state, on several threads. Repairs use it too.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read},
};

use futures_util::{StreamExt as _, stream::FuturesOrdered};
use rand::Rng as _;
use resourcesync::{Algorithm, Digests, Hasher};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    Error, Verify,
    error::error_chain,
    plan::Selection,
    state::{HeldFile, ReadState},
    store::{CopyStore, PackSpans, StoreError},
};

/// The result of checking one held file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The file has the length and the digests that the state records: nothing is reported.
    Same,
    /// The state records a file, and there is none at its path: it counts as missing, and a repair fetches it again.
    Missing,
    /// The file has other bytes than the state records, for this reason: it counts as different, and a repair fetches
    /// it again.
    Differs(String),
    /// The file could not be read to its end, for this reason: nothing is known of it, and it is reported as a
    /// problem.
    Failed(String),
}

/// The files to hash, and the way to do it.
#[derive(Clone, Debug)]
pub(crate) struct Hashing {
    pub(crate) store: CopyStore,
    pub(crate) verify: Verify,
    /// The part of the files that is hashed, in (0, 1].
    pub(crate) sample: f64,
    /// The selections of the copy's Sources. A file is hashed if one of them wants it, or if there are none.
    pub(crate) selections: Vec<Selection>,
    /// Ends the work, also within a file.
    pub(crate) stop: CancellationToken,
}

/// A file that was checked.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    /// The number of its row in the state.
    pub(crate) id: i64,
    pub(crate) uri: Box<str>,
    pub(crate) verdict: Verdict,
    /// The number of bytes that were read.
    pub(crate) bytes: u64,
}

/// Files that are being hashed, in the order of their URIs. The hashing ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Hashed {
    batches: mpsc::Receiver<Vec<CheckedFile>>,
    task: JoinHandle<Result<bool, Error>>,
    _ends: DropGuard,
}

impl Hashed {
    /// Passes the result of each file to `report`. Returns `true` if all files were checked, `false` if the hashing was
    /// stopped before.
    pub(crate) async fn each(
        mut self,
        report: &mut (dyn FnMut(CheckedFile) -> Result<(), Error> + Send),
    ) -> Result<bool, Error> {
        while let Some(batch) = self.batches.recv().await {
            batch.into_iter().try_for_each(&mut *report)?;
        }
        self.task.await?
    }
}

impl Hashing {
    /// The number of files that are read from the state at a time.
    const PAGE: usize = 1024;
    /// The number of bytes that a thread gets at a time, by the lengths in the state. It is small, so that a few large
    /// files are spread over all threads.
    const BATCH_BYTES: u64 = 1 << 20;
    const BATCH_OF_PARTS: u64 = 16 << 20;
    /// The number of batches in progress for each thread: enough that no thread waits for the next rows.
    const AHEAD: usize = 2;
    /// The most finished batches that wait to be received.
    const WAITING: usize = 32;
    const BUFFER: usize = 128 << 10;

    /// Begins to hash the held files. It pauses while too many results wait to be received.
    pub(crate) fn begin(mut self, mut state: Box<dyn ReadState>) -> Hashed {
        let (sender, batches) = mpsc::channel(Self::WAITING);
        self.stop = self.stop.child_token();
        let ends = self.stop.clone().drop_guard();
        let task = tokio::spawn(async move { self.run(&mut *state, &sender).await });
        Hashed { batches, task, _ends: ends }
    }

    async fn run(
        &self,
        state: &mut dyn ReadState,
        sender: &mpsc::Sender<Vec<CheckedFile>>,
    ) -> Result<bool, Error> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // A request should read as many parts of a pack as possible.
        let most = if self.store.packs().is_some() { Self::BATCH_OF_PARTS } else { Self::BATCH_BYTES };
        let mut after = Some(Box::<str>::default());
        let mut page = VecDeque::new();
        let mut hashing = FuturesOrdered::new();
        loop {
            while hashing.len() < threads * Self::AHEAD {
                while page.is_empty()
                    && let Some(last) = after.take()
                {
                    page = state.files_after(&last, Self::PAGE)?;
                    after = page.back().map(|file: &HeldFile| file.uri.clone());
                    page.retain(|file| self.is_selected(&file.uri));
                }
                if page.is_empty() {
                    break;
                }
                hashing.push_back(self.hash(take_batch(&mut page, most)));
            }
            let Some(looked) = hashing.next().await else { return Ok(true) };
            if sender.send(looked?).await.is_err() || self.stop.is_cancelled() {
                return Ok(false);
            }
        }
    }

    fn is_selected(&self, uri: &str) -> bool {
        self.selections.is_empty() || self.selections.iter().any(|selection| selection.wants_uri(uri))
    }

    fn hash(&self, mut batch: Vec<HeldFile>) -> JoinHandle<Vec<CheckedFile>> {
        if self.sample < 1.0 {
            batch.retain(|_| rand::rng().random_bool(self.sample.clamp(0.0, 1.0)));
        }
        let (store, verify, stop) = (self.store.clone(), self.verify, self.stop.clone());
        tokio::task::spawn_blocking(move || {
            let mut buffer = vec![0; Self::BUFFER];
            let (mut spans, order) = PackSpans::of(batch.iter().map(|file| &file.place));
            let mut verdicts: Vec<Option<(Verdict, u64)>> = batch.iter().map(|_| None).collect();
            for index in order {
                let found = look_at(&store, &mut spans, &batch[index], verify, &stop, &mut buffer);
                // A file that was being read when the work ended has no verdict.
                if stop.is_cancelled() {
                    break;
                }
                verdicts[index] = Some(found);
            }
            // A vector of its own: if it reused the memory of `batch`, a waiting result would keep twice the memory
            // that it needs.
            let mut looked = Vec::with_capacity(batch.len());
            for (file, found) in batch.into_iter().zip(verdicts) {
                looked.extend(found.map(|(verdict, bytes)| CheckedFile {
                    id: file.id,
                    uri: file.uri,
                    verdict,
                    bytes,
                }));
            }
            looked
        })
    }
}

/// Takes files from the front until they have this many bytes, at least one.
fn take_batch(page: &mut VecDeque<HeldFile>, most: u64) -> Vec<HeldFile> {
    let mut bytes = 0_u64;
    let many = page.iter().take_while(|file| {
        let fits = bytes < most;
        bytes = bytes.saturating_add(file.length.unwrap_or(most));
        fits
    });
    let many = many.count();
    page.drain(..many).collect()
}

fn look_at(
    store: &CopyStore,
    spans: &mut PackSpans,
    held: &HeldFile,
    verify: Verify,
    stop: &CancellationToken,
    buffer: &mut [u8],
) -> (Verdict, u64) {
    let file = match store.read_within(spans, &held.path, &held.place) {
        Ok(file) => file,
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return (Verdict::Missing, 0);
        }
        Err(error @ StoreError::Blocked { .. }) => return (Verdict::Differs(error_chain(&error)), 0),
        Err(error) if error.is_damage() => return (Verdict::Differs(error_chain(&error)), 0),
        Err(error) => return (Verdict::Failed(error_chain(&error)), 0),
    };
    match digest(&mut UntilStopped { file, stop }, &held.digests, verify, buffer) {
        Ok((length, _)) if held.length.is_some_and(|expected| expected != length) => {
            let expected = held.length.unwrap_or_default();
            (Verdict::Differs(format!("{length} bytes instead of {expected}")), length)
        }
        Ok((length, found)) => match found.agrees_with(&held.digests) {
            Some(false) => (Verdict::Differs("other bytes".to_owned()), length),
            _ => (Verdict::Same, length),
        },
        Err(error) => (Verdict::Failed(error.to_string()), 0),
    }
}

/// A file that cannot be read further once the work should end, so that a large file is not read to its end.
struct UntilStopped<'a> {
    file: Box<dyn Read + Send>,
    stop: &'a CancellationToken,
}

impl Read for UntilStopped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            Err(io::Error::other("the work ended"))
        } else {
            self.file.read(buffer)
        }
    }
}

fn digest(
    file: &mut dyn Read,
    offered: &Digests,
    verify: Verify,
    buffer: &mut [u8],
) -> io::Result<(u64, Digests)> {
    let algorithms: Vec<Algorithm> = match verify {
        Verify::Strongest => offered.strongest().map(|digest| digest.algorithm.clone()).into_iter().collect(),
        Verify::All => offered.verifiable().map(|digest| digest.algorithm.clone()).collect(),
    };
    let mut hasher = Hasher::new(&algorithms);
    let length = hasher.take_all(file, buffer)?;
    Ok((length, hasher.finish()))
}
