//! Everything that a server answers for one Source, put together.

use std::sync::Arc;

use tokio::sync::watch;

use super::{
    Gateway, Pages, SourceView,
    app::{App, AppParts},
    batch,
    channels::ChannelRoutes,
    host,
    pages::PagesOfSource,
    resources::ResourceFiles,
    turns::PageTurns,
    versions,
};
use crate::{Error, PublishMonitor, publish::SourceContext, render::SourcePlace, status::Overview};

/// The options of a server that concern its answers.
#[derive(Clone)]
pub(super) struct SiteOptions {
    pub(super) batches: bool,
    pub(super) strict_host: bool,
    /// `None` allows other origins unless the base URL is on loopback.
    pub(super) cors: Option<bool>,
    pub(super) pages: Option<Arc<dyn Pages>>,
    pub(super) gateways: Vec<Arc<dyn Gateway>>,
}

impl SiteOptions {
    fn allows_other_origins(&self, place: &SourcePlace) -> bool {
        self.cors.unwrap_or_else(|| !host::is_local(place.base()))
    }

    /// Returns the only origin that may open a socket; `None` for any.
    pub(super) fn only_origin(&self, place: &SourcePlace) -> Option<Arc<str>> {
        let own = || place.base().splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        (self.strict_host || !self.allows_other_origins(place)).then(own).map(Arc::from)
    }

    /// Opens what a server answers for a Source.
    ///
    /// # Errors
    /// If a folder cannot be opened, or a gateway fails.
    pub(super) fn open(
        &self,
        source: &SourceContext,
        channels: ChannelRoutes,
        overview: watch::Receiver<Arc<Overview>>,
        monitor: &Arc<dyn PublishMonitor>,
    ) -> Result<App, Error> {
        let place = source.place().clone();
        let view = Arc::new(SourceView::new(source, overview.clone(), &channels)?);
        let mut routes = channels.routes.merge(versions::routes(source));
        if self.batches {
            routes = routes.merge(batch::routes(source, monitor)?);
        }
        for gateway in &self.gateways {
            let opened = gateway.routes(&view);
            routes = routes.merge(opened.map_err(Error::write(&source.options().state))?);
        }
        App::new(AppParts {
            documents: source.options().out.clone(),
            is_shared: source.catalogue().is_shared(),
            resources: ResourceFiles::open(source)?,
            overview,
            strict_host: self.strict_host,
            cors: self.allows_other_origins(&place),
            routes,
            pages: self.pages.clone().map(|pages| PagesOfSource { pages, view, turns: PageTurns::default() }),
            place,
        })
    }
}
