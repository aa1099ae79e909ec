//! Paths within a copy: relative, safe, and reversible through the state.

use std::fmt;

use super::{fold::fold, name};

/// The path of a resource in the copy: a relative path of safe names, separated by slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyPath {
    path: Box<str>,
    /// The length of the folder in bytes.
    folder: usize,
}

impl CopyPath {
    /// Joins names that are already safe, shortening those that are too long.
    pub(super) fn of_names(path: &str) -> Self {
        if path.split('/').all(name::is_short) {
            return Self::of(path.into());
        }
        let names: Vec<_> = path.split('/').map(name::shortened).collect();
        Self::of(names.join("/").into())
    }

    fn of(path: Box<str>) -> Self {
        let folder = path.bytes().rposition(|byte| byte == b'/').unwrap_or_default();
        Self { path, folder }
    }

    /// Reads the text of [`CopyPath::as_str`]; `None` for a path that leads out of the copy or into `.instep`, except
    /// for its `versions`.
    pub fn from_state(text: &str) -> Option<Self> {
        // Byte by byte, because an audit reads this of each row, and names are too short for a faster search to pay.
        let safe = |name: &[u8]| {
            !matches!(name, b"" | b"." | b"..") && !name.iter().any(|byte| matches!(byte, 0 | b'\\'))
        };
        let own = text == ".instep" || text.starts_with(".instep/");
        (text.as_bytes().split(|byte| *byte == b'/').all(safe)
            && (!own || text.starts_with(".instep/versions/")))
        .then(|| Self::of(text.into()))
    }

    /// Returns the path with slashes.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Returns the folder that contains it; empty at the top.
    pub fn folder(&self) -> &str {
        &self.path[..self.folder]
    }

    /// Returns its last name.
    pub fn name(&self) -> &str {
        let name = &self.path[self.folder..];
        name.strip_prefix('/').unwrap_or(name)
    }

    /// Returns each folder on the way, the outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.path.match_indices('/').map(|(end, _)| &self.path[..end])
    }

    /// Returns the path that it gets if there are resources below its URI (D5).
    #[must_use]
    pub fn body(&self) -> Self {
        Self::of(name::body_below(&self.path).into())
    }

    /// Returns the path that it gets if its name clashes with that of another URI in this store (D7). `written` is the
    /// URI as written.
    #[must_use]
    pub fn told_apart(&self, written: &str) -> Self {
        let name = name::with_digest(self.name(), written.as_bytes());
        match self.folder() {
            "" => Self::of(name.into()),
            folder => Self::of(format!("{folder}/{name}").into()),
        }
    }

    /// Returns a text that is equal for paths that some file system may not distinguish.
    pub fn key(&self) -> String {
        fold(&self.path)
    }

    /// Returns the key; `None` if it equals the path of the resource.
    pub(crate) fn key_beside(&self, path: &Self) -> Option<String> {
        Some(self.key()).filter(|key| *key != *path.path)
    }
}

impl fmt::Display for CopyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}
