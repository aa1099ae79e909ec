//! The paths below a folder or a base URL that an operator selects, by the patterns of rsync.

mod glob;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns to include and to exclude, and a list of exact paths.
///
/// A path is selected if it is in the list, matches a pattern to include and matches none to exclude; a part that is
/// not given selects everything. Patterns are those of rsync:
/// - one without a slash matches a name at any depth, one with a slash the end of a path, one that begins with a slash
///   the whole path;
/// - `*` and `?` match within a name, `**` matches across names, `[a-z]` and `[[:digit:]]` one of these characters;
///   `{a,b}` matches `a` or `b`, which is not in rsync;
/// - one that matches a folder selects everything below it; one that ends with a slash matches folders only.
///
/// Unlike in rsync the order of patterns does not matter: one to exclude always wins.
#[derive(Clone, Debug, Default)]
pub struct PathFilter {
    include: Option<Patterns>,
    exclude: Option<Patterns>,
    /// The paths of a list; `true` once one of them has selected something. Clones have the same.
    listed: Option<Arc<BTreeMap<Vec<u8>, AtomicBool>>>,
}

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a pattern: {reason}")]
pub struct PatternError {
    /// The pattern as it was written.
    pub pattern: String,
    /// The reason.
    pub reason: String,
}

#[derive(Clone, Debug)]
struct Patterns {
    /// Paths, of files or of anything below a folder.
    paths: GlobSet,
    /// Folders as such.
    folders: GlobSet,
}

impl PathFilter {
    /// Reads patterns; an empty kind excludes nothing.
    ///
    /// # Errors
    /// If one is not a pattern.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, PatternError> {
        Ok(Self { include: Patterns::new(include)?, exclude: Patterns::new(exclude)?, listed: None })
    }

    /// Selects only these paths; a path that ends with a slash selects everything below it.
    #[must_use]
    pub fn with_list(self, paths: impl IntoIterator<Item = String>) -> Self {
        let plain = |path: String| path.trim_start_matches("./").trim_start_matches('/').as_bytes().to_vec();
        let listed = paths.into_iter().map(|path| (plain(path), AtomicBool::new(false)));
        Self { listed: Some(Arc::new(listed.collect())), ..self }
    }

    /// Returns the paths of the list that have not selected anything yet.
    pub fn without_match(&self) -> impl Iterator<Item = &[u8]> {
        let listed = self.listed.iter().flat_map(|listed| listed.iter());
        listed.filter(|(_, has_match)| !has_match.load(Relaxed)).map(|(path, _)| path.as_slice())
    }

    /// Returns `true` if everything is selected.
    pub fn selects_everything(&self) -> bool {
        self.include.is_none() && self.exclude.is_none() && self.listed.is_none()
    }

    /// Returns `true` if a path is selected. It has no slash at its start.
    pub fn selects(&self, path: &[u8]) -> bool {
        if self.selects_everything() {
            return true;
        }
        let candidate = Candidate::new(Path::new(OsStr::from_bytes(path)));
        let matches = |patterns: &Patterns| patterns.paths.is_match_candidate(&candidate);
        self.is_listed(path)
            && self.include.as_ref().is_none_or(matches)
            && !self.exclude.as_ref().is_some_and(matches)
    }

    /// Returns `true` if nothing below a folder can be selected.
    pub fn prunes(&self, folder: &[u8]) -> bool {
        let folder = Path::new(OsStr::from_bytes(folder));
        self.exclude.as_ref().is_some_and(|exclude| exclude.folders.is_match(folder))
    }

    fn is_listed(&self, path: &[u8]) -> bool {
        let Some(listed) = &self.listed else { return true };
        let folders =
            path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..=end]);
        let mut is_listed = false;
        for has_match in folders.chain([path]).filter_map(|part| listed.get(part)) {
            has_match.store(true, Relaxed);
            is_listed = true;
        }
        is_listed
    }
}

