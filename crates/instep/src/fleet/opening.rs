//! The start of a fleet, which a signal may end.

use std::{sync::Arc, thread};

use anyhow::Context as _;
use instep_destination::Shutdown;
use instep_fleet::{Fleet, FleetMonitor, FleetOptions, SourceDefinition};
use tokio::{runtime::Handle, sync::oneshot};

use crate::exit::Exit;

/// Opens a fleet on a thread that nothing waits for: a database may take the connection and not answer. Returns `None` if the
/// process is to end before the fleet is open.
///
/// Errors: as for [`Fleet::open`].
pub(crate) async fn opened(
    options: FleetOptions,
    sources: Vec<SourceDefinition>,
    monitor: Arc<dyn FleetMonitor>,
    shutdown: &Shutdown,
) -> anyhow::Result<Option<Fleet>> {
    let (done, opened) = oneshot::channel();
    let runtime = Handle::current();
    thread::spawn(move || {
        let _within = runtime.enter();
        drop(done.send(Fleet::open(options, &sources, monitor)));
    });
    tokio::select! {
        () = shutdown.requested() => Ok(None),
        // Without an answer a fault in the program has ended the thread, which has reported it.
        opened = opened => Ok(Some(opened.context(Exit::Failed)??)),
    }
}
