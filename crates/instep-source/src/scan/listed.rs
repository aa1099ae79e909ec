//! A manifest and the catalogue side by side, both in the order of the keys.

use std::{
    iter::Peekable,
    path::{Path, PathBuf},
};

use resourcesync::{Change, Uri};

use super::{
    candidate::Candidate,
    former_uris::{self, SourceMove},
    merge::Merge,
};
use crate::{
    Error, PublishProblem,
    catalogue::{CatalogueError, FileStamp, Observation, Resource, Snapshot},
    content::{Holdings, Listed, Manifest, stamp},
    records::FORMER_BASE_URLS,
};

pub(super) type KnownRows<'a> = Peekable<Box<dyn Iterator<Item = Result<Resource, CatalogueError>> + 'a>>;

impl Merge<'_, '_> {
    /// Merges all resources that a manifest names with the records. Others are recorded as deleted, unless the manifest is
    /// a list of changes or has a bad line.
    pub(super) fn manifest(&mut self, manifest: &Manifest, holdings: &Holdings) -> Result<(), Error> {
        let Some(listing) = manifest.read(self.monitor)? else { return Ok(()) };
        let snapshot = self.catalogue.snapshot()?;
        for from in FORMER_BASE_URLS.read(&snapshot)?.unwrap_or_default() {
            let moved = SourceMove { from: &from, to: manifest.base(), is_recorded: true };
            former_uris::refuse(&listing, &snapshot, moved)?;
        }
        let (mut held, mut named) = (held_with(&snapshot, manifest.number), self.named()?);
        self.skips.unreadable += listing.wrong;
        listing.for_each(|listed, sets| {
            if let Some((root, _)) = holdings.root_of_uri(listed.uri.as_str()) {
                return self.leave_to(&root.folder(), &listed.uri);
            }
            if listed.change != Some(Change::Deleted) && manifest.is_of_documents(listed.uri.as_str()) {
                return self.leave_to_document(&listed.uri);
            }
            self.leave_to_line(&listed, &mut named)?;
            let key = manifest.key(listed.uri.as_str());
            self.pass_to_listed(&key, listing.complete, &mut held)?;
            let known = held.next_if(|row| row.as_ref().is_ok_and(|row| row.key == key)).transpose()?;
            self.listed(key, listed, sets, known)
        })?;
        if listing.complete {
            held.try_for_each(|row| {
                let row = row?;
                self.gone(&row.key, row.sets)
            })?;
        }
        Ok(())
    }

    /// Reports a URI in a manifest that belongs to a folder of the Source, which takes precedence.
    fn leave_to(&mut self, folder: &Path, uri: &Uri) -> Result<(), Error> {
        self.skips.unreadable += 1;
        let what = format!("is a URI of {}, which lists its own resources", folder.display());
        self.monitor.problem(&PublishProblem::skipped(uri.as_str(), what));
        Ok(())
    }

    /// Reports a URI in a manifest at which a document of the Source lies: readers would get that document, and not the
    /// bytes that are listed. It is no fault, because each web archive of a site has its `robots.txt`.
    fn leave_to_document(&mut self, uri: &Uri) -> Result<(), Error> {
        let what = "is not published: a document of this Source has this URI";
        self.monitor.problem(&PublishProblem::warning(uri.as_str(), what));
        Ok(())
    }

    /// Skips the rows before a key; they are deleted if the manifest names everything.
    pub(super) fn pass_to_listed(
        &mut self,
        key: &[u8],
        complete: bool,
        held: &mut KnownRows<'_>,
    ) -> Result<(), Error> {
        while let Some(row) = held.next_if(|row| row.as_ref().map_or(true, |row| row.key.as_slice() < key)) {
            let row = row?;
            if complete {
                self.gone(&row.key, row.sets)?;
            }
        }
        Ok(())
    }

    fn listed(
        &mut self,
        key: Vec<u8>,
        listed: Listed,
        sets: u64,
        held: Option<Resource>,
    ) -> Result<(), Error> {
        self.saw_one();
        if listed.change == Some(Change::Deleted) {
            // The manifest itself reports the deletion: it is not guarded.
            return match held {
                Some(_) => self.pipeline.observe(Observation::Gone { key }),
                None => Ok(()),
            };
        }
        let mut resource = Resource::new(key, listed.uri);
        resource.history = held.as_ref().map(|held| held.history).unwrap_or_default();
        (resource.state, resource.file, resource.sets) = (listed.state, listed.file, sets);
        match resource.file.clone() {
            // The digests of the manifest are used; the file is not read to compute others.
            Some(file) if resource.state.digests.is_empty() => match file_stamp(&file) {
                Ok(stamp) => self.listed_file(resource, file, stamp, held),
                Err(what) => {
                    self.skips.unreadable += 1;
                    self.monitor.problem(&PublishProblem::skipped(file.display().to_string(), what));
                    Ok(())
                }
            },
            _ if held.as_ref() == Some(&resource) => Ok(()),
            _ => self.pipeline.observe(Observation::Found(resource)),
        }
    }

    /// Takes a file without digests in the manifest: it is hashed unless it is unchanged.
    fn listed_file(
        &mut self,
        mut resource: Resource,
        file: PathBuf,
        stamp: FileStamp,
        held: Option<Resource>,
    ) -> Result<(), Error> {
        let unmoved = |held: &Resource| held.stamp == Some(stamp) && !held.rehash && !self.rehash_all;
        let Some(held) = held.filter(unmoved) else {
            return self.pipeline.candidate(Candidate::Listed { resource: Box::new(resource), file, stamp });
        };
        let state = &mut resource.state;
        state.digests.clone_from(&held.state.digests);
        state.length = held.state.length;
        state.lastmod = state.lastmod.or(held.state.lastmod);
        state.media_type = state.media_type.take().or_else(|| held.state.media_type.clone());
        resource.stamp = held.stamp;
        if resource == held { Ok(()) } else { self.pipeline.observe(Observation::Found(resource)) }
    }
}

/// Returns the resources of the catalogue whose keys begin with a number.
pub(super) fn held_with(snapshot: &Snapshot, number: u8) -> KnownRows<'_> {
    let rows = snapshot
        .resources_after(u64::MAX, &[number])
        .take_while(move |row| row.as_ref().map_or(true, |row| row.key.first() == Some(&number)));
    (Box::new(rows) as Box<dyn Iterator<Item = _>>).peekable()
}

/// Returns the stamp of a file that a manifest names.
///
/// # Errors
/// A sentence that describes the fault.
pub(super) fn file_stamp(file: &Path) -> Result<FileStamp, String> {
    let stat = rustix::fs::stat(file).map_err(|error| format!("cannot be read: {error}"))?;
    if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        Ok(stamp(&stat))
    } else {
        Err("is not a regular file".to_owned())
    }
}
