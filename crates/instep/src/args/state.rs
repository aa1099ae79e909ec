//! Where the state of a Source is, for commands that work beside its publication.

use std::path::{Path, PathBuf};

/// The folder of the state, as `publish` and `serve` choose it.
pub(crate) fn folder(dir: &Path, state: Option<PathBuf>) -> PathBuf {
    state.unwrap_or_else(|| dir.join(".instep"))
}
