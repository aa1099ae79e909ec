//! The index of a plan by the URIs of its actions, and fingerprints of these, which usually make it needless.

use std::{
    cell::{Cell, RefCell},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use rusqlite::Connection;

/// The most fingerprints that are kept. They take 8 MiB.
const MOST: usize = 1 << 20;

/// The index of a plan by URI. It is made when a URI is looked up for the first time: an index that grows with each row makes
/// the whole draft slower, and many plans never need it.
#[derive(Debug)]
pub(super) struct UriIndex {
    is_made: Cell<bool>,
    /// Fingerprints of all URIs; `None` if some are not kept.
    fingerprints: RefCell<Option<Vec<u64>>>,
}

impl UriIndex {
    pub(super) fn new() -> Self {
        Self { is_made: Cell::new(false), fingerprints: RefCell::new(Some(Vec::new())) }
    }

    /// Takes note of the URI of a new action.
    pub(super) fn add(&self, uri: &str) {
        let mut kept = self.fingerprints.borrow_mut();
        if kept.as_ref().is_some_and(|fingerprints| fingerprints.len() == MOST) {
            *kept = None;
        }
        if let Some(fingerprints) = kept.as_mut() {
            fingerprints.push(fingerprint(uri));
        }
    }

    /// Returns `true` if two actions may have the same URI, also if that is not known. It forgets the fingerprints.
    pub(super) fn may_repeat(&self) -> bool {
        let Some(mut fingerprints) = self.fingerprints.take() else { return true };
        fingerprints.sort_unstable();
        !fingerprints.is_sorted_by(|one, next| one < next)
    }

    /// Makes the index, unless it is there.
    pub(super) fn make(&self, connection: &Connection) -> rusqlite::Result<()> {
        if !self.is_made.get() {
            connection.execute_batch("CREATE INDEX action_by_uri ON action (uri)")?;
            self.is_made.set(true);
            *self.fingerprints.borrow_mut() = None;
        }
        Ok(())
    }
}

fn fingerprint(uri: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uri.hash(&mut hasher);
    hasher.finish()
}
