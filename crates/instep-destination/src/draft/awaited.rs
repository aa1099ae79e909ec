//! Resources that failed and wait for a change that explains it.

use std::collections::BTreeSet;

/// Resources that failed, and that a later change may explain (D39).
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    pending: BTreeSet<String>,
    /// The resources that a change explained.
    pub(crate) explained: Vec<String>,
}

impl Awaited {
    /// Waits for changes of these resources.
    pub(crate) fn add(&mut self, uris: impl Iterator<Item = String>) {
        self.pending.extend(uris);
    }

    /// Returns `true` if a change of a resource was waited for.
    pub(super) fn meet(&mut self, uri: &str) -> bool {
        let was_awaited = self.pending.remove(uri);
        if was_awaited {
            self.explained.push(uri.to_owned());
        }
        was_awaited
    }
}
