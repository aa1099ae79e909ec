//! An open Source: its lock, the options it was opened with, and the work concurrent with its publications.

#[cfg(all(feature = "serve", feature = "postgres"))]
use std::sync::atomic::AtomicBool;
use std::{fs, path::Path, sync::Arc};

use instep_store::Lock;

use super::{context::SourceContext, lock, rebase, remembered, sets};
use crate::{
    Content, Error, PublishOptions,
    catalogue::{Catalogue, CatalogueLocation, Clock, system_clock},
    content::{Holdings, leave_standard_input},
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
    /// The documents that were put in place and are not announced yet: those of this publication, and of earlier ones that
    /// failed after that.
    pub(super) unannounced: Vec<String>,
    /// `true` once the documents in place are those that were published last, by whichever server.
    is_caught_up: bool,
    /// A standby server has the lock already, so it can be shared.
    _lock: Arc<Lock>,
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
    pub fn with_clock(options: PublishOptions, clock: Clock) -> Result<Self, Error> {
        // Before the lock: wrong options leave no folder behind.
        let place = check_options(&options)?;
        if !options.state.exists() {
            place.probe()?;
        }
        let lock = Arc::new(lock::take(&options.state)?);
        discard_leftovers(&options.out);
        Self::over(options, place, lock, clock)
    }

    /// Opens a Source whose lock the caller has. Stops to wait for the right to publish once `gives_up` is set.
    ///
    /// # Errors
    /// As [`Publisher::open`].
    #[cfg(all(feature = "serve", feature = "postgres"))]
    pub(crate) fn with_lock(
        options: PublishOptions,
        lock: Arc<Lock>,
        gives_up: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let mut place = check_options(&options)?;
        place.give_up_with(gives_up);
        Self::over(options, place, lock, system_clock())
    }

    fn over(
        mut options: PublishOptions,
        place: CatalogueLocation,
        lock: Arc<Lock>,
        clock: Clock,
    ) -> Result<Self, Error> {
        options.keep_states |=
            options.dumps.changes || options.patches().is_some() || options.versions.is_some();
        let catalogue = place.open(&options.state, clock)?;
        rebase::settle(&options, &catalogue)?;
        // After a move to another base URL, the Source has another name in its database.
        place.remember(&options.state, &catalogue)?;
        sets::number(&mut options.sets, &catalogue)?;
        let context = SourceContext::new(options, catalogue)?;
        remembered::keep(&context.options, &context.catalogue)?;
        Ok(Self::of(context, lock))
    }

    fn of(context: SourceContext, lock: Arc<Lock>) -> Self {
        let stop = ScanStop::default();
        let unannounced = Vec::new();
        Self { context, stop, reported_clock: false, unannounced, is_caught_up: false, _lock: lock }
    }

    /// Takes the lock of a Source that was opened before, with its former content: to record changes that an
    /// application reports, or to maintain the catalogue. It cannot publish with the options of the operator, which
    /// are not stored completely.
    ///
    /// # Errors
    /// If nothing has been published with this state; otherwise as [`Publisher::open`].
    pub fn reopen(state: &Path) -> Result<Self, Error> {
        let unknown = || remembered::unknown(state);
        leave_standard_input();
        if !CatalogueLocation::is_in(state)? {
            return Err(unknown());
        }
        let place = CatalogueLocation::known(state)?;
        let lock = Arc::new(lock::take(state)?);
        let catalogue = place.open(state, system_clock())?;
        let mut options = remembered::load(&catalogue.snapshot()?, state)?.ok_or_else(unknown)?;
        // An attempt to publish with other sets may have given them other numbers before it failed (O929).
        sets::number_beside(&mut options.sets, &catalogue)?;
        let context = SourceContext::new(options, catalogue)?;
        Ok(Self::of(context, lock))
    }

    /// Makes the documents in place those that were published last, before the first publication.
    pub(super) fn catch_up(&mut self) -> Result<(), Error> {
        if !self.is_caught_up {
            self.context.catch_up()?;
            self.is_caught_up = true;
        }
        Ok(())
    }

    /// Returns the request by which a scan that is under way ends early.
    pub(crate) fn stop(&self) -> ScanStop {
        self.stop.clone()
    }

    /// Returns the options it was opened with.
    pub fn options(&self) -> &PublishOptions {
        &self.context.options
    }

    /// Returns the open Source, for those that read it beside publications.
    #[cfg(feature = "serve")]
    pub(crate) fn context(&self) -> &SourceContext {
        &self.context
    }

    /// Returns the names, below `out`, of the documents that are to be announced.
    #[cfg(feature = "notify")]
    pub(crate) fn unannounced(&self) -> &[String] {
        &self.unannounced
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
}

/// Refuses options that cannot be followed. Returns the place of the catalogue.
fn check_options(options: &PublishOptions) -> Result<CatalogueLocation, Error> {
    SourcePolicy::new(options)?;
    for content in options.sets.iter().flat_map(|set| &set.content) {
        if let Content::Folder { root, .. } = content {
            // A mistyped folder would be made with the state in it, and published without a resource.
            fs::metadata(root).map_err(Error::read(root))?;
        }
    }
    lock::refuse_content(options)?;
    rebase::place_of_catalogue(options)
}
