//! `instep sync --follow --republish`: a Destination and a Source in one process, over one copy.

use std::{fs, path::Path, sync::Arc};

use anyhow::Context;
use instep_destination::{self as destination, Monitor, Shutdown, SyncOptions, SyncReport};
use instep_source::{
    MaxDeletions,
    serve::{self, ServeOptions},
};

use crate::{
    args::{channels::ChannelArgs, folders, server::ServerArgs},
    copy::{CopyContent, Relaying},
    ui::{Output, publishing::Publishing},
};

/// A Source that publishes the copy while a run keeps it current.
#[derive(Debug)]
pub(super) struct Relay {
    copy: Arc<CopyContent>,
    options: ServeOptions,
}

impl Relay {
    /// Returns a Source for the copy in a folder.
    ///
    /// Errors: the folder cannot be created, or the options contradict each other.
    pub(super) fn new(dir: &Path, server: ServerArgs, channels: ChannelArgs) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("Cannot create {}", dir.display()))?;
        let copy = Arc::new(CopyContent::planned(dir)?);
        let mut options = ServeOptions::new(dir);
        options.publish.base_url = server.base_url.clone().unwrap_or_default();
        options.publish.state = folders::state_of_republished(dir);
        options.publish.out = options.publish.state.join("documents");
        options.publish.sets[0].content = vec![Arc::clone(&copy).into_content(None)];
        // Deletions are not limited here: the guard of the Destination has already decided about them (O283).
        options.publish.guard.most = MaxDeletions::Count(u64::MAX);
        options.publish.guard.allow_empty = true;
        options.channels = channels.options();
        options.admin = None;
        server.apply(&mut options)?;
        Ok(Self { copy, options })
    }

    /// Follows the Source and publishes the changes of each round. Answers requests once the copy is complete, from
    /// this run or an earlier one.
    pub(super) async fn run(
        self,
        options: &SyncOptions,
        monitor: &dyn Monitor,
        output: &Output,
    ) -> anyhow::Result<SyncReport> {
        let Self { copy, options: source } = self;
        let ended = options.shutdown.child();
        let relaying = Relaying { copy: &copy, monitor };
        let following = async {
            let report = destination::sync(options, &relaying).await;
            ended.request();
            report
        };
        let serving = async {
            let monitor = Arc::new(Publishing::new(*output));
            serve::serve(source, monitor, ended.requested()).await.map_err(anyhow::Error::from)
        };
        let serving = once_complete(&copy, serving, &ended, &options.shutdown);
        let (report, served) = tokio::join!(following, serving);
        served?;
        Ok(report?)
    }
}

/// Serves a copy once it is complete, unless the run has `ended` before.
///
/// Errors: the state of the copy cannot be read, or the server fails. Then `shutdown` is given: otherwise the Destination
/// would follow without an end, and nobody would learn of the error.
async fn once_complete(
    copy: &CopyContent,
    serving: impl Future<Output = anyhow::Result<()>>,
    ended: &Shutdown,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let served = async {
        if !copy.is_complete()? {
            tokio::select! {
                () = copy.round() => {}
                () = ended.requested() => return Ok(()),
            }
        }
        serving.await
    };
    let served = served.await;
    if served.is_err() {
        shutdown.request();
    }
    served
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn o189_a_relay_that_cannot_read_its_copy_ends_and_does_not_follow_without_a_server() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".instep")).unwrap();
        fs::write(dir.path().join(".instep/state.sqlite"), "x".repeat(8_192)).unwrap();
        let copy = CopyContent::planned(dir.path()).unwrap();
        let (ended, shutdown) = (Shutdown::new(), Shutdown::new());
        let runtime = Builder::new_current_thread().build().unwrap();
        let served = runtime.block_on(once_complete(&copy, async { Ok(()) }, &ended, &shutdown));
        assert!(served.is_err() && shutdown.is_requested());
    }
}
