//! The task of a server that answers requests.

use std::{future::Future, io};

use axum::Router;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use super::{
    connection::{ServerLimits, serve_on},
    tls::Tls,
};

/// A server at work on a task of its own. Dropping it closes the listener and all connections.
#[derive(Debug)]
pub(super) struct ServerTask {
    ending: watch::Sender<bool>,
    task: JoinHandle<io::Result<()>>,
}

impl ServerTask {
    /// Starts to answer requests.
    pub(super) fn start(
        listener: TcpListener,
        routes: Router,
        limits: ServerLimits,
        tls: Option<Tls>,
    ) -> Self {
        let (ending, mut is_ending) = watch::channel(false);
        let task = tokio::spawn(async move {
            let end = async move { drop(is_ending.wait_for(|ending| *ending).await) };
            serve_on(listener, routes, limits, tls, end).await
        });
        Self { ending, task }
    }

    /// Answers until `ending`, then finishes the answers in flight.
    ///
    /// # Errors
    /// If the listener fails permanently.
    pub(super) async fn until(mut self, ending: impl Future<Output = ()>) -> io::Result<()> {
        let ended = tokio::select! {
            () = ending => {
                self.ending.send_replace(true);
                (&mut self.task).await
            }
            ended = &mut self.task => ended,
        };
        ended.map_err(io::Error::other)?
    }
}

impl Drop for ServerTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}
