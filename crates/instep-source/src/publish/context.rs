//! The context that each step of a publication works with.

use std::{path::Path, sync::atomic::AtomicBool};

use super::{published, rebase, version_place::VersionPlace, view::CatalogueView};
#[cfg(feature = "notify")]
use crate::render::SetView;
use crate::{
    Error, PublishOptions,
    catalogue::{Catalogue, Snapshot},
    content::{Holdings, StateSpool},
    records::STATES_KEPT,
    render::{SourcePlace, SourcePolicy},
};

/// An open Source: the options, and the values derived from them.
#[derive(Debug)]
pub(crate) struct SourceContext {
    pub(super) options: PublishOptions,
    pub(super) policy: SourcePolicy,
    pub(super) catalogue: Catalogue,
    pub(super) holdings: Holdings,
    /// `true` once the sets without a Change Dump were reported: not with each publication.
    pub(super) has_reported_dumps: AtomicBool,
}

impl SourceContext {
    pub(super) fn new(options: PublishOptions, catalogue: Catalogue) -> Result<Self, Error> {
        let policy = SourcePolicy::new(&options)?;
        let holdings = Holdings::new(&options, &catalogue)?;
        let spool = StateSpool::of(&options);
        // A folder that is new has none of the states that another one kept, such as that of another machine; and while
        // nothing needs the present states, those that come are not kept, or only until a package has them.
        let lacks_states =
            !options.needs_present_states() || spool.as_ref().is_some_and(|spool| !spool.folder().exists());
        if lacks_states && STATES_KEPT.read(&catalogue)?.is_some() {
            catalogue.set_meta(vec![STATES_KEPT.forget()])?;
        }
        if let Some(spool) = &spool {
            spool.open().map_err(Error::write(spool.folder()))?;
        }
        Ok(Self { options, policy, catalogue, holdings, has_reported_dumps: AtomicBool::new(false) })
    }

    /// Opens a Source whose catalogue is only read: another process publishes it.
    #[cfg(all(feature = "serve", feature = "postgres"))]
    pub(super) fn beside(options: PublishOptions, catalogue: Catalogue) -> Result<Self, Error> {
        let policy = SourcePolicy::new(&options)?;
        let holdings = Holdings::new(&options, &catalogue)?;
        Ok(Self { options, policy, catalogue, holdings, has_reported_dumps: AtomicBool::new(false) })
    }

    /// Returns the options it was opened with.
    pub(crate) fn options(&self) -> &PublishOptions {
        &self.options
    }

    /// Returns the names and URIs of the documents.
    pub(crate) fn place(&self) -> &SourcePlace {
        &self.policy.place
    }

    /// Returns the catalogue of resources and their changes.
    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns the folders and manifests with the resources.
    pub(crate) fn holdings(&self) -> &Holdings {
        &self.holdings
    }

    /// Returns a builder of batches of resources, which works beside this Source.
    #[cfg(feature = "serve")]
    pub(crate) fn batches(&self) -> crate::dump::Batches {
        crate::dump::Batches {
            policy: self.policy.clone(),
            catalogue: self.catalogue.clone(),
            holdings: self.holdings.clone(),
            limits: crate::dump::BatchLimits::default(),
        }
    }

    /// Returns the former base URLs of the Source.
    pub(crate) fn former_base_urls(&self) -> Result<Vec<String>, Error> {
        rebase::former_base_urls(&self.catalogue)
    }

    /// Returns `true` if the catalogue has other sets by now than those that this Source was opened with.
    #[cfg(all(feature = "serve", feature = "postgres"))]
    pub(crate) fn has_other_sets(&self) -> Result<bool, Error> {
        let kept = crate::records::SETS.read(&self.catalogue)?.unwrap_or_default();
        Ok(!kept.is_empty() && !self.options.sets.iter().map(|set| &set.name).eq(&kept))
    }

    /// Returns the names of the sets that are published but not wanted any more: the next publication withdraws them.
    pub(crate) fn unwanted_sets(&self) -> Result<Vec<String>, Error> {
        let mut sets = published::sets(&self.catalogue.snapshot()?)?;
        sets.retain(|name| self.options.sets.iter().all(|set| set.name != *name));
        Ok(sets)
    }

    pub(super) fn out(&self) -> &Path {
        &self.options.out
    }

    /// Returns the sets as documents show them, for notifications of what these have.
    #[cfg(feature = "notify")]
    pub(crate) fn set_views<'a>(&'a self, snapshot: &'a Snapshot) -> Vec<Box<dyn SetView + 'a>> {
        self.views(snapshot).into_iter().map(|view| Box::new(view) as Box<dyn SetView + 'a>).collect()
    }

    /// Returns the sets as a snapshot of the catalogue shows them, in the order of the policy.
    pub(super) fn views<'a>(&'a self, snapshot: &'a Snapshot) -> Vec<CatalogueView<'a>> {
        (0u8..)
            .zip(&self.policy.sets)
            .map(|(set, _)| CatalogueView {
                snapshot,
                holdings: &self.holdings,
                base: self.place().base(),
                patches_in: self.catalogue.is_shared().then(|| self.out()),
                versions: self.options.versions.map(|_| VersionPlace::new(self.place().base())),
                set,
            })
            .collect()
    }
}
