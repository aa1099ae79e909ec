//! The context that each step of a publication works with.

use std::path::Path;

use super::{version_place::VersionPlace, view::CatalogueView};
use crate::{
    Error, PublishOptions,
    catalogue::{Catalogue, Snapshot},
    content::{Holdings, StateSpool},
    records::STATES_KEPT,
    render::{SourcePlace, SourcePolicy},
};

/// An open Source: the options, and the values derived from them.
#[derive(Debug)]
pub(super) struct SourceContext {
    pub(super) options: PublishOptions,
    pub(super) policy: SourcePolicy,
    pub(super) catalogue: Catalogue,
    pub(super) holdings: Holdings,
}

impl SourceContext {
    pub(super) fn new(options: PublishOptions, catalogue: Catalogue) -> Result<Self, Error> {
        let policy = SourcePolicy::new(&options)?;
        let holdings = Holdings::new(&options, &catalogue)?;
        if let Some(spool) = StateSpool::of(&options) {
            // A folder that is new has none of the states that another one kept, such as that of another machine.
            if !spool.folder().exists() && STATES_KEPT.read(&catalogue)?.is_some() {
                catalogue.set_meta(vec![STATES_KEPT.forget()])?;
            }
            spool.open().map_err(Error::write(spool.folder()))?;
        }
        Ok(Self { options, policy, catalogue, holdings })
    }

    pub(super) fn place(&self) -> &SourcePlace {
        &self.policy.place
    }

    pub(super) fn out(&self) -> &Path {
        &self.options.out
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
