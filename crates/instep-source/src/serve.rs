//! Documents and resources over HTTP: run(listener, app, shutdown).

mod address;
mod admin;
mod app;
mod batch;
pub(crate) mod body;
mod cache;
mod condition;
mod connection;
mod cors;
mod documents;
mod file_body;
mod files;
mod generic;
mod host;
mod observe;
mod options;
mod page;
mod path;
mod range;
mod representation;
mod resources;
mod spool;
mod stall;
mod tls;
mod versions;

use std::{fmt, future::Future, io, pin::pin, sync::Arc, thread};

use instep_net::Cidr;
use tokio::{
    runtime::Handle,
    signal::unix::{SignalKind, signal},
    sync::{oneshot, watch},
    task::JoinHandle,
};

use crate::{
    Error, Monitor, Problem, Publisher,
    live::Live,
    notify::{self, Announcer},
};
use address::Reserved;
pub use admin::{ADMIN_FILE, AdminOptions};
use admin::{Access, Admin, Recorder};
pub use app::App;
pub use connection::{Limits, run};
pub use options::ServeOptions;
use resources::Resources;
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
    if reserved.is_loopback() {
        options.channels.callbacks.extend(Cidr::LOOPBACK);
    }
    if options.publish.base_url.is_empty() {
        options.publish.base_url = reserved.base_url(tls.is_some())?;
    }
    let (limits, admin, state) =
        (options.limits.clone(), options.admin.take(), options.publish.state.clone());
    let mut shutdown = pin!(shutdown);
    let source = tokio::select! {
        () = &mut shutdown => return Ok(()),
        source = Source::start(options, Arc::clone(&monitor)) => source?,
    };
    let (listener, address) = reserved.listen()?;
    let mut access = admin.map(|admin| Access::prepare(admin, &state)).transpose()?;
    let administration = access.as_mut().map(|access| source.administer(access, &limits)).transpose()?;
    let renewal = tls.clone().map(|tls| renew_at_hangup(tls, Arc::clone(&monitor))).transpose();
    let renewal = renewal.map_err(|source| Error::Listen { address: address.to_string(), source })?;
    monitor.serving(&source.base_url(), address);
    let ending = async {
        shutdown.await;
        source.end_streams();
    };
    let served = run(listener, source.app().router(), limits, tls, ending).await;
    for task in [renewal, administration.flatten()].into_iter().flatten() {
        task.abort();
    }
    source.end().await;
    served.map_err(|source| Error::Listen { address: address.to_string(), source })
}

/// A Source that keeps itself current, and what it serves: for a server of one's own.
pub struct Source {
    live: Live,
    app: App,
    ending: watch::Sender<bool>,
    admin: Arc<Admin>,
}

impl Source {
    /// Publishes, and goes on doing so on a thread of its own. Of the options, those for listening are not used; the
    /// base URL is needed.
    ///
    /// # Errors
    /// When the first publication fails.
    pub async fn start(options: ServeOptions, monitor: Arc<dyn Monitor>) -> Result<Self, Error> {
        let (done, started) = oneshot::channel();
        // Not a task of the runtime: its end must not wait for a publication that nobody waits for.
        let runtime = Handle::current();
        thread::spawn(move || done.send(Self::start_blocking(options, monitor, &runtime)).ok());
        let stopped = |_| Error::option("publication", "it stopped without a result");
        started.await.map_err(stopped)?
    }

    fn start_blocking(
        mut options: ServeOptions,
        monitor: Arc<dyn Monitor>,
        runtime: &Handle,
    ) -> Result<Self, Error> {
        notify::advertise(&mut options.publish, &options.channels)?;
        if options.batches {
            batch::advertise(&mut options.publish)?;
        }
        let publisher = Publisher::open(options.publish)?;
        let (ending, is_ending) = watch::channel(false);
        let place = publisher.place().clone();
        let announcer = Announcer::new(&publisher, &options.channels, runtime)?;
        let own_origin = || place.base().splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let cors = options.cors.unwrap_or_else(|| !host::is_local(place.base()));
        let origin = (options.strict_host || !cors).then(own_origin).map(Arc::from);
        let mut routes = announcer.routes(origin.as_ref(), &is_ending).merge(page::routes(&publisher)?);
        routes = routes.merge(versions::routes(&publisher));
        if options.batches {
            routes = routes.merge(batch::routes(&publisher, &monitor)?);
        }
        let documents = publisher.options().out.clone();
        let resources = Resources::open(&publisher)?;
        let recorder = Recorder::new(&publisher, &monitor);
        let live = Live::start(publisher, options.live, Box::new(announcer), monitor)?;
        let (overview, strict_host) = (live.overview(), options.strict_host);
        let app =
            App::new(app::AppParts { place, documents, resources, overview, strict_host, cors, routes })?;
        let admin = Arc::new(Admin { recorder, requests: live.requests(), overview: live.overview() });
        Ok(Self { live, app, ending, admin })
    }

    /// Returns the application, which answers the requests.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The base URL.
    pub fn base_url(&self) -> String {
        self.live.overview().borrow().base_url.clone()
    }

    /// Answers applications and the operator, on a task.
    fn administer(&self, access: &mut Access, limits: &Limits) -> Result<Option<JoinHandle<()>>, Error> {
        let routes = admin::routes(Arc::clone(&self.admin), access.token());
        access.serve(routes, limits.clone())
    }

    /// Ends the answers that would never end: channels and events. To be called when the server is to end.
    pub fn end_streams(&self) {
        self.ending.send_replace(true);
    }

    /// Ends after the publication under way.
    pub async fn end(self) {
        self.end_streams();
        let _ = tokio::task::spawn_blocking(|| self.live.end()).await;
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("app", &self.app).finish_non_exhaustive()
    }
}

/// Reads the certificate again at each SIGHUP, from now on.
fn renew_at_hangup(tls: Tls, monitor: Arc<dyn Monitor>) -> io::Result<JoinHandle<()>> {
    let mut hangups = signal(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            match tls.reload() {
                Ok(()) => tracing::info!("the certificate was read again"),
                Err(error) => monitor.problem(&Problem::warning("TLS", error.to_string())),
            }
        }
    }))
}
