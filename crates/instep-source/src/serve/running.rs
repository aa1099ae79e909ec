//! The tasks of a server: one answers requests, another renews its certificate.

use std::{future::Future, io, sync::Arc};

use axum::Router;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinHandle,
};

use super::{
    connection::{ServerLimits, serve_on},
    tls::Tls,
};
use crate::{PublishMonitor, PublishProblem};

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

/// Reads the certificate again at each SIGHUP, from now on.
pub(super) fn renew_at_hangup(tls: Tls, monitor: Arc<dyn PublishMonitor>) -> io::Result<JoinHandle<()>> {
    let mut hangups = signal(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            match tls.reload() {
                Ok(()) => tracing::info!("the certificate was read again"),
                Err(error) => {
                    let what = format!("the former one stays in use: {error}");
                    monitor.problem(&PublishProblem::warning("certificate", what));
                }
            }
        }
    }))
}
