//! What is published, kept in the catalogue.

use serde_json::from_slice;

use crate::{
    Error,
    catalogue::{Catalogue, Snapshot},
    render::Facts,
};

const PUBLISHED: &str = "published";
/// What was about to be put in place; it is there only while that happens, or when it was interrupted.
const PLACING: &str = "placing";

/// What is in place, and whether that is certain.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) facts: Facts,
    /// The last publication was interrupted: each document is written again.
    pub(super) repair: bool,
}

impl Published {
    /// What the catalogue knows; nothing of it is relied upon where it cannot be read.
    pub(super) fn load(snapshot: &Snapshot) -> Result<Self, Error> {
        let facts = |name| -> Result<Option<Facts>, Error> {
            Ok(snapshot.meta(name)?.and_then(|bytes| from_slice(&bytes).ok()))
        };
        let facts_in_place = facts(PUBLISHED)?.unwrap_or_default();
        Ok(match facts(PLACING)? {
            Some(placing) => Self { facts: facts_in_place.interrupted(placing), repair: true },
            None => Self { facts: facts_in_place, repair: false },
        })
    }
}

/// Notes what is about to be put in place.
pub(super) fn begin(catalogue: &Catalogue, next: &Facts) -> Result<(), Error> {
    Ok(catalogue.set_meta(vec![(PLACING.to_owned(), Some(encoded(next)))])?)
}

/// Notes that it is in place.
pub(super) fn complete(catalogue: &Catalogue, next: &Facts) -> Result<(), Error> {
    let values = vec![(PUBLISHED.to_owned(), Some(encoded(next))), (PLACING.to_owned(), None)];
    Ok(catalogue.set_meta(values)?)
}

fn encoded(facts: &Facts) -> Vec<u8> {
    // Maps with text as keys and plain values: nothing that JSON cannot hold.
    serde_json::to_vec(facts).unwrap_or_default()
}
