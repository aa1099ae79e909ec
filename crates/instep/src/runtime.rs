//! The asynchronous runtime, and the effects of signals on a command.

use std::{
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
    sync::Notify,
};
use tokio_util::sync::CancellationToken;

use crate::{
    exit::Exit,
    service,
    ui::{LineLevel, Output},
};

/// Starts the runtime, with a worker thread per core.
///
/// Errors: threads cannot be started.
pub(crate) fn start() -> anyhow::Result<Runtime> {
    instep_store::raise_open_files_limit();
    // Named here: otherwise the library reads the variable TOKIO_WORKER_THREADS, and panics if it is no number from 1.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(cores).enable_all().build().context("Cannot start the runtime")
}

/// The longest wait for threads that still work when a server has ended.
const LAST_THREADS: Duration = Duration::from_secs(1);

/// Ends the runtime of a server. A thread that makes a page may wait for a database that does not answer: it ends with the
/// process.
pub(crate) fn end(runtime: Runtime) {
    runtime.shutdown_timeout(LAST_THREADS);
}

/// A handle by which running work is asked to end. The handles of both libraries implement it.
pub(crate) trait Ending: Send + Sync + 'static {
    /// Asks the work to end.
    fn ask(&self);

    /// Returns `true` if the work was asked to end.
    fn is_asked(&self) -> bool;
}

impl Ending for CancellationToken {
    fn ask(&self) {
        self.cancel();
    }

    fn is_asked(&self) -> bool {
        self.is_cancelled()
    }
}

impl Ending for instep_destination::Shutdown {
    fn ask(&self) {
        self.request();
    }

    fn is_asked(&self) -> bool {
        self.is_requested()
    }
}

/// The signals that end a command: the first INT or TERM ends it in an orderly way, the second at once. Both leave a
/// valid state.
pub(crate) struct Signals {
    terminated: Arc<AtomicBool>,
}

impl Signals {
    /// Requests the end of the work at the first signal, and prints what is still being finished (P9). Ends the process at
    /// the second signal.
    pub(crate) fn listen(
        runtime: &Runtime,
        shutdown: impl Ending,
        output: Output,
        ending: &'static str,
    ) -> Self {
        let terminated = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&terminated);
        // The handlers are installed before this returns: until then a signal ends the process without its exit code.
        let handlers = {
            let _within = runtime.enter();
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        };
        runtime.spawn(async move {
            let (Ok(mut interrupt), Ok(mut terminate)) = handlers else { return };
            loop {
                let exit = tokio::select! {
                    _ = interrupt.recv() => Exit::Interrupted,
                    _ = terminate.recv() => Exit::Terminated,
                };
                if shutdown.is_asked() {
                    std::process::exit(exit.code().into());
                }
                ended.store(exit == Exit::Terminated, Ordering::Relaxed);
                if !output.quiet {
                    output
                        .log(LineLevel::Info, &format!("Stopping: {ending}. A second signal stops at once."));
                }
                service::stopping();
                shutdown.ask();
            }
        });
        Self { terminated }
    }

    /// Returns the exit code of a command that a signal ended.
    pub(crate) fn exit(&self) -> Exit {
        if self.terminated.load(Ordering::Relaxed) { Exit::Terminated } else { Exit::Interrupted }
    }
}

/// Handles the signal XFSZ, which would end the process when it writes beyond a limit on the size of files (`ulimit
/// -f`). With a handler the write fails instead, as on a full disk, and the command ends with its own message and exit
/// code.
pub(crate) fn survive_file_size_limit() {
    // The handler stays installed when this runtime is dropped.
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
    let _within = runtime.enter();
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// Receives SIGHUP, which makes a long-running command read its configuration again and never ends it (P2).
pub(crate) struct Hangups {
    received: Arc<Notify>,
    /// `true` if the options that were read last could not be used. Then the next signal tries them again, even if the
    /// file has not changed.
    is_refused: AtomicBool,
}

impl Hangups {
    /// Installs the handler of SIGHUP.
    pub(crate) fn listen(runtime: &Runtime) -> Self {
        let received = Arc::new(Notify::new());
        let notify = Arc::clone(&received);
        // The handler is installed before this returns. In the spawned task it might be too late: until then the signal
        // ends the process.
        let hangup = {
            let _within = runtime.enter();
            signal(SignalKind::hangup())
        };
        if let Ok(mut hangup) = hangup {
            runtime.spawn(async move {
                while hangup.recv().await.is_some() {
                    notify.notify_one();
                }
            });
        }
        Self { received, is_refused: AtomicBool::new(false) }
    }

    /// Waits for the next signal. Signals that came since the last call count as one.
    pub(crate) async fn next(&self) {
        self.received.notified().await;
    }
}

/// Reads the options of a command again. Returns `None` if the configuration has not changed, unless the argument is
/// `true`.
pub(crate) type Reload<'a, T> = &'a dyn Fn(bool) -> anyhow::Result<Option<T>>;

/// Waits until SIGHUP brings new options. Options that cannot be used are reported, and the old ones stay.
///
/// `has_certificate` is `true` if the command reads its own certificate again at each signal.
pub(crate) async fn reloaded<T>(
    hangups: &Hangups,
    reload: Reload<'_, T>,
    has_certificate: bool,
    output: &Output,
) -> T {
    loop {
        hangups.next().await;
        service::reloading();
        match reload(hangups.is_refused.swap(false, Ordering::Relaxed)) {
            Ok(Some(options)) => {
                output.note("SIGHUP: the configuration has changed; starting again with it");
                return options;
            }
            Ok(None) => {
                let also = if has_certificate { "the certificate is read again; " } else { "" };
                output.note(format!("SIGHUP: {also}the configuration has not changed"));
            }
            Err(error) => {
                hangups.is_refused.store(true, Ordering::Relaxed);
                let text = format!("SIGHUP: the old configuration stays in use: {}", reason(&error));
                output.log(LineLevel::Error, &text);
            }
        }
        service::ready();
    }
}

/// Reports that a command cannot use the options of a SIGHUP, and continues with the former ones.
pub(crate) fn restored(hangups: &Hangups, error: &anyhow::Error, output: &Output) {
    hangups.is_refused.store(true, Ordering::Relaxed);
    let reason = reason(error);
    let text = format!("SIGHUP: the new configuration cannot be used, the old one is restored: {reason}");
    output.log(LineLevel::Error, &text);
}

/// Returns the text of an error within a line. That of the command line begins with a word of its own.
fn reason(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}
