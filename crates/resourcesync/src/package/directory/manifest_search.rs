//! The search for the manifest among the names of a package.

use crate::package::member::MANIFEST;

/// Finds the manifest, or a member that may have been meant as one (ZIP-3).
#[derive(Debug, Default)]
pub(super) struct ManifestSearch {
    found: bool,
    similar: Option<Box<str>>,
}

impl ManifestSearch {
    pub(super) fn look_at(&mut self, name: &str) {
        self.found |= name == MANIFEST;
        let last = name.rsplit('/').next().unwrap_or_default();
        if self.similar.is_none() && last.to_ascii_lowercase().contains("manifest") {
            self.similar = Some(name.into());
        }
    }

    pub(super) fn problem(self) -> Option<String> {
        match (self.found, self.similar) {
            (true, _) => None,
            (false, Some(other)) => Some(format!("no manifest.xml at top level, but {other:?}")),
            (false, None) => Some("no manifest.xml".into()),
        }
    }
}
