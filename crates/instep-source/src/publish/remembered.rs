//! The options of the last publication, for commands that are given the state only.

use std::path::Path;

use crate::{
    Error, PublishOptions,
    catalogue::{Catalogue, Snapshot},
    records::{OPENED_WITH, OpenedWith},
};

/// Stores the options that define the resources, if they changed.
pub(super) fn keep(options: &PublishOptions, catalogue: &Catalogue) -> Result<(), Error> {
    let Some(opened) = OpenedWith::of(options) else { return Ok(()) };
    if OPENED_WITH.read(&catalogue.snapshot()?)?.as_ref() != Some(&opened) {
        catalogue.set_meta(vec![OPENED_WITH.write(&opened)])?;
    }
    Ok(())
}

/// Returns the options as far as they are kept; `None` if the Source was never opened.
pub(super) fn load(snapshot: &Snapshot, state: &Path) -> Result<Option<PublishOptions>, Error> {
    Ok(OPENED_WITH.read(snapshot)?.and_then(|opened| opened.options(state)))
}

/// Returns the error that there is no Source.
pub(super) fn unknown(state: &Path) -> Error {
    let what = format!("no Source was published from {}: publish or serve it first", state.display());
    Error::option("state", what)
}
