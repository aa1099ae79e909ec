//! The place of a copy, for callers that read it without a run. Its methods are in `status.rs`, `history.rs` and
//! `state_file.rs`.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The place of a copy: its folder, and the URL of its state in PostgreSQL if the folder may not have been used
/// before. Its methods read the state of the copy, without the network and also while a run uses the copy.
///
/// ```no_run
/// use instep_destination::CopyLocation;
///
/// let copy = CopyLocation::in_folder("/srv/copy");
/// for retry in copy.pending_retries("", 10)? {
///     println!("{}: {}", retry.uri, retry.reason);
/// }
/// # Ok::<(), instep_destination::Error>(())
/// ```
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
