//! Manifests that still have the URIs of before the Source moved: read as they are, they would delete every resource that
//! moved, and create it again where it was (C34).

use crate::{
    Error, NoMonitor,
    catalogue::Snapshot,
    content::{Holdings, Listing},
};

/// A move of the Source from one base URL to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceMove<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    /// `true` if the catalogue has the new URIs already.
    pub(crate) is_recorded: bool,
}

impl SourceMove<'_> {
    /// Returns the URIs that a resource has before and after the move; `None` if it does not move.
    fn uris(&self, recorded: &str) -> Option<(String, String)> {
        let (own, other) = if self.is_recorded { (self.to, self.from) } else { (self.from, self.to) };
        let elsewhere = format!("{other}{}", recorded.strip_prefix(own)?);
        let uris = (recorded.to_owned(), elsewhere);
        Some(if self.is_recorded { (uris.1, uris.0) } else { uris })
    }
}

/// Refuses manifests with former URIs before the Source moves. Standard input can be read once only, so it is checked
/// when it is scanned.
pub(crate) fn refuse_before_move(
    holdings: &Holdings,
    snapshot: &Snapshot,
    moved: SourceMove<'_>,
) -> Result<(), Error> {
    for manifest in holdings.manifests().iter().filter(|manifest| !manifest.is_standard_input()) {
        if let Some(listing) = manifest.read(&NoMonitor)? {
            refuse(&listing, snapshot, moved)?;
        }
    }
    Ok(())
}

/// Refuses a manifest that names a resource by the URI that it had before a move, and not by the one it has since.
pub(super) fn refuse(listing: &Listing<'_>, snapshot: &Snapshot, moved: SourceMove<'_>) -> Result<(), Error> {
    if !listing.names_below(moved.from)? {
        return Ok(());
    }
    let number = listing.number();
    for row in snapshot.resources_after(u64::MAX, &[number]) {
        let row = row?;
        if row.key.first() != Some(&number) {
            break;
        }
        let Some((former, present)) = moved.uris(row.uri.as_str()) else { continue };
        if listing.names(&former)? && !listing.names(&present)? {
            let SourceMove { from, to, .. } = moved;
            let what = format!(
                "it names {former}, which is {present} with the base URL {to}. Replace {from} by {to} in it: as it is, the \
                 resources that moved would be published as deleted"
            );
            return Err(Error::option(&listing.path(), what));
        }
    }
    Ok(())
}
