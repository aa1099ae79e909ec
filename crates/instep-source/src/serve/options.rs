//! Options for serving a Source.

#[cfg(feature = "tls")]
use std::path::PathBuf;
use std::{path::Path, sync::Arc, time::Duration};

use super::{
    AdminOptions, Gateway, Pages, ServerLimits, batch, channels::Channels, site::SiteOptions, tls::Tls,
};
#[cfg(feature = "notify")]
use crate::notify::ChannelOptions;
use crate::{DumpPolicy, Error, PublishOptions, live::LiveOptions};

/// The shortest interval between renewals of a one-document Resource List: a reader of it also reads the later
/// changes.
const SMALL_SNAPSHOT_EVERY: Duration = Duration::from_secs(300);

/// A Source that is published continuously and served.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeOptions {
    /// Options for the publication. An empty base URL means that of the listening address.
    pub publish: PublishOptions,
    /// Host and port to listen on; port 0 takes any free one.
    pub listen: String,
    /// Certificate chain and key, both in PEM; they are read again at SIGHUP.
    #[cfg(feature = "tls")]
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Options for finding and publishing changes.
    pub live: LiveOptions,
    /// Bounds of the resources that clients can use.
    pub limits: ServerLimits,
    /// The channels that announce changes.
    #[cfg(feature = "notify")]
    pub channels: ChannelOptions,
    /// Answers requests for many resources at once.
    pub batches: bool,
    /// The listener for applications and the operator; `None` if there is none.
    pub admin: Option<AdminOptions>,
    /// Refuses requests for any host but that of the base URL, with 421. A Source whose base URL is on loopback
    /// refuses all hosts but those of loopback in any case.
    pub strict_host: bool,
    /// Lets web pages of any origin read the documents (CORS). `None` allows it unless the base URL is on loopback,
    /// so that sites that the user visits cannot read a Source that only this machine can reach.
    pub cors: Option<bool>,
    /// Web pages, which the caller provides; `None` if there are none.
    pub pages: Option<Arc<dyn Pages>>,
    /// Further protocols of the Source, which the caller provides.
    pub gateways: Vec<Arc<dyn Gateway>>,
    /// While another server publishes this Source, shows the same documents, and takes its place when it ends. This needs a
    /// catalogue in PostgreSQL; with a file, [`serve()`](super::serve()) ends with [`Error::Locked`].
    pub stand_by: bool,
}

/// Options whose channels and batches are in the Capability Lists.
pub(super) struct AdvertisedOptions {
    pub(super) publish: PublishOptions,
    pub(super) live: LiveOptions,
    pub(super) channels: Channels,
    pub(super) site: SiteOptions,
}

impl ServeOptions {
    /// Returns options for the files of a folder, served at `http://127.0.0.1:8080/`. Documents and state lie in its folder
    /// `.instep`. There is a Resource Dump while the set is small enough.
    pub fn new(folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        let mut publish = PublishOptions::new(folder, "");
        publish.out = publish.state.join("documents");
        publish.dumps.policy = DumpPolicy::Auto;
        publish.lists.small_snapshot_every = SMALL_SNAPSHOT_EVERY;
        Self {
            publish,
            listen: "127.0.0.1:8080".to_owned(),
            #[cfg(feature = "tls")]
            tls: None,
            live: LiveOptions::default(),
            limits: ServerLimits::default(),
            #[cfg(feature = "notify")]
            channels: ChannelOptions::default(),
            batches: true,
            admin: Some(AdminOptions::default()),
            strict_host: false,
            cors: None,
            pages: None,
            gateways: Vec::new(),
            stand_by: false,
        }
    }

    /// Reads the certificate of the Source; `None` if it speaks plain HTTP.
    pub(super) fn certificate(&self) -> Result<Option<Tls>, Error> {
        #[cfg(feature = "tls")]
        return self.tls.as_ref().map(|(certificate, key)| Tls::open(certificate, key)).transpose();
        #[cfg(not(feature = "tls"))]
        Ok(None)
    }

    /// Lets the hub call this machine: a Source that listens on loopback has its subscribers there.
    pub(super) fn allow_loopback_subscribers(&mut self) {
        #[cfg(feature = "notify")]
        self.channels.callbacks.extend(instep_net::Cidr::LOOPBACK);
    }

    /// Puts the channels and batches into the Capability Lists.
    pub(super) fn advertise(mut self) -> Result<AdvertisedOptions, Error> {
        if self.live.scan_every.is_zero() {
            let what =
                "without a pause between scans nothing else gets done: give a time such as ten minutes";
            return Err(Error::option("time between scans", what));
        }
        #[cfg(feature = "notify")]
        let channels = Channels::advertise(&self.channels, &mut self.publish)?;
        #[cfg(not(feature = "notify"))]
        let channels = Channels;
        if self.batches {
            batch::advertise(&mut self.publish)?;
        }
        let Self { publish, live, batches, strict_host, cors, pages, gateways, .. } = self;
        let site = SiteOptions { batches, strict_host, cors, pages, gateways };
        Ok(AdvertisedOptions { publish, live, channels, site })
    }
}
