//! A process that takes the right to write.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

/// The time within which a process that does not want the right any more stops to wait for it.
const GIVES_UP_WITHIN: Duration = Duration::from_millis(50);

/// A process that takes the right.
#[derive(Clone, Debug)]
pub struct Claimant {
    /// The process, for the message that others get.
    pub holder: String,
    /// The folder of the owner. The process that has its lock knows that earlier processes with this folder are dead.
    pub folder: String,
    /// `true` if the former holder of the right is known to have ended.
    pub former_holder_ended: bool,
    /// Becomes `true` if the right is not wanted any more: the process then stops to wait for it.
    pub gives_up: Arc<AtomicBool>,
}

impl Claimant {
    /// Returns this process, over a folder that is named so.
    pub fn over(folder: impl Into<String>) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let holder = format!("process {} on {host}", std::process::id());
        Self { holder, folder: folder.into(), former_holder_ended: false, gives_up: Arc::default() }
    }

    /// Waits for some time; returns `false` as soon as the right is not wanted any more, or the work that needs it is to end.
    pub(super) fn waits(&self, pause: Duration, ending: &CancellationToken) -> bool {
        let until = Instant::now() + pause;
        while !self.gives_up.load(Ordering::Acquire) && !ending.is_cancelled() {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return true;
            }
            thread::sleep(rest.min(GIVES_UP_WITHIN));
        }
        false
    }
}
