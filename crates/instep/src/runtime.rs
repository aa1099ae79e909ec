//! The asynchronous runtime, and how signals end a command.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use crate::exit::Exit;

/// Starts the runtime, with a worker thread per core.
///
/// Errors: threads cannot be started.
pub(crate) fn start() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build().context("Cannot start the runtime")
}

/// The signals that end a command: the first INT or TERM ends it in an orderly way, the second at once. Both leave a
/// valid state.
pub(crate) struct Signals {
    terminated: Arc<AtomicBool>,
}

impl Signals {
    /// Cancels `shutdown` at the first signal.
    pub(crate) fn listen(runtime: &Runtime, shutdown: CancellationToken) -> Self {
        let terminated = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&terminated);
        runtime.spawn(async move {
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            loop {
                let exit = tokio::select! {
                    _ = interrupt.recv() => Exit::Interrupted,
                    _ = terminate.recv() => Exit::Terminated,
                };
                if shutdown.is_cancelled() {
                    std::process::exit(exit.code().into());
                }
                ended.store(exit == Exit::Terminated, Ordering::Relaxed);
                shutdown.cancel();
            }
        });
        Self { terminated }
    }

    /// Returns the exit code of a command that a signal ended.
    pub(crate) fn exit(&self) -> Exit {
        if self.terminated.load(Ordering::Relaxed) { Exit::Terminated } else { Exit::Interrupted }
    }
}

/// Takes the signal that ends a process at once when it writes beyond a limit on the size of files (`ulimit -f`). The write fails
/// then, as on a full disk, and the command ends with its own message and exit code.
pub(crate) fn survive_file_size_limit() {
    // The handler stays when the runtime goes.
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
    let _within = runtime.enter();
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}
