//! Held files against what the state says of them, several at a time.

use std::{
    io::{self, ErrorKind, Read},
    sync::Arc,
};

use futures_util::{StreamExt as _, stream::FuturesOrdered};
use rand::Rng as _;
use resourcesync::{Algorithm, Digests, Hasher};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Verify,
    error::story,
    state::{Held, State},
    store::{Store, StoreError},
};

/// What a held file turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// What the state says.
    Same,
    /// Nothing.
    Missing,
    /// Something else.
    Differs(String),
    /// Nobody can tell.
    Failed(String),
}

/// Which files are hashed, and how.
#[derive(Clone, Debug)]
pub(crate) struct Hashing {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) verify: Verify,
    /// The part of them, in (0, 1].
    pub(crate) sample: f64,
    pub(crate) shutdown: CancellationToken,
}

impl Hashing {
    /// Files read from the state and given to a thread at a time.
    const BATCH: usize = 64;
    /// Batches under way for each thread: so many that none waits for the next rows.
    const AHEAD: usize = 4;
    const BUFFER: usize = 128 << 10;

    /// Hashes what is held. Whether it came to the end.
    pub(crate) async fn run(
        &self,
        state: &mut State,
        each: &mut (dyn FnMut(&Held, Verdict, u64) -> Result<(), Error> + Send),
    ) -> Result<bool, Error> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut after = Some(String::new());
        let mut hashing = FuturesOrdered::new();
        loop {
            while hashing.len() < threads * Self::AHEAD
                && let Some(last) = after.take()
            {
                let mut batch = state.held_after(Some(&last), Self::BATCH)?;
                after = batch.last().map(|held| held.uri.as_str().to_owned());
                if self.sample < 1.0 {
                    batch.retain(|_| rand::rng().random_bool(self.sample.clamp(0.0, 1.0)));
                }
                hashing.push_back(self.hash(batch));
            }
            let Some(hashed) = hashing.next().await else { return Ok(true) };
            for (held, verdict, bytes) in hashed? {
                each(&held, verdict, bytes)?;
            }
            if self.shutdown.is_cancelled() {
                return Ok(false);
            }
        }
    }

    fn hash(&self, batch: Vec<Held>) -> JoinHandle<Vec<(Held, Verdict, u64)>> {
        let (store, verify) = (Arc::clone(&self.store), self.verify);
        tokio::task::spawn_blocking(move || {
            let mut buffer = vec![0; Self::BUFFER];
            let look = |held: Held| {
                let (verdict, bytes) = look_at(&*store, &held, verify, &mut buffer);
                (held, verdict, bytes)
            };
            batch.into_iter().map(look).collect()
        })
    }
}

fn look_at(store: &dyn Store, held: &Held, verify: Verify, buffer: &mut [u8]) -> (Verdict, u64) {
    let mut file = match store.read(&held.path) {
        Ok(file) => file,
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return (Verdict::Missing, 0);
        }
        Err(error @ StoreError::Blocked { .. }) => return (Verdict::Differs(story(&error)), 0),
        Err(error) => return (Verdict::Failed(story(&error)), 0),
    };
    match digest(&mut *file, &held.facts.digests, verify, buffer) {
        Ok((length, _)) if held.facts.length.is_some_and(|expected| expected != length) => {
            let expected = held.facts.length.unwrap_or_default();
            (Verdict::Differs(format!("{length} bytes instead of {expected}")), length)
        }
        Ok((length, found)) => match found.agrees_with(&held.facts.digests) {
            Some(false) => (Verdict::Differs("other bytes".to_owned()), length),
            _ => (Verdict::Same, length),
        },
        Err(error) => (Verdict::Failed(error.to_string()), 0),
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
    let mut length = 0;
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok((length, hasher.finish())),
            Ok(read) => {
                length += read as u64;
                hasher.update(&buffer[..read]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
