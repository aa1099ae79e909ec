//! The place of a copy, for callers that only read it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The place of a copy: its folder, and the URL of its state in PostgreSQL if the folder may not have been used
/// before.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyLocation {
    /// The folder of the copy.
    pub dir: PathBuf,
    /// The URL of the state, with the name of the copy; `None` for the state that the folder has or remembers.
    pub state: Option<String>,
}

impl CopyLocation {
    /// Returns the place of a copy whose folder has the state, or records where it is.
    pub fn in_folder(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), state: None }
    }

    /// Returns the same with its state at a URL.
    #[must_use]
    pub fn with_state(self, url: impl Into<String>) -> Self {
        Self { state: Some(url.into()), ..self }
    }
}

/// Leaves out the URL of the state, which may contain a password.
impl fmt::Debug for CopyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyLocation").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl From<&Path> for CopyLocation {
    fn from(dir: &Path) -> Self {
        Self::in_folder(dir)
    }
}
