//! Held files against what the state says of them, several at a time.

use std::{io::Read as _, sync::Arc};

use futures_util::{StreamExt as _, stream};
use rand::Rng as _;
use resourcesync::{Algorithm, Digests, Hasher};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Verify,
    error::story,
    state::{Held, State},
    store::{NameKind, Store},
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
    /// Files given to a thread at a time.
    const BATCH: usize = 64;
    /// Rows read at a time.
    const PAGE: usize = 4_096;
    const BUFFER: usize = 128 << 10;

    /// Hashes what is held. Whether it came to the end.
    pub(crate) async fn run(
        &self,
        state: &mut State,
        each: &mut (dyn FnMut(&Held, Verdict, u64) -> Result<(), Error> + Send),
    ) -> Result<bool, Error> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut after: Option<String> = None;
        loop {
            if self.shutdown.is_cancelled() {
                return Ok(false);
            }
            let mut page = state.held_after(after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(true) };
            after = Some(last.uri.as_str().to_owned());
            if self.sample < 1.0 {
                let mut random = rand::rng();
                page.retain(|_| random.random_bool(self.sample.clamp(0.0, 1.0)));
            }
            let batches: Vec<Vec<Held>> = page.chunks(Self::BATCH).map(<[Held]>::to_vec).collect();
            let mut hashed = stream::iter(batches).map(|batch| self.hash(batch)).buffered(threads);
            while let Some(batch) = hashed.next().await {
                for (held, verdict, bytes) in batch? {
                    each(&held, verdict, bytes)?;
                }
            }
        }
    }

    async fn hash(&self, batch: Vec<Held>) -> Result<Vec<(Held, Verdict, u64)>, Error> {
        let (store, verify) = (Arc::clone(&self.store), self.verify);
        let hash = move || {
            let mut buffer = vec![0; Self::BUFFER];
            let look = |held: Held| {
                let (verdict, bytes) = look_at(&*store, &held, verify, &mut buffer);
                (held, verdict, bytes)
            };
            batch.into_iter().map(look).collect()
        };
        Ok(tokio::task::spawn_blocking(hash).await?)
    }
}

fn look_at(store: &dyn Store, held: &Held, verify: Verify, buffer: &mut [u8]) -> (Verdict, u64) {
    match store.kind(held.path.as_str()) {
        Ok(Some(NameKind::File)) => {}
        Ok(None) => return (Verdict::Missing, 0),
        Ok(Some(_)) => return (Verdict::Differs("it is no file".to_owned()), 0),
        Err(error) => return (Verdict::Failed(story(&error)), 0),
    }
    match digest(store, held, verify, buffer) {
        Ok((length, _)) if held.facts.length.is_some_and(|expected| expected != length) => {
            let expected = held.facts.length.unwrap_or_default();
            (Verdict::Differs(format!("{length} bytes instead of {expected}")), length)
        }
        Ok((length, found)) => match found.agrees_with(&held.facts.digests) {
            Some(false) => (Verdict::Differs("other bytes".to_owned()), length),
            _ => (Verdict::Same, length),
        },
        Err(error) => (Verdict::Failed(error), 0),
    }
}

fn digest(
    store: &dyn Store,
    held: &Held,
    verify: Verify,
    buffer: &mut [u8],
) -> Result<(u64, Digests), String> {
    let mut file = store.read(&held.path).map_err(|error| story(&error))?;
    let offered = &held.facts.digests;
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
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}
