//! Which paths belong to a set.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::Error;

/// The globs of one set over paths relative to a root.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

impl Filter {
    /// A glob with a slash is held against the whole path, one without against each name in it; what matches a folder
    /// matches all below it.
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Self, Error> {
        Ok(Self { include: globs("include", include)?, exclude: globs("exclude", exclude)? })
    }

    /// Whether a file belongs to the set.
    pub(super) fn takes(&self, path: &[u8]) -> bool {
        if self.include.is_none() && self.exclude.is_none() {
            return true;
        }
        let path = Candidate::new(Path::new(OsStr::from_bytes(path)));
        let matches = |globs: &GlobSet| globs.is_match_candidate(&path);
        self.include.as_ref().is_none_or(matches) && !self.exclude.as_ref().is_some_and(matches)
    }

    /// Whether nothing below a folder can belong to the set.
    pub(super) fn prunes(&self, folder: &[u8]) -> bool {
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
