//! Resources that somebody else looks after and knows: a synced copy, a generator. Their word is taken.

use std::{fmt, fs::File, io, ops::ControlFlow, path::Path, sync::Arc};

use resourcesync::Link;

use crate::{catalogue::State, live::Touched};

/// Who has resources, and knows their digests without anybody reading them.
///
/// # Contract
/// What [`each`](Self::each) and [`at`](Self::at) say is taken as it is: the digests are published as those of the bytes, so
/// they must have been verified. Bytes that are others meanwhile are refused by whoever compares them, and are
/// never published under a digest of their own.
pub trait Supplier: fmt::Debug + Send + Sync {
    /// The folder that paths start from.
    fn folder(&self) -> &Path;

    /// Hands out all resources in the order of the bytes of their paths, until it is told to break.
    ///
    /// # Errors
    /// When they cannot be listed; what was handed out until then counts for nothing.
    fn each(&self, take: &mut dyn FnMut(Supplied) -> ControlFlow<()>) -> io::Result<()>;

    /// The resource at a path; none where there is none.
    ///
    /// # Errors
    /// When that cannot be told.
    fn at(&self, path: &[u8]) -> io::Result<Option<Supplied>>;

    /// Opens the bytes at a path, where they are not those of a file in the folder.
    fn open(&self, _path: &[u8]) -> Option<io::Result<File>> {
        None
    }

    /// From now on, tells what changes.
    fn watch(&self, _touched: Touched) {}
}

/// One resource of a [`Supplier`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Supplied {
    /// Its path; with the prefix of its content, its URI.
    pub path: Vec<u8>,
    /// What is known of it. Its `lastmod` is not taken: the time of a resource here is when it came here.
    pub state: State,
    /// Links to other resources of the same supplier, each with the path of its target, from which its `href` follows.
    pub siblings: Vec<(Link, Vec<u8>)>,
}

impl Supplied {
    /// A resource.
    pub fn new(path: impl Into<Vec<u8>>, state: State) -> Self {
        Self { path: path.into(), state, siblings: Vec::new() }
    }
}

/// A supplier, shared; equal to itself alone.
#[derive(Clone, Debug)]
pub struct Supply(pub Arc<dyn Supplier>);

impl PartialEq for Supply {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Supply {}
