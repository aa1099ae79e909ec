//! The value of `--out`: the place of the documents of a Source, in a folder or in object storage.

use std::path::PathBuf;

use instep_source::ObjectPlace;

use super::values;

/// The place of the documents.
#[derive(Clone, Debug)]
pub(super) enum DocumentsOut {
    /// The documents are written to this folder.
    Folder(PathBuf),
    /// The documents are written to a folder of the state and delivered from there.
    Objects(ObjectPlace),
}

impl DocumentsOut {
    /// Parses the value of `--out`.
    ///
    /// Errors: it is a URL, or a place in object storage that cannot be used.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if ObjectPlace::is_meant(text) {
            ObjectPlace::parse(text).map(Self::Objects).map_err(|error| error.to_string())
        } else {
            values::path(text).map(Self::Folder)
        }
    }

    /// Returns the place in object storage; `None` for a folder.
    pub(super) fn objects(&self) -> Option<&ObjectPlace> {
        match self {
            Self::Objects(place) => Some(place),
            Self::Folder(_) => None,
        }
    }
}
