//! An open Source: its lock, the options it was opened with, and the work concurrent with its publications.

use std::path::Path;

use instep_store::Lock;

use super::{context::SourceContext, lock, published, rebase, remembered, sets};
use crate::{
    Error, PublishOptions,
    catalogue::{Catalogue, CatalogueLocation, Clock, system_clock},
    content::Holdings,
    render::{SourcePlace, SourcePolicy},
    scan::ScanStop,
    sink::discard_leftovers,
};

/// A Source that stays open between publications; it holds the Source's lock.
#[derive(Debug)]
pub struct Publisher {
    pub(super) context: SourceContext,
    pub(super) stop: ScanStop,
    /// `true` once it was reported that the times of the Source are ahead of the clock.
    pub(super) reported_clock: bool,
    _lock: Lock,
}

impl Publisher {
    /// Takes the lock and opens the catalogue.
    ///
    /// # Errors
    /// If an option cannot be followed, another publisher holds the lock, or the catalogue cannot be opened.
    pub fn open(options: PublishOptions) -> Result<Self, Error> {
        Self::with_clock(options, system_clock())
    }

    /// Opens a Source with a clock of the caller's.
    ///
    /// # Errors
    /// As [`Publisher::open`].
    pub fn with_clock(mut options: PublishOptions, clock: Clock) -> Result<Self, Error> {
        options.keep_states |=
            options.dumps.changes || options.patches().is_some() || options.versions.is_some();
        // Before the lock: wrong options leave no folder behind.
        SourcePolicy::new(&options)?;
        lock::refuse_content(&options)?;
        let place = rebase::place_of_catalogue(&options)?;
        if !options.state.exists() {
            place.probe()?;
        }
        let lock = lock::take(&options.state)?;
        discard_leftovers(&options.out);
        let catalogue = place.open(&options.state, clock)?;
        rebase::settle(&options, &catalogue)?;
        // In a database it may have another name now.
        place.remember(&options.state, &catalogue)?;
        sets::number(&mut options.sets, &catalogue)?;
        let context = SourceContext::new(options, catalogue)?;
        remembered::keep(&context.options, &context.catalogue)?;
        Ok(Self { context, stop: ScanStop::default(), reported_clock: false, _lock: lock })
    }

    /// Takes the lock of a Source that was opened before, with its former content: to record changes that an
    /// application reports, or to maintain the catalogue. It cannot publish with the options of the operator, which
    /// are not stored completely.
    ///
    /// # Errors
    /// If nothing has been published with this state; otherwise as [`Publisher::open`].
    pub fn reopen(state: &Path) -> Result<Self, Error> {
        let unknown = || remembered::unknown(state);
        if !CatalogueLocation::is_in(state) {
            return Err(unknown());
        }
        let place = CatalogueLocation::known(state)?;
        let lock = lock::take(state)?;
        let catalogue = place.open(state, system_clock())?;
        let options = remembered::load(&catalogue.snapshot()?, state)?.ok_or_else(unknown)?;
        let context = SourceContext::new(options, catalogue)?;
        Ok(Self { context, stop: ScanStop::default(), reported_clock: false, _lock: lock })
    }

    /// Returns the request by which a scan that is under way ends early.
    pub(crate) fn stop(&self) -> ScanStop {
        self.stop.clone()
    }

    /// Returns the options it was opened with.
    pub fn options(&self) -> &PublishOptions {
        &self.context.options
    }

    /// Returns the names and URIs of the documents.
    pub(crate) fn place(&self) -> &SourcePlace {
        self.context.place()
    }

    /// Returns the catalogue of resources and their changes.
    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.context.catalogue
    }

    /// Returns the folders and manifests with the resources.
    pub(crate) fn holdings(&self) -> &Holdings {
        &self.context.holdings
    }

    /// Returns a builder of batches of resources, which works beside this Source.
    #[cfg(feature = "serve")]
    pub(crate) fn batches(&self) -> crate::dump::Batches {
        crate::dump::Batches {
            policy: self.context.policy.clone(),
            catalogue: self.context.catalogue.clone(),
            holdings: self.context.holdings.clone(),
            limits: crate::dump::BatchLimits::default(),
        }
    }

    /// Returns the names of the sets that are published but not wanted any more: the next publication withdraws them.
    pub(crate) fn unwanted_sets(&self) -> Result<Vec<String>, Error> {
        let mut sets = published::sets(&self.context.catalogue.snapshot()?)?;
        sets.retain(|name| self.options().sets.iter().all(|set| set.name != *name));
        Ok(sets)
    }
}
