//! Documents and resources over HTTP: run(listener, app, shutdown).

mod address;
mod app;
mod cache;
mod condition;
mod connection;
mod documents;
mod facts;
mod file_body;
mod files;
mod observe;
mod options;
mod overview;
mod page;
mod path;
mod range;
mod resources;
mod root;
mod stall;
mod tls;

use std::{future::Future, pin::pin, sync::Arc, thread};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use crate::{
    Error, Monitor, Problem, PublishOptions, PublishReport, Publisher,
    live::{Announce, Live, LiveOptions},
};
use address::Reserved;
pub use app::App;
pub use connection::{Limits, run};
pub use options::ServeOptions;
pub use overview::{Overview, RecentChange, SetOverview};
pub use tls::Tls;

/// Publishes, then serves what is published and keeps it current, until `shutdown`.
///
/// Connections are refused until the first publication is complete. After `shutdown` answers in flight are finished.
///
/// # Errors
/// When the address cannot be had, or the first publication fails. What fails later goes to the monitor.
pub async fn serve(
    mut options: ServeOptions,
    monitor: Arc<dyn Monitor>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    address::raise_descriptor_limit();
    let tls = options.tls.take().map(|(certificate, key)| Tls::open(certificate, key)).transpose()?;
    let reserved = Reserved::bind(&options.listen)?;
    if options.publish.base_url.is_empty() {
        options.publish.base_url = reserved.base_url(tls.is_some())?;
    }
    let mut shutdown = pin!(shutdown);
    let source = tokio::select! {
        () = &mut shutdown => return Ok(()),
        source = Source::start(options.publish, options.live, options.strict_host, Arc::clone(&monitor)) => source?,
    };
    let (listener, address) = reserved.listen()?;
    monitor.serving(&source.base_url(), address);
    let renewal = tls.clone().map(|tls| tokio::spawn(renew_at_hangup(tls, Arc::clone(&monitor))));
    let served = run(listener, source.app().router(), options.limits, tls, shutdown).await;
    if let Some(renewal) = renewal {
        renewal.abort();
    }
    source.end().await;
    served.map_err(|source| Error::Listen { address: address.to_string(), source })
}

/// A Source that keeps itself current, and what it serves: for a server of one's own.
#[derive(Debug)]
pub struct Source {
    live: Live,
    app: App,
}

impl Source {
    /// Publishes, and goes on doing so on a thread of its own.
    ///
    /// # Errors
    /// When the first publication fails.
    pub async fn start(
        publish: PublishOptions,
        live: LiveOptions,
        strict_host: bool,
        monitor: Arc<dyn Monitor>,
    ) -> Result<Self, Error> {
        let (done, started) = oneshot::channel();
        // Not a task of the runtime: its end must not wait for a publication that nobody waits for.
        thread::spawn(move || done.send(Self::start_blocking(publish, live, strict_host, monitor)).ok());
        let stopped = |_| Error::option("publication", "it stopped without a result");
        started.await.map_err(stopped)?
    }

    fn start_blocking(
        publish: PublishOptions,
        live: LiveOptions,
        strict_host: bool,
        monitor: Arc<dyn Monitor>,
    ) -> Result<Self, Error> {
        let publisher = Publisher::open(publish)?;
        let place = publisher.place().clone();
        let documents = publisher.options().out.clone();
        let folders = resources::folders(&publisher);
        let live = Live::start(publisher, live, Box::new(Nobody), monitor)?;
        let overview = live.overview();
        let routes = axum::Router::new();
        let app = App::new(app::Site { place, documents, folders, overview, strict_host, routes })?;
        Ok(Self { live, app })
    }

    /// What is served.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The base URL.
    pub fn base_url(&self) -> String {
        self.live.overview().borrow().base_url.clone()
    }

    /// Ends after the publication under way.
    pub async fn end(self) {
        let _ = tokio::task::spawn_blocking(|| self.live.end()).await;
    }
}

/// There are no channels.
struct Nobody;

impl Announce for Nobody {
    fn announce(&mut self, _: &Publisher, _: &PublishReport) {}
}

async fn renew_at_hangup(tls: Tls, monitor: Arc<dyn Monitor>) {
    let Ok(mut hangups) = signal(SignalKind::hangup()) else { return };
    while hangups.recv().await.is_some() {
        match tls.reload() {
            Ok(()) => tracing::info!("the certificate was read again"),
            Err(error) => monitor.problem(&Problem::warning("TLS", error.to_string())),
        }
    }
}