impl Patterns {
    /// Reads patterns; `None` if there are none.
    fn new(patterns: &[String]) -> Result<Option<Self>, PatternError> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let (mut paths, mut folders) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            if pattern.is_empty() {
                // As a glob it would match everything.
                let reason = "it is empty".to_owned();
                return Err(PatternError { pattern: pattern.clone(), reason });
            }
            let wrong = |error: globset::Error| PatternError {
                pattern: pattern.clone(),
                reason: error.kind().to_string(),
            };
            let glob = |text: &str| GlobBuilder::new(text).literal_separator(true).build().map_err(wrong);
            let with_all = pattern.strip_suffix("/***");
            let name = match with_all {
                Some("") => "/**",
                Some(folder) => folder,
                None => pattern,
            };
            let refused = |reason: String| PatternError { pattern: pattern.clone(), reason };
            let name = name.trim_end_matches('/');
            if name.is_empty() {
                return Err(refused("it names no file and no folder".to_owned()));
            }
            let name = glob::of_rsync(name).map_err(refused)?;
            let anchored = match name.strip_prefix('/') {
                Some(whole) => whole.to_owned(),
                None => format!("**/{name}"),
            };
            folders.add(glob(&anchored)?);
            // All that lies below a folder. The pattern itself matches that if it ends with `**`, unless only folders
            // are meant.
            match anchored.strip_suffix("/**") {
                Some(folder) if pattern.ends_with('/') => paths.add(glob(&format!("{folder}/*/**"))?),
                Some(_) => &mut paths,
                None => paths.add(glob(&format!("{anchored}/**"))?),
            };
            if with_all.is_some() || !pattern.ends_with('/') {
                paths.add(glob(&anchored)?);
            }
        }
        let built = |set: GlobSetBuilder| {
            set.build()
                .map_err(|error| PatternError { pattern: patterns.join(" "), reason: error.to_string() })
        };
        Ok(Some(Self { paths: built(paths)?, folders: built(folders)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(include: &[&str], exclude: &[&str]) -> PathFilter {
        let owned = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>();
        PathFilter::new(&owned(include), &owned(exclude)).unwrap()
    }

    #[test]
    fn o104_an_empty_pattern_is_an_error_and_does_not_match_everything() {
        let empty = [String::new()];
        for (include, exclude) in [(&empty[..], &[][..]), (&[], &empty)] {
            let error = PathFilter::new(include, exclude).unwrap_err();
            assert_eq!(error.to_string(), "\"\" is not a pattern: it is empty");
        }
    }

    #[test]
    fn o327_classes_folders_and_stars_mean_what_they_mean_in_rsync() {
        for (pattern, path, selected) in [
            ("[[:digit:]]*", "a/1701", true),
            ("[[:digit:]]*", "a/x", false),
            ("[![:alpha:]_]x", "1x", true),
            ("[![:alpha:]_]x", "_x", false),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            ("[^^]", "^", false),
            ("[\\^!]", "!", true),
            ("[!a]", "/", false),
            ("a[!x]b", "a/b", false),
            // Only what lies in folders below, not the files of the folder itself.
            ("a/**/", "a/b", false),
            ("a/**/", "a/b/c", true),
            // One folder at least.
            ("a/**/c", "a/c", false),
            ("a/**/c", "a/b/c", true),
            ("/**/c", "c", false),
            ("**/c", "c", true),
            ("a**b**c", "a/x/b/y/c", true),
            ("a***c", "a/x/c", true),
            ("/***", "a/b", true),
            ("*.{jpg,png}", "a/b.png", true),
        ] {
            assert_eq!(filter(&[pattern], &[]).selects(path.as_bytes()), selected, "{pattern} {path}");
        }
        for (pattern, reason) in [("/", "names no file"), ("[[:word:]]", "there is no class [:word:]")] {
            let error = PathFilter::new(&[pattern.to_owned()], &[]).unwrap_err();
            assert!(error.reason.contains(reason), "{error}");
        }
    }

    #[test]
    fn p8_patterns_are_those_of_rsync() {
        for (include, exclude, path, selected) in [
            (&[][..], &[][..], "a/b", true),
            (&["*.pdf"], &[], "a/b.pdf", true),
            (&["*.pdf"], &[], "a/b.xml", false),
            (&["/*.pdf"], &[], "b.pdf", true),
            (&["/*.pdf"], &[], "a/b.pdf", false),
            (&["a/*.pdf"], &[], "a/b.pdf", true),
            (&["a/*.pdf"], &[], "x/a/b.pdf", true),
            (&["/a/*.pdf"], &[], "x/a/b.pdf", false),
            (&["a/*.pdf"], &[], "a/x/b.pdf", false),
            (&["a/**.pdf"], &[], "a/x/b.pdf", true),
            (&["letters/**"], &[], "letters/1701/a.txt", true),
            (&["letters/***"], &[], "letters", true),
            (&["docs"], &[], "docs/x/y", true),
            (&["docs/"], &[], "docs", false),
            (&["docs/"], &[], "x/docs/y", true),
            (&["/top"], &[], "a/top", false),
            (&["170?"], &[], "1701", true),
            (&["[ab].txt"], &[], "c.txt", false),
            (&[], &["drafts"], "a/drafts/b", false),
            (&[], &["drafts/"], "drafts/b", false),
            (&["*.pdf"], &["old/**"], "old/a.pdf", false),
        ] {
            assert_eq!(
                filter(include, exclude).selects(path.as_bytes()),
                selected,
                "{include:?} {exclude:?} {path}"
            );
        }
        for pattern in ["drafts", "drafts/", "drafts/***"] {
            assert!(filter(&[], &[pattern]).prunes(b"a/drafts"), "{pattern}");
        }
        assert!(!filter(&[], &["drafts/*.txt"]).prunes(b"drafts"));
    }

    #[test]
    fn p8_the_examples_of_the_documentation_hold() {
        let page = include_str!("../../../docs/filters.md");
        let mut examples = 0;
        for row in page.lines().filter_map(|line| line.strip_prefix("| `")).skip(1) {
            let cells: Vec<_> = row.split(" | ").map(|cell| cell.trim_matches(['`', '|', ' '])).collect();
            let [pattern, selected, not_selected] = cells[..] else { panic!("{row}") };
            let filter = filter(&[pattern], &[]);
            for path in selected.split("`, `") {
                assert!(filter.selects(path.as_bytes()), "{pattern} {path}");
            }
            for path in not_selected.split("`, `") {
                assert!(!filter.selects(path.as_bytes()), "{pattern} selects {path}");
            }
            examples += 1;
        }
        assert_eq!(examples, 10);
    }

    #[test]
    fn p8_a_list_names_files_and_folders() {
        let listed = filter(&[], &["*.tmp"]).with_list(["./a.txt", "/b/", "c/d.txt"].map(str::to_owned));
        for (path, selected) in [
            ("a.txt", true),
            ("b/x/y.txt", true),
            ("b/x.tmp", false),
            ("c/d.txt", true),
            ("c/e.txt", false),
            ("x/a.txt", false),
        ] {
            assert_eq!(listed.selects(path.as_bytes()), selected, "{path}");
        }
        assert!(!listed.selects_everything() && PathFilter::default().selects_everything());
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_named() {
        let error = PathFilter::new(&["a[".to_owned()], &[]).unwrap_err();
        assert!(error.to_string().starts_with("\"a[\" is not a pattern: "), "{error}");
    }
}
