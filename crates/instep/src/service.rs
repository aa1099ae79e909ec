//! Messages to systemd: a command reports that it is ready, reloads its options, stops, or is still working.
//!
//! Nothing is sent without `NOTIFY_SOCKET`, which systemd sets for units with `Type=notify`. A message that cannot be
//! sent is only logged.

use std::{future::Future, pin::pin};

use sd_notify::NotifyState;

/// Reports that the command is ready, at its start or again after [`reloading`].
pub(crate) fn ready() {
    send(&[NotifyState::Ready]);
}

/// Shows a line about the state of the command, as `systemctl status` prints it.
pub(crate) fn status(line: &str) {
    // A line feed would begin another assignment of the protocol.
    send(&[NotifyState::Status(&line.replace(char::is_control, " "))]);
}

/// Reports that the configuration is being read again. [`ready`] must follow.
pub(crate) fn reloading() {
    // systemd requires the time, by which it distinguishes this reload from an earlier one.
    let Ok(now) = NotifyState::monotonic_usec_now() else { return };
    send(&[NotifyState::Reloading, now]);
}

/// Reports that the command is about to end.
pub(crate) fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Runs the work of a command. If the unit has `WatchdogSec`, reports periodically that the command is alive.
///
/// The task that does the work is also the one that reports: if a loop blocks, it reports nothing, and the manager
/// restarts it. Stalled transfers have their own timeouts and do not count.
pub(crate) async fn watched<T>(work: impl Future<Output = T>) -> T {
    // Reported twice within the time, as systemd recommends.
    let Some(every) = sd_notify::watchdog_enabled().map(|within| within / 2).filter(|every| !every.is_zero())
    else {
        return work.await;
    };
    let mut work = pin!(work);
    let mut due = tokio::time::interval(every);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = due.tick() => send(&[NotifyState::Watchdog]),
        }
    }
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager cannot be reached");
    }
}
