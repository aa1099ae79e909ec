//! Documents and resources over HTTP.
//!
//! [`serve()`] does all of it. For a server of one's own, [`Source`] has the routes, and [`run()`] a server that
//! withstands slow and many clients.

mod address;
mod admin;
mod app;
mod batch;
pub(crate) mod body;
mod cache;
#[cfg(feature = "notify")]
mod channels;
#[cfg(not(feature = "notify"))]
#[path = "serve/no_channels.rs"]
mod channels;
mod condition;
mod connection;
mod cors;
mod documents;
mod file_body;
mod files;
mod framing;
mod gateway;
mod generic;
mod host;
pub(crate) mod methods;
mod moved;
mod observe;
mod options;
mod pages;
mod path;
mod range;
mod representation;
mod resources;
mod spool;
mod stall;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "serve/no_tls.rs"]
mod tls;
mod versions;
mod view;

use std::{fmt, future::Future, io, pin::pin, sync::Arc, thread};

use axum::Router;
use tokio::{
    runtime::Handle,
    signal::unix::{SignalKind, signal},
    sync::{oneshot, watch},
    task::JoinHandle,
};

pub use crate::live::LiveOptions;
use crate::{Error, PublishMonitor, PublishProblem, Publisher, live::Live, render::SourcePlace};
use address::Reserved;
pub use admin::{ADMIN_FILE, AdminOptions};
use admin::{Access, Admin, Recorder};
use app::App;
#[cfg(feature = "tls")]
pub use connection::run_tls;
use connection::serve_on;
pub use connection::{ServerLimits, run};
pub use gateway::Gateway;
pub use methods::with_methods;
pub use options::ServeOptions;
use pages::PagesOfSource;
pub use pages::{PageRequest, Pages};
use resources::ResourceFiles;
#[cfg(feature = "tls")]
pub use tls::Tls;
#[cfg(not(feature = "tls"))]
use tls::Tls;
pub use view::{FolderItem, KeptVersion, SourceView};

