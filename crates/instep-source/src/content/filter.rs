//! The paths that belong to a set.

use instep_store::PathFilter;

use crate::Error;

/// The patterns of one set over paths relative to a root, or to a folder below it: only resources below that folder
/// belong to the set.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// The folder, with its final slash; empty for the root itself.
    folder: Vec<u8>,
    paths: PathFilter,
}

impl Filter {
    /// Reads the patterns of a set, which are those of rsync (P8).
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Self, Error> {
        let paths = PathFilter::new(include, exclude);
        let paths = paths.map_err(|error| Error::option("include or exclude", error.to_string()))?;
        Ok(Self { folder: Vec::new(), paths })
    }

    /// Returns the filter for a folder below the root, given with its final slash.
    pub(super) fn below(self, folder: Vec<u8>) -> Self {
        Self { folder, ..self }
    }

    /// Returns `true` if a file belongs to the set.
    pub(super) fn takes(&self, path: &[u8]) -> bool {
        path.strip_prefix(self.folder.as_slice()).is_some_and(|path| self.paths.selects(path))
    }

    /// Returns `true` if nothing below a folder can belong to the set.
    pub(super) fn prunes(&self, folder: &[u8]) -> bool {
        let whole = [folder, b"/"].concat();
        if self.folder.starts_with(&whole) {
            return false;
        }
        folder.strip_prefix(self.folder.as_slice()).is_none_or(|folder| self.paths.prunes(folder))
    }
}

/// Returns `true` if a name is left out with any patterns: hidden files, and backups of editors.
pub(super) fn is_left_out(name: &[u8]) -> bool {
    name.starts_with(b".")
        || name.ends_with(b"~")
        || (name.len() > 1 && name.starts_with(b"#") && name.ends_with(b"#"))
}

#[cfg(test)]
mod tests {
    use super::{Filter, is_left_out};

    #[test]
    fn p8_patterns_hold_below_the_folder_of_the_set() {
        let owned = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>();
        let filter = Filter::new(&owned(&["*.pdf"]), &owned(&["drafts"])).unwrap();
        let below = filter.below(b"a/b/".to_vec());
        assert!(below.takes(b"a/b/c.pdf") && !below.takes(b"a/c.pdf") && !below.takes(b"a/b/drafts/c.pdf"));
        for (folder, pruned) in
            [("a", false), ("a/b", false), ("a/b/c", false), ("c", true), ("a/b/drafts", true)]
        {
            assert_eq!(below.prunes(folder.as_bytes()), pruned, "{folder}");
        }
    }

    #[test]
    fn s11_hidden_files_and_editor_backups_are_left_out() {
        for name in [".htaccess", "a.txt~", "#a.txt#", ".a.swp", ".#a.txt"] {
            assert!(is_left_out(name.as_bytes()), "{name}");
        }
        for name in ["a.txt", "#", "#a", "a#", "~a"] {
            assert!(!is_left_out(name.as_bytes()), "{name}");
        }
    }
}
