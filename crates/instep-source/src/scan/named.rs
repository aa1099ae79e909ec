//! Resources that an application has named, at URIs that a folder or a manifest of the Source has since. Each would be
//! listed twice, and would stay listed when the folder or the manifest does not have it any more (O729).

use std::cmp::Ordering;

use resourcesync::Change;

use super::merge::Merge;
use crate::{
    Error,
    catalogue::{Observation, Stamps},
    content::{Holdings, Listed, Root},
};

impl Merge<'_, '_> {
    /// Returns all resources that an application has named, in the order of their URIs.
    pub(super) fn named(&self) -> Result<Stamps, Error> {
        let (from, to) = Holdings::keys_of_named(None);
        Ok(self.catalogue.stamps(from, to)?)
    }

    /// Records as gone those at URIs of a folder, which lists its own resources.
    pub(super) fn leave_to_root(&mut self, root: &Root, holdings: &Holdings) -> Result<(), Error> {
        let (from, to) = Holdings::keys_of_named(Some(root));
        let mut named = self.catalogue.stamps(from, to)?;
        while let Some((key, held)) = named.peek() {
            let uri = std::str::from_utf8(&key[1..]).unwrap_or_default();
            if holdings.root_of_uri(uri).is_some_and(|(of, _)| of.number == root.number) {
                self.gone(key, held.sets)?;
            }
            named.advance()?;
        }
        Ok(())
    }

    /// Records as gone the one that has the URI of a line of a manifest, whose lines come in the order of their URIs.
    pub(super) fn leave_to_line(&mut self, listed: &Listed, named: &mut Stamps) -> Result<(), Error> {
        while let Some((key, held)) = named.peek() {
            match key[1..].cmp(listed.uri.as_str().as_bytes()) {
                Ordering::Less => {}
                // The manifest itself reports the deletion: it is not guarded.
                Ordering::Equal if listed.change == Some(Change::Deleted) => {
                    return self.pipeline.observe(Observation::Gone { key: key.to_vec() });
                }
                Ordering::Equal => return self.gone(key, held.sets),
                Ordering::Greater => return Ok(()),
            }
            named.advance()?;
        }
        Ok(())
    }
}
