//! The resources of a supplier and the catalogue side by side, both in the order of the keys. No file is read.

use std::{io, ops::ControlFlow};

use super::{
    added,
    listed::{KnownRows, held_with},
    merge::Merge,
};
use crate::{
    Error, PublishProblem,
    catalogue::{Observation, Resource, ResourceState},
    content::{MOST_BYTES, MediaTypes, Root, Supplied, Supplier},
};

/// The position in the catalogue and in the list of a supplier, which are read side by side.
struct SuppliedMerge<'a> {
    held: KnownRows<'a>,
    last: Option<Vec<u8>>,
    media_types: MediaTypes,
}

impl SuppliedMerge<'_> {
    /// Rejects unordered paths: the merge would record them as deleted.
    fn in_order(&mut self, root: &Root, path: &[u8]) -> Result<(), Error> {
        if self.last.as_deref().is_some_and(|last| last >= path) {
            let what =
                format!("{} comes too late: paths are supplied in order", String::from_utf8_lossy(path));
            return Err(Error::read(root.folder())(io::Error::new(io::ErrorKind::InvalidData, what)));
        }
        self.last = Some(path.to_vec());
        Ok(())
    }
}

impl<'a> Merge<'a, '_> {
    /// Merges all that a supplier has; a resource that it does not name is recorded as deleted.
    pub(super) fn supplied(&mut self, root: &'a Root, supplier: &dyn Supplier) -> Result<(), Error> {
        let snapshot = self.catalogue.snapshot()?;
        let mut beside = SuppliedMerge {
            held: held_with(&snapshot, root.number),
            last: None,
            media_types: MediaTypes::default(),
        };
        let mut taken = Ok(());
        let listed = supplier.each(&mut |supplied| {
            taken = self.next_supplied(root, supplied, &mut beside);
            if taken.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        taken?;
        listed.map_err(Error::supplied(root.folder()))?;
        beside.held.try_for_each(|row| {
            let row = row?;
            self.gone(&row.key, row.sets)
        })
    }

    fn next_supplied(
        &mut self,
        root: &Root,
        supplied: Supplied,
        beside: &mut SuppliedMerge<'_>,
    ) -> Result<(), Error> {
        beside.in_order(root, &supplied.path)?;
        let sets = root.sets_taking(&supplied.path);
        if sets == 0 {
            return Ok(());
        }
        let key = root.key(&supplied.path);
        self.pass_to_listed(&key, true, &mut beside.held)?;
        let known = beside.held.next_if(|row| row.as_ref().is_ok_and(|row| row.key == key)).transpose()?;
        self.take_supplied(root, supplied, sets, known, &mut beside.media_types)
    }

    /// Observes the resource that a supplier has at a path, or has no longer.
    pub(super) fn supplied_at(
        &mut self,
        root: &'a Root,
        supplier: &dyn Supplier,
        path: &[u8],
    ) -> Result<(), Error> {
        let known = self.catalogue.snapshot()?.resource(&root.key(path))?;
        let sets = root.sets_taking(path);
        let supplied = supplier.at(path).map_err(Error::supplied(root.folder()))?.filter(|_| sets != 0);
        match (supplied, known) {
            (Some(supplied), known) => {
                self.take_supplied(root, supplied, sets, known, &mut MediaTypes::default())
            }
            (None, Some(known)) => self.gone(&known.key, known.sets),
            (None, None) => Ok(()),
        }
    }

    fn take_supplied(
        &mut self,
        root: &Root,
        supplied: Supplied,
        sets: u64,
        known: Option<Resource>,
        media_types: &mut MediaTypes,
    ) -> Result<(), Error> {
        self.saw_one();
        let Supplied { path, state, siblings } = supplied;
        if !root.is_publishable(&path) {
            self.is_too_long(root, &path);
            return Ok(());
        }
        let mut resource = Resource::new(root.key(&path), root.uri(&path));
        (resource.sets, resource.state) = (sets, state);
        self.drop_wrong_length(root, &path, &mut resource.state);
        resource.state.links.extend(siblings.into_iter().map(|(mut link, path)| {
            link.href = root.uri(&path);
            link
        }));
        let media_type = resource.state.media_type.take();
        resource.state.media_type = media_type.or_else(|| Some(media_types.of(&path)));
        let added = added::add(
            &mut resource.state,
            known.as_ref().map(|known| &known.state),
            &self.options.algorithms,
            root,
            &path,
        );
        match added {
            Ok(true) => {}
            Ok(false) => self.is_damaged(root, &path),
            Err(error) => return self.cannot_be_had(root, &path, &error),
        }
        if let Err(error) = self.date(root, &path, &mut resource, known.as_ref()) {
            return self.cannot_be_had(root, &path, &error);
        }
        if known.as_ref() == Some(&resource) {
            return Ok(());
        }
        // No Destination reads the list again for that: followers need a change for each resource that is linked
        // differently.
        let relinked = known.is_some_and(|known| known.state.links != resource.state.links);
        self.pipeline.observe(if relinked {
            Observation::Changed(resource)
        } else {
            Observation::Found(resource)
        })
    }

    /// Drops a length that cannot be right.
    fn drop_wrong_length(&mut self, root: &Root, path: &[u8], state: &mut ResourceState) {
        if state.length.is_some_and(|length| length > MOST_BYTES) {
            state.length = None;
            self.skips.unpublishable += 1;
            let what = "is published without its length, which cannot be right";
            self.monitor.problem(&PublishProblem::skipped(root.path(path).display().to_string(), what));
        }
    }

    /// Gives a resource its times: the known ones if it has the same bytes, otherwise those of now. A new state is
    /// also copied.
    fn date(
        &mut self,
        root: &Root,
        path: &[u8],
        resource: &mut Resource,
        known: Option<&Resource>,
    ) -> io::Result<()> {
        let state = &mut resource.state;
        match known.filter(|known| known.state.digests.agrees_with(&state.digests) == Some(true)) {
            Some(known) => {
                state.lastmod = known.state.lastmod;
                (resource.stamp, resource.history) = (known.stamp, known.history);
            }
            None => {
                state.lastmod = Some(self.catalogue.now());
                resource.stamp = stamp(root, path)?;
                self.keep(root, path, &resource.state);
            }
        }
        Ok(())
    }

    /// Copies a new state. If the bytes differ from it, they belong to a later state, which follows.
    fn keep(&mut self, root: &Root, path: &[u8], state: &ResourceState) {
        let Some(spool) =
            self.spool.as_ref().filter(|spool| state.length.is_some_and(|length| spool.takes(length)))
        else {
            return;
        };
        match root.open(path).and_then(|file| spool.keep(file, &state.digests)) {
            Ok(kept) => self.kept += u64::from(kept),
            Err(error) => {
                let what =
                    format!("cannot be kept, so there is no patch from it and no version of it: {error}");
                self.monitor.problem(&PublishProblem::warning(root.path(path).display().to_string(), what));
            }
        }
    }

    fn is_damaged(&self, root: &Root, path: &[u8]) {
        let what = "its bytes are not those that were verified when it came: it is published with the \
                    length and digests that were verified, so a Destination rejects its bytes; repair the copy";
        self.monitor.problem(&PublishProblem::warning(root.path(path).display().to_string(), what));
    }

    /// Reports a path that cannot be read now; what was published of it stays.
    pub(super) fn cannot_be_had(&mut self, root: &Root, path: &[u8], error: &io::Error) -> Result<(), Error> {
        self.skips.unreadable += 1;
        let what = format!("cannot be read: {error}; its published entry stays");
        self.monitor.problem(&PublishProblem::skipped(root.path(path).display().to_string(), what));
        Ok(())
    }
}

/// Returns the stamp of the file that the bytes come from; `None` if they come from no file.
fn stamp(root: &Root, path: &[u8]) -> io::Result<Option<crate::catalogue::FileStamp>> {
    match root.stamp(path) {
        Ok(stamp) => Ok(Some(stamp)),
        Err(_) if root.has_bytes(path) => Ok(None),
        Err(error) => Err(error),
    }
}
