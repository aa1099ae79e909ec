//! The operations of a group as they are stored in an intent. The next start after a crash reads them, and may be of a
//! later version.

use std::{borrow::Cow, fmt, io};

use resourcesync::Uri;
use serde::{Deserialize, Serialize};

use super::metadata::WrittenMetadata;
use crate::{
    map::CopyPath,
    state::{HeldAt, ResourceMetadata},
};

/// An operation of a group. It is recorded before it is carried out, so that the next start after a crash can find out
/// if it was.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// A staged file gets its final name, replacing an existing file. The key is the form of the mapped path in a
    /// store that ignores case; `None` if that is the path itself.
    Place {
        uri: Uri,
        path: CopyPath,
        key: Option<String>,
        staged: u64,
        sets: i64,
        metadata: ResourceMetadata,
        replaces: bool,
        /// The place of its bytes. It is not written, because only copies with names have intents.
        place: HeldAt,
    },
    /// A file is moved from its final name into staging.
    Remove { uri: Uri, path: CopyPath, staged: u64 },
    /// A file makes room for a folder of its name, and gets another final name.
    Move { uri: Uri, from: CopyPath, to: CopyPath, staged: u64 },
}

impl Operation {
    /// Returns the URI of the resource.
    pub(crate) fn uri(&self) -> &Uri {
        let (Self::Place { uri, .. } | Self::Remove { uri, .. } | Self::Move { uri, .. }) = self;
        uri
    }
}

/// The version of the bytes that this program writes.
pub(crate) const VERSION: u32 = 1;

/// The usual size of an operation in bytes.
const USUAL_BYTES: usize = 224;

/// Returns operations as bytes of [`VERSION`].
pub(crate) fn to_bytes(operations: &[Operation]) -> Result<Vec<u8>, postcard::Error> {
    let written: Vec<WrittenOperation<'_>> = operations.iter().map(WrittenOperation::from).collect();
    postcard::to_extend(&written, Vec::with_capacity(written.len() * USUAL_BYTES))
}

/// Returns the operations in bytes of a version.
///
/// # Errors
/// If the version is not known, or the bytes are damaged.
pub(crate) fn from_bytes(version: u32, bytes: &[u8]) -> io::Result<Vec<Operation>> {
    if version != VERSION {
        return Err(io::Error::other(format!(
            "an intent of version {version}; this program knows {VERSION}"
        )));
    }
    let written: Vec<WrittenOperation<'_>> = postcard::from_bytes(bytes).map_err(io::Error::other)?;
    written.into_iter().map(Operation::try_from).collect()
}

/// An operation in its written form. New kinds are added at the end, because the bytes have the positions of the kinds.
#[derive(Serialize, Deserialize)]
enum WrittenOperation<'a> {
    Place {
        uri: Cow<'a, str>,
        path: Cow<'a, str>,
        key: Option<Cow<'a, str>>,
        staged: u64,
        sets: i64,
        #[serde(borrow)]
        metadata: WrittenMetadata<'a>,
        replaces: bool,
    },
    Remove {
        uri: Cow<'a, str>,
        path: Cow<'a, str>,
        staged: u64,
    },
    Move {
        uri: Cow<'a, str>,
        from: Cow<'a, str>,
        to: Cow<'a, str>,
        staged: u64,
    },
}

impl<'a> From<&'a Operation> for WrittenOperation<'a> {
    fn from(operation: &'a Operation) -> Self {
        let text = |uri: &'a Uri| Cow::Borrowed(uri.as_str());
        let place = |path: &'a CopyPath| Cow::Borrowed(path.as_str());
        match operation {
            Operation::Place { uri, path, key, staged, sets, metadata, replaces, .. } => Self::Place {
                uri: text(uri),
                path: place(path),
                key: key.as_deref().map(Cow::Borrowed),
                staged: *staged,
                sets: *sets,
                metadata: WrittenMetadata::of(metadata),
                replaces: *replaces,
            },
            Operation::Remove { uri, path, staged } => {
                Self::Remove { uri: text(uri), path: place(path), staged: *staged }
            }
            Operation::Move { uri, from, to, staged } => {
                Self::Move { uri: text(uri), from: place(from), to: place(to), staged: *staged }
            }
        }
    }
}

impl TryFrom<WrittenOperation<'_>> for Operation {
    type Error = io::Error;

    fn try_from(written: WrittenOperation<'_>) -> io::Result<Self> {
        let text = |uri: Cow<'_, str>| Uri::parse_recorded(&uri).map_err(io::Error::other);
        let place = |path: Cow<'_, str>| CopyPath::from_state(&path).ok_or_else(|| outside(&path));
        Ok(match written {
            WrittenOperation::Place { uri, path, key, staged, sets, metadata, replaces } => Self::Place {
                uri: text(uri)?,
                path: place(path)?,
                key: key.map(Cow::into_owned),
                staged,
                sets,
                metadata: metadata.metadata(),
                replaces,
                place: HeldAt::Path,
            },
            WrittenOperation::Remove { uri, path, staged } => {
                Self::Remove { uri: text(uri)?, path: place(path)?, staged }
            }
            WrittenOperation::Move { uri, from, to, staged } => {
                Self::Move { uri: text(uri)?, from: place(from)?, to: place(to)?, staged }
            }
        })
    }
}

fn outside(path: impl fmt::Debug) -> io::Error {
    io::Error::other(format!("{path:?} is no path of a copy"))
}
