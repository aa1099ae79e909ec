//! The place of a resource: clashing names get distinct paths, and a file makes room for a folder of its name.

use std::{borrow::Cow, ops::Bound};

use resourcesync::Uri;

use super::{CommitError, Committer, NewFile, group::Moving};
use crate::{
    map::{self, CopyPath},
    plan::{Desired, ResourceMetadata, VersionKey, may_hide_changes},
    state::{HeldAt, HeldResource, Operation, Owed, SetId},
    store::{NameKind, Obstacle, StoreError},
};

impl Committer {
    pub(super) fn add_file(&mut self, file: NewFile) -> Result<(), CommitError> {
        // A resource that reappears in the same group is replaced, not removed.
        self.group.removals.remove(&file.uri);
        // The plan found that a new resource is not held. In a baseline this saves a query for each resource.
        let held = if file.is_new { None } else { self.state.held(file.uri.as_str())? };
        let mut made_for = None;
        let path = match (&held, self.group.places.get(&file.uri)) {
            // A resource keeps its path, or the one that it got in this group, so that a path does not depend on later
            // resources.
            (_, Some(placing)) => placing.path.clone(),
            (Some(held), None) => self.current_path(held),
            (None, None) => {
                self.make_way(&file.path)?;
                made_for = Some(file.path.folder());
                match self.free_path(&file.uri, &file.path) {
                    Err(CommitError::Store(error)) if error.concerns_one_resource() => {
                        self.refuse(file, error);
                        return Ok(());
                    }
                    path => path?,
                }
            }
        };
        self.group.ledger.settle_if_owed(file.set, file.uri.as_str());
        self.group.ledger.note_racy(file.uri.as_str(), file.is_racy);
        if made_for != Some(path.folder()) {
            self.make_way(&path)?;
        }
        self.group.names.insert(self.name(path.as_str()).into_owned(), file.uri.clone());
        self.group.place(file, path, held.is_some());
        Ok(())
    }

    /// Leaves out a file whose place something in the copy blocks, and makes its resource pending.
    fn refuse(&mut self, file: NewFile, error: StoreError) {
        self.group.superseded.push(file.staged.name);
        let mut desired = Desired::new(file.uri.clone());
        (desired.metadata, desired.retrieval) = (file.metadata, file.retrieval);
        if desired.can_be_requested() {
            self.group.ledger.owe(file.set, Owed::new(desired, format!("storage: {error}")));
        }
        self.group.refused.push((file.uri, error));
    }

    pub(super) fn add_adopted(&mut self, uri: Uri, path: CopyPath, metadata: ResourceMetadata, set: SetId) {
        self.group.ledger.note_racy(uri.as_str(), may_hide_changes(metadata.lastmod.as_ref(), None));
        self.group.adopted.push(Operation::Place {
            key: path.key_beside(&path),
            uri,
            path,
            staged: 0,
            sets: set.mask(),
            metadata,
            replaces: false,
            place: HeldAt::Path,
        });
    }

    pub(super) fn add_deletion(&mut self, uri: &Uri, set: SetId) -> Result<(), CommitError> {
        self.group.ledger.settle(set, uri.as_str());
        // A resource that is added and removed within one group never gets a name.
        if let Some(placing) = self.group.places.remove(uri) {
            let name = self.name(placing.path.as_str()).into_owned();
            self.group.names.remove(&name);
            self.group.superseded.push(placing.file.staged.name);
        }
        let Some(held) = self.state.held(uri.as_str())? else { return Ok(()) };
        // If another set holds it too, the file stays, and only this set drops it (B16).
        if held.is_only_in(set) {
            let path = self.current_path(&held);
            let into = self.store.staging().fresh_name();
            self.group.remove(&held, path, into, set);
        } else {
            self.group.ledger.left.push((uri.clone(), set));
        }
        Ok(())
    }