/// Publishes, then serves the published documents and keeps them current, until `shutdown`.
///
/// Connections are refused until the first publication is complete. After `shutdown` current answers are finished.
///
/// # Errors
/// If the address cannot be listened on, the first publication fails, or the thread that publishes ends by a fault in
/// the program. Other failures are reported to the monitor.
pub async fn serve(
    mut options: ServeOptions,
    monitor: Arc<dyn PublishMonitor>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    address::raise_descriptor_limit();
    let tls = options.certificate()?;
    let reserved = Reserved::bind(&options.listen)?;
    if reserved.is_loopback() {
        options.allow_loopback_subscribers();
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
    let mut has_failed = false;
    let ending = async {
        tokio::select! {
            () = shutdown => {}
            // A Source that can no longer change is not served.
            () = source.live.ended() => has_failed = true,
        }
        source.end_streams();
    };
    let served = serve_on(listener, source.routes(), limits, tls, ending).await;
    for task in [renewal, administration.flatten()].into_iter().flatten() {
        task.abort();
    }
    let reason = source.finish().await;
    if has_failed {
        return Err(reason.unwrap_or(Error::PublisherFailed));
    }
    served.map_err(|source| Error::Listen { address: address.to_string(), source })
}

/// A Source that keeps itself current, and its answers: for a server of your own.
pub struct Source {
    live: Live,
    app: App,
    place: SourcePlace,
    former_base_urls: Vec<String>,
    ending: watch::Sender<bool>,
    admin: Arc<Admin>,
}

impl Source {
    /// Publishes, and continues to do so on its own thread. The options for listening are not used; the base URL is
    /// required.
    ///
    /// # Errors
    /// If the first publication fails.
    pub async fn start(options: ServeOptions, monitor: Arc<dyn PublishMonitor>) -> Result<Self, Error> {
        let (done, started) = oneshot::channel();
        // Not a task of the runtime: its end must not wait for a publication that is no longer needed.
        let runtime = Handle::current();
        thread::spawn(move || done.send(Self::start_blocking(options, monitor, &runtime)).ok());
        started.await.map_err(|_| Error::PublisherFailed)?
    }

    fn start_blocking(
        mut options: ServeOptions,
        monitor: Arc<dyn PublishMonitor>,
        runtime: &Handle,
    ) -> Result<Self, Error> {
        if options.live.scan_every.is_zero() {
            let what =
                "without a pause between scans nothing else gets done: give a time such as ten minutes";
            return Err(Error::option("time between scans", what));
        }
        let channels = options.advertise_channels()?;
        if options.batches {
            batch::advertise(&mut options.publish)?;
        }
        let publisher = Publisher::open(options.publish)?;
        publisher.report_hidden(&*monitor)?;
        let (ending, is_ending) = watch::channel(false);
        let place = publisher.place().clone();
        let former_base_urls = publisher.former_base_urls()?;
        let own_origin = || place.base().splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let cors = options.cors.unwrap_or_else(|| !host::is_local(place.base()));
        let origin = (options.strict_host || !cors).then(own_origin).map(Arc::from);
        let channels = channels.open(&publisher, runtime, origin.as_ref(), &is_ending)?;
        let mut routes = channels.routes.clone().merge(versions::routes(&publisher));
        if options.batches {
            routes = routes.merge(batch::routes(&publisher, &monitor)?);
        }
        let documents = publisher.options().out.clone();
        let resources = ResourceFiles::open(&publisher)?;
        let recorder = Recorder::new(&publisher, &monitor);
        let (overview_sender, overview) = watch::channel(Arc::default());
        let view = Arc::new(SourceView::new(&publisher, overview.clone(), &channels)?);
        for gateway in &options.gateways {
            let opened = gateway.routes(&view);
            routes = routes.merge(opened.map_err(Error::write(&publisher.options().state))?);
        }
        let pages = options.pages.map(|pages| PagesOfSource { pages, view });
        let live = Live::start(publisher, options.live, (channels.announcer, overview_sender), monitor)?;
        let strict_host = options.strict_host;
        let app = App::new(app::AppParts {
            place: place.clone(),
            documents,
            resources,
            overview,
            strict_host,
            cors,
            routes,
            pages,
        })?;
        let admin = Arc::new(Admin { recorder, requests: live.requests(), overview: live.overview() });
        Ok(Self { live, app, place, former_base_urls, ending, admin })
    }

    /// Returns the routes, at the path of the base URL: to be served directly, or merged into a router with its own
    /// routes and fallback. At the root of a host they take every path that the other router has no route for.
    pub fn router(&self) -> Router {
        self.app.router()
    }

    /// Returns the routes of a separate server, which also answers below the former base URLs of the Source.
    fn routes(&self) -> Router {
        moved::redirecting(self.app.router(), &self.former_base_urls, &self.place)
    }

    /// The base URL.
    pub fn base_url(&self) -> String {
        self.live.overview().borrow().base_url.clone()
    }

    /// Answers applications and the operator, on a task.
    fn administer(
        &self,
        access: &mut Access,
        limits: &ServerLimits,
    ) -> Result<Option<JoinHandle<()>>, Error> {
        let routes = admin::routes(Arc::clone(&self.admin), access.token());
        access.serve(routes, limits.clone())
    }

    /// Ends the endless answers: channels and events. To be called when the server should end.
    pub fn end_streams(&self) {
        self.ending.send_replace(true);
    }

    /// Ends after the publication under way.
    pub async fn end(self) {
        self.finish().await;
    }

    /// Ends as [`Source::end`] does. Returns the reason if publishing had ended by itself.
    async fn finish(self) -> Option<Error> {
        self.end_streams();
        tokio::task::spawn_blocking(|| self.live.end()).await.ok().flatten()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("app", &self.app).finish_non_exhaustive()
    }
}

/// Reads the certificate again at each SIGHUP, from now on.
fn renew_at_hangup(tls: Tls, monitor: Arc<dyn PublishMonitor>) -> io::Result<JoinHandle<()>> {
    let mut hangups = signal(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            match tls.reload() {
                Ok(()) => tracing::info!("the certificate was read again"),
                Err(error) => monitor.problem(&PublishProblem::warning("TLS", error.to_string())),
            }
        }
    }))
}
