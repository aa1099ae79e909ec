//! A file that may have changed, and its published metadata once it is hashed.

use std::{fs::File, io, path::PathBuf};

use resourcesync::{DateTime, Digests};

use crate::{
    catalogue::{FileStamp, Resource},
    content::{MediaTypes, Root},
};

#[derive(Debug)]
pub(super) enum Candidate<'a> {
    /// A file of a folder: all its metadata follows from its name.
    Walked { root: &'a Root, path: Vec<u8>, stamp: FileStamp, sets: u64 },
    /// A file that a manifest names: the manifest takes precedence, the file adds missing values.
    Listed { resource: Box<Resource>, file: PathBuf, stamp: FileStamp },
}

impl Candidate<'_> {
    /// Returns the stamp with which it was found.
    pub(super) fn stamp(&self) -> FileStamp {
        let (Self::Walked { stamp, .. } | Self::Listed { stamp, .. }) = self;
        *stamp
    }

    /// Returns `true` if a manifest names it.
    pub(super) fn is_listed(&self) -> bool {
        matches!(self, Self::Listed { .. })
    }

    pub(super) fn key(&self) -> Vec<u8> {
        match self {
            Self::Walked { root, path, .. } => root.key(path),
            Self::Listed { resource, .. } => resource.key.clone(),
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Walked { root, path, .. } => root.path(path),
            Self::Listed { file, .. } => file.clone(),
        }
    }

    pub(super) fn open(&self) -> io::Result<File> {
        match self {
            Self::Walked { root, path, .. } => root.open(path),
            Self::Listed { file, .. } => File::open(file),
        }
    }

    /// Returns the resource, as it was when it was hashed.
    pub(super) fn resource(
        self,
        digests: Digests,
        stamp: FileStamp,
        rehash: bool,
        media_types: &mut MediaTypes,
    ) -> Resource {
        let (mut resource, media_type) = match self {
            Self::Walked { root, path, sets, .. } => {
                let mut resource = Resource::new(root.key(&path), root.uri(&path));
                resource.sets = sets;
                (resource, media_types.of(&path))
            }
            Self::Listed { resource, file, .. } => {
                (*resource, media_types.of(file.as_os_str().as_encoded_bytes()))
            }
        };
        let modified = DateTime::from_unix_micros(stamp.mtime_ns.div_euclid(1_000));
        let state = &mut resource.state;
        state.digests = digests;
        state.length = Some(stamp.length);
        state.lastmod = state.lastmod.or(Some(modified));
        state.media_type = state.media_type.take().or(Some(media_type));
        resource.stamp = Some(stamp);
        resource.rehash = rehash;
        resource
    }
}
