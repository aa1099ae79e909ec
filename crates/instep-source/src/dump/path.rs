//! The paths of bitstreams in a package.

use std::collections::BTreeSet;

use resourcesync::{PackagePath, Uri, package::MANIFEST};

/// Names that do not come from a URI start with this.
const NUMBERED: &str = "_";

/// Gives bitstreams their paths in one package: the rest of the URI below the base, if it is a valid and free path;
/// otherwise a number.
#[derive(Debug)]
pub(super) struct Paths<'a> {
    base: &'a str,
    taken: BTreeSet<Box<str>>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(base: &'a str) -> Self {
        Self { base, taken: BTreeSet::new() }
    }

    /// Returns the path of the next bitstream.
    pub(super) fn next(&mut self, uri: &Uri) -> PackagePath {
        let number = self.taken.len() + 1;
        let own = uri.as_str().strip_prefix(self.base).filter(|rest| is_plain(rest));
        let name = match own.filter(|own| !self.taken.contains(*own)) {
            Some(own) => own.to_owned(),
            None => format!("{NUMBERED}/{number:06}"),
        };
        let path = PackagePath::new(&format!("/{name}"));
        self.taken.insert(name.into());
        path
    }
}

fn is_plain(rest: &str) -> bool {
    let segments = || rest.split('/');
    rest != MANIFEST
        && rest.len() <= 1_024
        && segments().next() != Some(NUMBERED)
        && segments().all(|segment| !matches!(segment, "" | "." | ".."))
        && !rest.contains(['?', '#', '\\', ':'])
        && PackagePath::new(&format!("/{rest}")).is_as_specified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_from_uris_and_stay_inside_and_apart() {
        let mut paths = Paths::new("http://a/x/");
        for (uri, path) in [
            ("http://a/x/b/c%20d", "/b/c%20d"),
            ("http://a/x/b/c%20d", "/_/000002"),
            ("http://a/x/manifest.xml", "/_/000003"),
            ("http://a/x/b?q=1", "/_/000004"),
            ("http://a/x/b/", "/_/000005"),
            ("http://a/x/../y", "/_/000006"),
            ("http://elsewhere/y", "/_/000007"),
            ("http://a/x/_/000009", "/_/000008"),
            ("http://a/x/c:d", "/_/000009"),
        ] {
            let next = paths.next(&Uri::parse(uri).unwrap());
            assert_eq!(next.as_str(), path, "{uri}");
            assert!(next.is_as_specified());
        }
    }
}