    /// Returns a name as the store compares names.
    fn name<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if self.store.folds_names() { Cow::Owned(map::folded(path)) } else { Cow::Borrowed(path) }
    }

    /// Returns the path that a held file has once the group has made room.
    fn current_path(&self, held: &HeldResource) -> CopyPath {
        self.group.moves.get(&held.uri).map_or(&held.path, |moving| &moving.to).clone()
    }

    /// Returns the path for a resource that is not held yet.
    fn free_path(&mut self, uri: &Uri, mapped: &CopyPath) -> Result<CopyPath, CommitError> {
        let (path, kind) = self.told_apart(uri, mapped, mapped.clone())?;
        if self.has_pending_below(&path) || kind == Some(NameKind::Folder) {
            return Ok(self.told_apart(uri, mapped, path.body())?.0);
        }
        Ok(path)
    }

    /// Returns `true` if a resource of the group gets a name below a path.
    fn has_pending_below(&self, path: &CopyPath) -> bool {
        let name = self.name(path.as_str());
        let mut prefix = String::with_capacity(name.len() + 1);
        prefix.push_str(&name);
        prefix.push('/');
        let mut from = self.group.names.range::<str, _>((Bound::Included(&*prefix), Bound::Unbounded));
        from.next().is_some_and(|(name, _)| name.starts_with(&prefix))
    }

    /// Returns the path itself, or the path with a digest if another resource has the name, and the kind of that name.
    /// The other resource then gets a digest too (D7).
    fn told_apart(
        &mut self,
        uri: &Uri,
        mapped: &CopyPath,
        path: CopyPath,
    ) -> Result<(CopyPath, Option<NameKind>), CommitError> {
        let mut clashes = self.group.contested.contains(&*self.name(path.as_str()));
        if let Some(other) =
            self.group.names.get(&*self.name(path.as_str())).filter(|other| *other != uri).cloned()
        {
            clashes = true;
            self.tell_pending_apart(&other);
        }
        // A file system that folds names may have the other resource under a name that looks different.
        let kind = self.kind(path.as_str())?;
        let is_taken = matches!(kind, Some(NameKind::File | NameKind::Other));
        if is_taken || self.store.folds_names() {
            let mut is_known = clashes || self.options.replaces_unknown || VersionKey::parse(uri).is_some();
            for other in self.state.held_like(mapped)? {
                let is_there = self.name(other.path.as_str()) == self.name(path.as_str());
                is_known |= is_there;
                let goes = other.uri == *uri || self.group.removals.contains_key(&other.uri);
                if goes || !(is_there || self.store.folds_names()) {
                    continue;
                }
                clashes = true;
                // None of them keeps the name, so that the layout does not depend on the order of arrival.
                if is_there && !self.group.moves.contains_key(&other.uri) {
                    let to = other.path.told_apart(other.uri.as_str());
                    self.move_held(&other, to);
                }
            }
            // A file that instep did not write, or a link, is never overwritten unless the operator adopts the copy
            // (B25, B31).
            if is_taken && !is_known {
                let is_file = kind == Some(NameKind::File);
                let by = if is_file { Obstacle::UnknownFile } else { Obstacle::NotAFile };
                return Err(StoreError::Blocked { path: path.as_str().to_owned(), by }.into());
            }
        }
        if !clashes {
            return Ok((path, kind));
        }
        self.group.contested.insert(self.name(path.as_str()).into_owned());
        let apart = path.told_apart(uri.as_str());
        let kind = self.kind(apart.as_str())?;
        Ok((apart, kind))
    }

    fn tell_pending_apart(&mut self, uri: &Uri) {
        if let Some(to) = self.group.places.get(uri).map(|placing| placing.path.told_apart(uri.as_str())) {
            self.rename_pending(uri, &to);
        }
    }

    /// Moves each resource that has the name of a folder on the way to the path of its body (D5).
    fn make_way(&mut self, path: &CopyPath) -> Result<(), CommitError> {
        if path.folder().is_empty() || self.group.open_folders.contains_key(path.folder()) {
            return Ok(());
        }
        let mut is_there = true;
        for folder in path.folders() {
            if let Some(other) = self.group.names.get(&*self.name(folder)).cloned()
                && let Some(body) = self.group.places.get(&other).map(|placing| placing.path.body())
            {
                self.rename_pending(&other, &body);
            }
            let kind = if is_there { self.kind(folder)? } else { None };
            is_there = kind == Some(NameKind::Folder);
            if kind == Some(NameKind::File)
                && let Some(folder) = CopyPath::from_state(folder)
                && let Some(owner) = self.owner_of(&folder)?
                && !self.group.removals.contains_key(&owner.uri)
                && !self.group.moves.contains_key(&owner.uri)
            {
                // Below its own name: where names are folded the folder may be written otherwise, and could not be made
                // beside the file.
                self.move_held(&owner, owner.path.body());
            }
        }
        self.group.open_folders.insert(path.folder().to_owned(), is_there);
        Ok(())
    }

    /// Returns the resource that is held under exactly this path.
    fn owner_of(&self, path: &CopyPath) -> Result<Option<HeldResource>, CommitError> {
        let name = self.name(path.as_str());
        Ok(self.state.held_like(path)?.into_iter().find(|held| self.name(held.path.as_str()) == name))
    }

    fn move_held(&mut self, held: &HeldResource, to: CopyPath) {
        let by = self.store.staging().fresh_name();
        if self.group.places.contains_key(&held.uri) {
            self.rename_pending(&held.uri, &to);
        }
        self.group.names.insert(self.name(to.as_str()).into_owned(), held.uri.clone());
        self.group.moves.insert(held.uri.clone(), Moving { from: held.path.clone(), to, by });
    }

    fn rename_pending(&mut self, uri: &Uri, to: &CopyPath) {
        let Some(from) = self.group.places.get(uri).map(|placing| placing.path.clone()) else { return };
        let old_name = self.name(from.as_str()).into_owned();
        let new_name = self.name(to.as_str()).into_owned();
        self.group.names.remove(&old_name);
        self.group.names.insert(new_name, uri.clone());
        if let Some(placing) = self.group.places.get_mut(uri) {
            placing.path = to.clone();
        }
    }

    /// Returns the kind of a name; `None` if a file on the way makes it impossible.
    fn kind(&self, path: &str) -> Result<Option<NameKind>, CommitError> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if self.group.open_folders.get(folder) == Some(&false) {
            return Ok(None);
        }
        if self.group.free_names.contains(path) {
            return Ok(None);
        }
        let kind = match self.store.names() {
            Some(names) if !names.are_rows() => names.kind(path),
            _ => {
                let path = CopyPath::from_state(path);
                return Ok(path.map(|path| self.state.kind_at(&path)).transpose()?.flatten());
            }
        };
        match kind {
            Err(error) if error.concerns_one_resource() => Ok(None),
            kind => Ok(kind?),
        }
    }
}
