//! The connections to the service of a bucket. All users of a bucket in this process share them: many copies may be in
//! one bucket, and each would otherwise need its own handshakes and threads.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use object_store::ObjectStore;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::{BucketError, ObjectPlace, settings::connect, signed::SignedRequests};

/// The time within which further users share open connections. After it the settings are read again, because credentials
/// change.
const SHARED_FOR: Duration = Duration::from_secs(60);

/// Connections to a bucket, and the threads that drive them.
#[derive(Debug)]
pub(super) struct BucketConnection {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
    pub(super) store: Arc<dyn ObjectStore>,
    /// `None` for a store that the application has opened, and for a service that is asked without a signature.
    pub(super) signed: Option<SignedRequests>,
    has_answered: AtomicBool,
}

/// Connections that are in use.
struct SharedConnection {
    place: ObjectPlace,
    since: Instant,
    connection: Weak<BucketConnection>,
}

static SHARED: Mutex<Vec<SharedConnection>> = Mutex::new(Vec::new());

impl BucketConnection {
    /// Returns the connections to the bucket of a place; no request is sent.
    ///
    /// # Errors
    /// If the environment or the files of AWS tools have settings that cannot be used.
    pub(super) fn to(place: &ObjectPlace) -> Result<Arc<Self>, BucketError> {
        if let Some(store) = place.store() {
            return Self::open(store, None).map(Arc::new);
        }
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|one| one.since.elapsed() < SHARED_FOR && one.connection.strong_count() > 0);
        let settings = |place: &ObjectPlace| {
            (place.bucket().to_owned(), place.endpoint().map(str::to_owned), place.retries())
        };
        let is_so = |one: &&SharedConnection| settings(&one.place) == settings(place);
        if let Some(known) = shared.iter().find(is_so).and_then(|one| one.connection.upgrade()) {
            return Ok(known);
        }
        let (store, signed) = connect(place)?;
        let opened = Arc::new(Self::open(store, signed)?);
        shared.push(SharedConnection {
            place: place.clone(),
            since: Instant::now(),
            connection: Arc::downgrade(&opened),
        });
        Ok(opened)
    }

    fn open(store: Arc<dyn ObjectStore>, signed: Option<SignedRequests>) -> Result<Self, BucketError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime =
            runtime.map_err(|error| BucketError::new(format!("no runtime for requests: {error}")))?;
        let handle = runtime.handle().clone();
        Ok(Self { runtime: Some(runtime), handle, store, signed, has_answered: AtomicBool::new(false) })
    }

    /// Waits for requests on a separate thread: the caller may run within another runtime, which must not block on
    /// this one.
    pub(super) fn wait<T: Send>(&self, requests: impl Future<Output = T> + Send) -> T {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| self.handle.block_on(requests));
            waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Returns `true` if the bucket was listed over these connections.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// Records that the bucket was listed.
    pub(super) fn note_answer(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }
}

impl Drop for BucketConnection {
    fn drop(&mut self) {
        // In the background, because a thread of another runtime must not block until this one ends.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[test]
    fn those_who_use_a_bucket_at_the_same_time_share_its_connections() {
        let place = |url: &str| ObjectPlace::parse(url).unwrap().at("http://127.0.0.1:9");
        let first = BucketConnection::to(&place("s3://shared/a")).unwrap();
        let second = BucketConnection::to(&place("s3://shared/b")).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let shared = || place("s3://shared/a");
        let others = [place("s3://other/a"), shared().at("http://127.0.0.1:10"), shared().with_retries(0)];
        for other in others {
            assert!(!Arc::ptr_eq(&first, &BucketConnection::to(&other).unwrap()), "{other}");
        }
        let was = Arc::downgrade(&first);
        drop((first, second));
        assert!(was.upgrade().is_none(), "nobody uses it");
        let given = place("s3://shared/a").in_store(Arc::new(InMemory::new()));
        let [one, two] = [&given, &given].map(|place| BucketConnection::to(place).unwrap());
        assert!(!Arc::ptr_eq(&one, &two));
    }
}
