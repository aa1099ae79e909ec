//! Listens to the channels of one Source that is followed.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use instep_destination::{ChannelWatch, SharedCallbacks, Shutdown, SyncOptions};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};

use crate::definition::SourceDefinition;

/// The first pause and the longest one after an attempt to find channels that failed.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(15 * 60));

/// The longest pause between two looks for channels that were lost or may be missing. It is long because a set whose documents
/// do not arrive may never come back, and each look reads the documents of all other sets.
const LONGEST_PAUSE: Duration = Duration::from_secs(4 * 3_600);

/// The channels of a Source that are listened to.
pub(super) struct SourceWatch {
    /// The definition that led to them.
    pub(super) definition: SourceDefinition,
    /// Ends it.
    pub(super) ending: Shutdown,
    pub(super) task: JoinHandle<()>,
}

/// Calls `news` whenever a Source may have something new, until it should end. Then it ends the subscriptions at
/// hubs. A channel that is lost is looked for in the documents of the Source again, because it may have moved.
pub(super) async fn watch(
    options: SyncOptions,
    folder: PathBuf,
    callbacks: Option<SharedCallbacks>,
    ending: Shutdown,
    news: impl Fn() + Send,
) {
    let mut channels = tokio::select! {
        channels = found(&options, &folder, callbacks.as_ref()) => channels,
        () = ending.requested() => return,
    };
    if channels.is_empty() && !channels.is_to_renew() {
        tracing::debug!(url = %options.url, "no channel is offered: it is looked at by time only");
        return;
    }
    let (mut pause, mut renewed_at) = (PAUSES.0, None);
    loop {
        if channels.is_to_renew() {
            renewed_at = renewed_at.or_else(|| Some(Instant::now() + pause));
        } else {
            // A channel that was closed and is open again has not moved: no document need be read for it.
            (pause, renewed_at) = (PAUSES.0, None);
        }
        tokio::select! {
            () = channels.news() => {
                news();
                continue;
            }
            () = sleep_until(renewed_at.unwrap_or_else(Instant::now)), if renewed_at.is_some() => {}
            () = ending.requested() => break,
        }
        let renewed = tokio::select! {
            renewed = channels.renew(&options, &folder) => renewed,
            () = ending.requested() => break,
        };
        if let Err(error) = renewed {
            tracing::debug!(url = %options.url, %error, "its channels cannot be found again");
        }
        if channels.is_empty() && !channels.is_to_renew() {
            break;
        }
        (pause, renewed_at) = ((pause * 2).min(LONGEST_PAUSE), None);
    }
    channels.end().await;
}

/// Finds the channels of a Source. An attempt that fails, as when a machine starts before its network, is repeated: the next
/// look may be weeks ahead.
async fn found(options: &SyncOptions, folder: &Path, callbacks: Option<&SharedCallbacks>) -> ChannelWatch {
    let mut pause = PAUSES.0;
    loop {
        match ChannelWatch::open(options, folder, callbacks).await {
            Ok(channels) => return channels,
            Err(error) => tracing::debug!(url = %options.url, %error, "its channels cannot be found"),
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}
