//! A Source that moves to another base URL, and one that must not.

use std::path::Path;

use super::published;
use crate::{
    Error, PublishOptions,
    catalogue::{Catalogue, CatalogueLocation},
    content::{self, Holdings},
    records::{FORMER_BASE_URLS, Records},
    render::SourcePlace,
    scan::{self, SourceMove},
};

/// Returns the place of the catalogue. In a database the Source has its base URL as name, unless the operator names another
/// one; one that moves is found by the one before.
pub(super) fn place_of_catalogue(options: &PublishOptions) -> Result<CatalogueLocation, Error> {
    let bases = [Some(options.base_url.as_str()), options.rebase_from.as_deref()].into_iter().flatten();
    let places = bases.map(SourcePlace::new).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&str> = places.iter().map(SourcePlace::base).collect();
    CatalogueLocation::of(&options.state, options.catalogue.as_deref(), &names)
}

/// Moves the Source to another base URL if the options request it; otherwise refuses another base URL.
pub(super) fn settle(options: &PublishOptions, catalogue: &Catalogue) -> Result<(), Error> {
    match check(options, catalogue)? {
        Some(from) => {
            refuse_former_uris(options, catalogue, &from)?;
            rebase(&from, SourcePlace::new(&options.base_url)?.base(), catalogue)
        }
        None => Ok(()),
    }
}

/// Refuses a base URL that differs from the published one, because readers would treat every resource as deleted and
/// another one as created. Returns the base URL to move from; `None` if the Source does not move.
pub(super) fn check(options: &PublishOptions, catalogue: &Catalogue) -> Result<Option<String>, Error> {
    let place = SourcePlace::new(&options.base_url)?;
    let Some(before) = base_url(catalogue)?.filter(|before| before != place.base()) else { return Ok(None) };
    match options.rebase_from.as_deref().map(SourcePlace::new).transpose()? {
        Some(from) if from.base() == before => Ok(Some(before)),
        Some(from) => {
            let what = format!("this Source was published at {before}, not at {}", from.base());
            Err(Error::option("base URL to move from", what))
        }
        None => {
            let given = place.base().to_owned();
            Err(Error::BaseUrlChanged { published: before, given })
        }
    }
}

/// Refuses a move while a manifest has URIs below the former base URL (C34).
pub(super) fn refuse_former_uris(
    options: &PublishOptions,
    catalogue: &Catalogue,
    from: &str,
) -> Result<(), Error> {
    let place = SourcePlace::new(&options.base_url)?;
    let mut before = options.clone();
    from.clone_into(&mut before.base_url);
    let holdings = Holdings::new(&before, catalogue)?;
    let moved = SourceMove { from, to: place.base(), is_recorded: false };
    scan::refuse_before_move(&holdings, &catalogue.snapshot()?, moved)
}

/// Returns the base URL that a Source was last published with; `None` if nothing was published with this state.
///
/// # Errors
/// If the catalogue cannot be read.
pub fn published_base_url(state: &Path) -> Result<Option<String>, Error> {
    match CatalogueLocation::known(state)?.beside()? {
        Some(catalogue) => base_url(&catalogue),
        None => Ok(None),
    }
}

fn base_url(catalogue: &Catalogue) -> Result<Option<String>, Error> {
    let written_for = published::load(&catalogue.snapshot()?)?.published.written_for;
    Ok(written_for.split(' ').next().filter(|base| !base.is_empty()).map(str::to_owned))
}

/// Returns the former base URLs of the Source.
pub(super) fn former_base_urls(records: &impl Records) -> Result<Vec<String>, Error> {
    Ok(FORMER_BASE_URLS.read(records)?.unwrap_or_default())
}

/// Moves resources, changes, versions and the numbers of folders in one transaction, and drops what cannot move:
/// packages and archived documents contain the old URIs. The next publication rewrites every document, with a new
/// inventory, and the Change Lists continue.
fn rebase(from: &str, to: &str, catalogue: &Catalogue) -> Result<(), Error> {
    let mut former = former_base_urls(catalogue)?;
    former.retain(|base| base != to && base != from);
    former.push(from.to_owned());
    let mut before = published::load(&catalogue.snapshot()?)?.published;
    // A run that ends before the documents are written must not move the Source again; each document differs from this.
    before.written_for = format!("{to} moved");
    published::drop_snapshots(&mut before);
    let mut values = content::rebased_numbers(catalogue, from, to)?;
    values.push(FORMER_BASE_URLS.write(&former));
    values.extend(published::written_with_archives_dropped(&before));
    Ok(catalogue.rebase(from, to, values)?)
}
