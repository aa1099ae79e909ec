//! `instep sync --follow --republish`: a Destination and a Source in one process, over one copy.

use std::{fs, path::Path, sync::Arc};

use anyhow::Context;
use instep_destination::{self as destination, Monitor, SyncOptions, SyncReport};
use instep_source::serve::{self, ServeOptions};

use crate::{
    args::{channels::Channels, server::Server},
    command::republish::source_state,
    copy::{CopyContent, Relaying},
    ui::{Output, publishing::Publishing},
};

/// The Source half.
#[derive(Debug)]
pub(super) struct Relay {
    copy: Arc<CopyContent>,
    options: ServeOptions,
}

impl Relay {
    /// Serves the copy that a run keeps in a folder.
    pub(super) fn new(dir: &Path, server: Server, channels: Channels) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("Cannot make {}", dir.display()))?;
        let copy = Arc::new(CopyContent::to_come(dir)?);
        let mut options = ServeOptions::new(dir);
        options.publish.base_url = server.base_url.clone().unwrap_or_default();
        options.publish.state = source_state(dir);
        options.publish.out = options.publish.state.join("documents");
        options.publish.sets[0].content = vec![Arc::clone(&copy).into_content(None)];
        options.channels = channels.options();
        options.admin = None;
        server.apply(&mut options)?;
        Ok(Self { copy, options })
    }

    /// Follows, and publishes what each round brings. It listens once there is a whole copy, this run's or an earlier one's.
    pub(super) async fn run(
        self,
        options: &SyncOptions,
        monitor: &dyn Monitor,
        output: &Output,
    ) -> anyhow::Result<SyncReport> {
        let Self { copy, options: source } = self;
        let ended = options.shutdown.child_token();
        let relaying = Relaying { copy: &copy, monitor };
        let following = async {
            let report = destination::sync(options, &relaying).await;
            ended.cancel();
            report
        };
        let serving = async {
            if !copy.is_complete()? {
                tokio::select! {
                    () = copy.round() => {}
                    () = ended.cancelled() => return Ok(()),
                }
            }
            let monitor = Arc::new(Publishing::new(*output));
            let served = serve::serve(source, monitor, ended.cancelled()).await;
            if served.is_err() {
                options.shutdown.cancel();
            }
            served.map_err(anyhow::Error::from)
        };
        let (report, served) = tokio::join!(following, serving);
        served?;
        Ok(report?)
    }
}
