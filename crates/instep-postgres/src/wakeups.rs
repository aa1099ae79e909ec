//! Wake-ups: the server reports that another process has written something (`LISTEN`, `NOTIFY`). They are only hints.
//! Some engines have none, and a lost connection loses some, so a waiting process also reads the rows from time to
//! time.

use std::{
    future::poll_fn,
    pin::pin,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    task::Poll,
    time::Duration,
};

use tokio::task::AbortHandle;
use tokio_postgres::AsyncMessage;

use crate::{
    address::Address,
    error::{EngineFault, PostgresError},
    hosts::connect,
    session::{Session, quoted},
    tls,
    waiting::driver,
};

/// The pause before a lost connection is opened again.
const PAUSE: Duration = Duration::from_secs(2);

/// Wakes this process when another one calls [`wake`], over a connection of its own.
#[derive(Debug)]
pub struct Wakeups {
    received: Receiver<()>,
    task: AbortHandle,
}

impl Wakeups {
    /// Begins to listen for wake-ups of a name.
    ///
    /// # Errors
    /// If the system gives no thread. A server that cannot be reached is tried again for as long as this lives.
    pub fn listen(address: &Address, name: &str) -> Result<Self, PostgresError> {
        let unreachable = |source: std::io::Error| PostgresError::Unreachable {
            place: address.shown.clone(),
            source: source.into(),
        };
        let (sender, received) = sync_channel(1);
        let (address, listen) = (address.clone(), format!("LISTEN {}", quoted(name)));
        let task = driver().map_err(unreachable)?.spawn(async move {
            loop {
                if let Err(error) = receive(&address, &listen, &sender).await {
                    tracing::debug!(error, "no wake-ups from the server");
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        Ok(Self { received, task: task.abort_handle() })
    }

    /// Waits for a wake-up, at most this long.
    pub fn wait(&self, most: Duration) {
        let _ = self.received.recv_timeout(most);
    }
}

impl Drop for Wakeups {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Wakes all processes that listen for a name.
///
/// # Errors
/// If the server fails, or its engine has no notifications.
pub fn wake(session: &Session, name: &str) -> Result<(), EngineFault> {
    Ok(session.batch(&format!("NOTIFY {}", quoted(name)))?)
}

/// Passes wake-ups on until the connection is lost. Several that arrive together count as one.
async fn receive(address: &Address, listen: &str, wakeups: &SyncSender<()>) -> Result<(), String> {
    let tls = tls::connector(&address.trust)?;
    let connected = connect(&address.config, tls, address.opens_within).await;
    let connected = connected.ok_or("it takes connections and does not answer")?;
    let (client, mut connection) = connected.map_err(|error| error.to_string())?;
    let mut begun = pin!(client.batch_execute(listen));
    let mut has_begun = false;
    let passed_on = poll_fn(|context| {
        loop {
            // The connection is polled first, because it sends the request that the other future waits for.
            match connection.poll_message(context) {
                Poll::Ready(Some(Ok(AsyncMessage::Notification(_)))) => drop(wakeups.try_send(())),
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending if has_begun => return Poll::Pending,
                Poll::Pending => match begun.as_mut().poll(context) {
                    Poll::Ready(Ok(())) => {
                        has_begun = true;
                        // One wake-up now, so that rows written before the connection existed are read.
                        let _ = wakeups.try_send(());
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    });
    passed_on.await.map_err(|error| error.to_string())
}
