//! A Source that another server publishes, opened by a standby server: it takes the lock of its own state folder, and
//! reads the catalogue.

use std::sync::{Arc, atomic::AtomicBool};

use instep_store::Lock;

use super::{Publisher, context::SourceContext, lock, rebase, sets};
use crate::{Error, PublishOptions, render::SourcePolicy, sink::discard_leftovers};

/// The lock of the state folder of a standby server. The publishing server has another state folder.
#[derive(Debug)]
pub(crate) struct HeldFolder {
    options: PublishOptions,
    lock: Arc<Lock>,
}

impl HeldFolder {
    /// Takes the lock. `None` if the catalogue is a file in the folder, so that only one server can use it.
    ///
    /// # Errors
    /// If an option cannot be followed, the database cannot be used, or another process has the folder.
    pub(crate) fn take(options: &PublishOptions) -> Result<Option<Self>, Error> {
        SourcePolicy::new(options)?;
        lock::refuse_content(options)?;
        let place = rebase::place_of_catalogue(options)?;
        if place.database().is_none() {
            return Ok(None);
        }
        if !options.state.exists() {
            place.probe()?;
        }
        let lock = Arc::new(lock::take(&options.state)?);
        discard_leftovers(&options.out);
        Ok(Some(Self { options: options.clone(), lock }))
    }

    /// Opens the Source to read it; `None` if the database does not have it yet.
    ///
    /// # Errors
    /// If the options are not those of the Source, or the database fails.
    pub(crate) fn open_beside(&self) -> Result<Option<SourceContext>, Error> {
        let mut options = self.options.clone();
        let Some(catalogue) = rebase::place_of_catalogue(&options)?.beside()? else { return Ok(None) };
        rebase::check(&options, &catalogue)?;
        sets::as_published(&mut options.sets, &catalogue)?;
        SourceContext::beside(options, catalogue).map(Some)
    }

    /// Takes the right to publish. Stops to wait for it once `gives_up` is set.
    ///
    /// # Errors
    /// [`Error::Locked`] if another server has it; otherwise as [`Publisher::open`].
    pub(crate) fn publisher(&self, gives_up: Arc<AtomicBool>) -> Result<Publisher, Error> {
        Publisher::with_lock(self.options.clone(), Arc::clone(&self.lock), gives_up)
    }
}
