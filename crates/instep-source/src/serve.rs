//! Documents and resources over HTTP.
//!
//! [`serve()`] does all of it. For your own server, [`Source`] has the routes; [`run()`] is a server with limits on slow
//! clients and on the number of connections.

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
mod running;
mod site;
mod spool;
mod stall;
#[cfg(feature = "postgres")]
mod standby;
#[cfg(feature = "postgres")]
mod switch;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "serve/no_tls.rs"]
mod tls;
mod turns;
mod versions;
mod view;

use std::{
    fmt,
    future::Future,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    thread,
};

use axum::Router;
use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
    task::JoinHandle,
};

pub use crate::live::LiveOptions;
use crate::{Error, PublishMonitor, PublishOptions, Publisher, live::Live};
use address::Reserved;
pub use admin::{ADMIN_FILE, AdminOptions};
use admin::{Access, Admin, Recorder};
use app::App;
#[cfg(feature = "tls")]
pub use connection::run_tls;
pub use connection::{ServerLimits, run};
pub use gateway::Gateway;
pub use methods::with_methods;
use moved::Moves;
use options::AdvertisedOptions;
pub use options::ServeOptions;
pub use pages::{PageRequest, Pages};
use running::{ServerTask, renew_at_hangup};
#[cfg(feature = "postgres")]
use standby::StandbyServer;
#[cfg(feature = "postgres")]
use switch::SwitchedRoutes;
#[cfg(feature = "tls")]
pub use tls::Tls;
#[cfg(not(feature = "tls"))]
use tls::Tls;
pub use turns::PageTurns;
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
    instep_store::raise_open_files_limit();
    let tls = options.certificate()?;
    let reserved = Reserved::bind(&options.listen)?;
    if reserved.is_loopback() {
        options.allow_loopback_subscribers();
    }
    if options.publish.base_url.is_empty() {
        options.publish.base_url = reserved.base_url(tls.is_some())?;
    }
    let (limits, admin, state, stands_by) =
        (options.limits.clone(), options.admin.take(), options.publish.state.clone(), options.stand_by);
    let options = options.advertise()?;
    let mut shutdown = pin!(shutdown);
    let settings = (limits.clone(), tls.clone());
    let started =
        start(options, stands_by, reserved, settings, Arc::clone(&monitor), shutdown.as_mut()).await?;
    let Some((server, address, source)) = started else { return Ok(()) };
    let mut access = admin.map(|admin| Access::prepare(admin, &state)).transpose()?;
    let administration = access.as_mut().map(|access| source.administer(access, &limits)).transpose()?;
    let renewal = tls.map(|tls| renew_at_hangup(tls, Arc::clone(&monitor))).transpose();
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
    let served = server.until(ending).await;
    for task in [renewal, administration.flatten()].into_iter().flatten() {
        task.abort();
    }
    let reason = source.finish().await;
    if has_failed {
        return Err(reason.unwrap_or(Error::PublisherFailed));
    }
    served.map_err(|source| Error::Listen { address: address.to_string(), source })
}

/// Publishes, and answers requests: at once with the documents of another server if this one is on standby, otherwise
/// after the first publication. `None` if it was shut down before the first publication was complete.
async fn start(
    options: AdvertisedOptions,
    stands_by: bool,
    reserved: Reserved,
    (limits, tls): (ServerLimits, Option<Tls>),
    monitor: Arc<dyn PublishMonitor>,
    shutdown: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<(ServerTask, SocketAddr, Source)>, Error> {
    #[cfg(feature = "postgres")]
    let mut shutdown = shutdown;
    #[cfg(feature = "postgres")]
    let Some(held) = StandbyServer::hold(&options, stands_by, shutdown.as_mut()).await? else {
        return Ok(None);
    };
    #[cfg(feature = "postgres")]
    if let Some(held) = held {
        let (listener, address) = reserved.listen()?;
        let routes = SwitchedRoutes::unpublished();
        let server = ServerTask::start(listener, routes.router(), limits, tls);
        let mut standby = StandbyServer::start(held, &options, routes.clone(), Arc::clone(&monitor))?;
        let taking_over = async {
            let publisher = standby.publisher(address, &*monitor).await?;
            Source::start_with(options, move |_| Ok(publisher), Arc::clone(&monitor)).await
        };
        let source = tokio::select! {
            () = shutdown => None,
            source = taking_over => Some(source?),
        };
        let Some(source) = source else {
            // Ends the sockets of listeners, for which the server would wait.
            drop(standby);
            let failed = |source| Error::Listen { address: address.to_string(), source };
            return server.until(std::future::ready(())).await.map(|()| None).map_err(failed);
        };
        routes.set(source.routes());
        return Ok(Some((server, address, source)));
    }
    #[cfg(not(feature = "postgres"))]
    let _ = stands_by;
    let source = tokio::select! {
        () = shutdown => return Ok(None),
        source = Source::start_with(options, Publisher::open, monitor) => source?,
    };
    let (listener, address) = reserved.listen()?;
    Ok(Some((ServerTask::start(listener, source.routes(), limits, tls), address, source)))
}

/// A Source that keeps itself current, and its answers: for a server of your own.
pub struct Source {
    live: Live,
    app: App,
    former: Moves,
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
        Self::start_with(options.advertise()?, Publisher::open, monitor).await
    }

    /// Starts as [`Source::start`] does, with a publisher that the caller opens.
    async fn start_with(
        options: AdvertisedOptions,
        open: impl FnOnce(PublishOptions) -> Result<Publisher, Error> + Send + 'static,
        monitor: Arc<dyn PublishMonitor>,
    ) -> Result<Self, Error> {
        let (done, started) = oneshot::channel();
        // Not a task of the runtime: its end must not wait for a publication that is no longer needed.
        let runtime = Handle::current();
        thread::spawn(move || done.send(Self::start_blocking(options, open, monitor, &runtime)).ok());
        started.await.map_err(|_| Error::PublisherFailed)?
    }

    fn start_blocking(
        options: AdvertisedOptions,
        open: impl FnOnce(PublishOptions) -> Result<Publisher, Error>,
        monitor: Arc<dyn PublishMonitor>,
        runtime: &Handle,
    ) -> Result<Self, Error> {
        let AdvertisedOptions { publish, live, channels, site } = options;
        let publisher = open(publish)?;
        publisher.report_hidden(&*monitor)?;
        let (ending, is_ending) = watch::channel(false);
        let source = publisher.context();
        let origin = site.only_origin(source.place());
        let channels = channels.open(source, runtime, origin.as_ref(), &is_ending)?;
        let recorder = Recorder::new(&publisher, &monitor);
        let (overview_sender, overview) = watch::channel(Arc::default());
        let app = site.open(source, channels.site, overview, &monitor)?;
        let former = Moves::of(source)?;
        let live = Live::start(publisher, live, channels.announcer, overview_sender, monitor)?;
        let admin = Arc::new(Admin { recorder, requests: live.requests(), overview: live.overview() });
        Ok(Self { live, app, former, ending, admin })
    }

    /// Returns the routes, at the path of the base URL: to be served directly, or merged into a router with its own
    /// routes and fallback. At the root of a host they take every path that the other router has no route for.
    pub fn router(&self) -> Router {
        self.app.router()
    }

    /// Returns the routes of a separate server, which also answers below the former base URLs of the Source.
    fn routes(&self) -> Router {
        self.former.redirecting(self.app.router())
    }

    /// Returns the base URL.
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
