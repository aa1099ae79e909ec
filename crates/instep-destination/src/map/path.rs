use std::fmt;

use super::{fold::fold, name};

/// Where a resource lies in the copy: a relative path of safe names, separated by slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyPath(Box<str>);

impl CopyPath {
    /// Joins names that are safe already, shortening those that are too long.
    pub(super) fn of_names(path: &str) -> Self {
        let names: Vec<_> = path.split('/').map(name::shortened).collect();
        Self(names.join("/").into())
    }

    /// Takes back what [`CopyPath::as_str`] gave; none for anything that leads out of the copy or into `.instep`, but for its
    /// `versions`.
    pub fn from_state(text: &str) -> Option<Self> {
        let safe = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\0', '\\']);
        let own = text == ".instep" || text.starts_with(".instep/");
        (text.split('/').all(safe) && (!own || text.starts_with(".instep/versions/")))
            .then(|| Self(text.into()))
    }

    /// The path with slashes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder it lies in; empty at the top.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Its last name.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Each folder on the way, outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end])
    }

    /// Where it goes when resources lie below its URI (D5).
    #[must_use]
    pub fn body(&self) -> Self {
        Self(name::body_below(&self.0).into())
    }

    /// Where it goes when its name clashes with that of another URI in this store (D7).
    #[must_use]
    pub fn told_apart(&self, written: &str) -> Self {
        let name = name::with_digest(self.name(), written.as_bytes());
        match self.folder() {
            "" => Self(name.into()),
            folder => Self(format!("{folder}/{name}").into()),
        }
    }

    /// Equal for paths that a file system may take for the same one, whatever it ignores.
    pub fn key(&self) -> String {
        fold(&self.0)
    }
}

impl fmt::Display for CopyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
