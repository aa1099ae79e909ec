//! The tasks beside the looks: the lease, the seats and the alerts. Without them a fleet would go on, with a gate that is
//! closed, no seats and no word to anyone: so it ends with them.

use std::any::Any;

use instep_destination::Shutdown;
use tokio::task::JoinHandle;

use super::Fleet;

/// The tasks beside the looks, until they are ended.
pub(super) struct TasksBeside(JoinHandle<()>);

/// Ends the fleet when it is dropped, which a panic does too.
struct EndsFleet {
    fleet: Fleet,
    shutdown: Shutdown,
}

impl EndsFleet {
    /// Waits for the shutdown. Then nothing waits long for the record any more: its database may not answer.
    async fn end_waits(&self) {
        self.shutdown.requested().await;
        self.fleet.0.lease.end_waits();
    }
}

impl Drop for EndsFleet {
    fn drop(&mut self) {
        self.shutdown.request();
        self.fleet.0.lease.end_waits();
    }
}

impl Fleet {
    /// Begins the tasks. They request the shutdown if a fault in the program ends them.
    pub(super) fn begin_beside(&self, shutdown: &Shutdown) -> TasksBeside {
        let ends = EndsFleet { fleet: self.clone(), shutdown: shutdown.clone() };
        let fleet = self.clone();
        TasksBeside(tokio::spawn(async move {
            tokio::join!(fleet.keep_lease(), fleet.keep_seats(), fleet.send_alerts(), ends.end_waits());
        }))
    }
}

impl TasksBeside {
    /// Ends the tasks. Returns the panic that has ended them before; `None` if there was none.
    pub(super) async fn end(self) -> Option<Box<dyn Any + Send>> {
        self.0.abort();
        self.0.await.err()?.try_into_panic().ok()
    }
}
