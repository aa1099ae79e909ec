//! The paths that belong to a set.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::Error;

/// The globs of one set over paths relative to a root, or to a folder below it: only what lies there belongs to the set.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// The folder, with its final slash; empty for the root itself.
    folder: Vec<u8>,
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

impl Filter {
    /// A glob with a slash is held against the whole path, one without against each name in it; what matches a folder
    /// matches all below it.
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Self, Error> {
        let (include, exclude) = (globs("include", include)?, globs("exclude", exclude)?);
        Ok(Self { folder: Vec::new(), include, exclude })
    }

    /// Returns the filter for a folder below the root, given with its final slash.
    pub(super) fn below(self, folder: Vec<u8>) -> Self {
        Self { folder, ..self }
    }

    /// Returns `true` if a file belongs to the set.
    pub(super) fn takes(&self, path: &[u8]) -> bool {
        let Some(path) = path.strip_prefix(self.folder.as_slice()) else { return false };
        if self.include.is_none() && self.exclude.is_none() {
            return true;
        }
        let path = Candidate::new(Path::new(OsStr::from_bytes(path)));
        let matches = |globs: &GlobSet| globs.is_match_candidate(&path);
        self.include.as_ref().is_none_or(matches) && !self.exclude.as_ref().is_some_and(matches)
    }

    /// Returns `true` if nothing below a folder can belong to the set.
    pub(super) fn prunes(&self, folder: &[u8]) -> bool {
        let whole = [folder, b"/"].concat();
        if self.folder.starts_with(&whole) {
            return false;
        }
        let Some(folder) = folder.strip_prefix(self.folder.as_slice()) else { return true };
        let folder = Path::new(OsStr::from_bytes(folder));
        self.exclude.as_ref().is_some_and(|exclude| exclude.is_match(folder))
    }
}

fn globs(option: &str, patterns: &[String]) -> Result<Option<GlobSet>, Error> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let trimmed = pattern.trim_matches('/');
        let anchored = match trimmed.contains('/') || pattern.starts_with('/') {
            true => trimmed.to_owned(),
            false => format!("**/{trimmed}"),
        };
        for glob in [anchored.clone(), format!("{anchored}/**")] {
            let glob = GlobBuilder::new(&glob).literal_separator(true).build();
            set.add(glob.map_err(|error| Error::option(option, format!("{pattern:?} is no glob: {error}")))?);
        }
    }
    set.build().map(Some).map_err(|error| Error::option(option, error.to_string()))
}

/// Why a name is left out whatever the globs say: hidden files, and what editors leave behind.
pub(super) fn is_left_out(name: &[u8]) -> bool {
    name.starts_with(b".")
        || name.ends_with(b"~")
        || (name.len() > 1 && name.starts_with(b"#") && name.ends_with(b"#"))
}

#[cfg(test)]
mod tests {
    use super::{Filter, is_left_out};

    #[test]
    fn a_glob_without_a_slash_holds_at_any_depth_and_one_with_a_slash_from_the_root() {
        let filter = |include: &[&str], exclude: &[&str]| {
            let owned = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>();
            Filter::new(&owned(include), &owned(exclude)).unwrap()
        };
        for (include, exclude, path, taken) in [
            (&[][..], &[][..], "a/b", true),
            (&["*.pdf"], &[], "a/b.pdf", true),
            (&["*.pdf"], &[], "a/b.xml", false),
            (&["a/*.pdf"], &[], "a/b.pdf", true),
            (&["a/*.pdf"], &[], "x/a/b.pdf", false),
            (&["a/*.pdf"], &[], "a/x/b.pdf", false),
            (&["docs"], &[], "docs/x/y", true),
            (&["/top"], &[], "a/top", false),
            (&[], &["drafts"], "a/drafts/b", false),
            (&[], &["drafts/"], "drafts/b", false),
            (&["*.pdf"], &["old/**"], "old/a.pdf", false),
        ] {
            assert_eq!(
                filter(include, exclude).takes(path.as_bytes()),
                taken,
                "{include:?} {exclude:?} {path}"
            );
        }
        assert!(filter(&[], &["drafts"]).prunes(b"a/drafts"));
        let below = filter(&["*.pdf"], &["drafts"]).below(b"a/b/".to_vec());
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
