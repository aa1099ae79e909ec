//! Waiting for a server on a thread that may block, also one that runs tasks.

use std::{
    convert::Infallible,
    io,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use tokio::runtime::{Builder, Handle};

/// The separate thread that waits for the sockets of this process and opens its connections, so that callers may also wait
/// on a thread that runs tasks.
static DRIVER: Mutex<Option<Handle>> = Mutex::new(None);

/// Returns the runtime of the connections; started with the first one.
///
/// # Errors
/// If the system gives no thread.
pub fn driver() -> io::Result<Handle> {
    let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*driver {
        return Ok(handle.clone());
    }
    let runtime =
        Builder::new_multi_thread().worker_threads(1).thread_name("postgres").enable_all().build()?;
    let handle = runtime.handle().clone();
    // Never dropped: dropping a runtime on a thread that runs tasks would panic.
    std::mem::forget(runtime);
    *driver = Some(handle.clone());
    Ok(handle)
}

/// The time between two looks at whether a wait may go on.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks this thread until a future is ready.
pub fn wait<F: Future>(future: F) -> F::Output {
    let Ok(output) = poll_parked(future, || {
        thread::park();
        Ok::<(), Infallible>(())
    });
    output
}

/// Blocks this thread until a future is ready; `None` as soon as it may not wait any longer.
pub(crate) fn wait_while<F: Future>(future: F, mut may_wait: impl FnMut() -> bool) -> Option<F::Output> {
    let park = || may_wait().then(|| thread::park_timeout(LOOKS_EVERY)).ok_or(());
    poll_parked(future, park).ok()
}

/// Polls a future, and parks this thread between two polls.
///
/// Errors: that of `park`, which gives the future up.
fn poll_parked<F: Future, E>(future: F, mut park: impl FnMut() -> Result<(), E>) -> Result<F::Output, E> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return Ok(output),
            Poll::Pending => park()?,
        }
    }
}
