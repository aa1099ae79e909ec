//! The media type for the name of a file.

use std::{collections::BTreeMap, ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use resourcesync::MediaType;

/// Media types by extension; each is looked up once.
#[derive(Debug, Default)]
pub(crate) struct MediaTypes(BTreeMap<Box<[u8]>, MediaType>);

/// The type of bytes that nothing is known about (RFC 2046 §4.5.1); servers send the same.
const UNKNOWN: &str = "application/octet-stream";

impl MediaTypes {
    /// Returns the type of a file, by its name.
    pub(crate) fn of(&mut self, path: &[u8]) -> MediaType {
        const MOST: usize = 1_024;
        let extension = Path::new(OsStr::from_bytes(path)).extension().unwrap_or_default();
        if let Some(known) = self.0.get(extension.as_bytes()) {
            return known.clone();
        }
        let known = extension.to_str().and_then(|extension| mime_guess::from_ext(extension).first_raw());
        let media_type = MediaType::new(known.unwrap_or(UNKNOWN));
        if self.0.len() < MOST {
            self.0.insert(extension.as_bytes().into(), media_type.clone());
        }
        media_type
    }
}

#[cfg(test)]
mod tests {
    use super::MediaTypes;

    #[test]
    fn the_extension_tells_the_type_without_regard_to_case() {
        let mut types = MediaTypes::default();
        for (path, media_type) in [
            ("a/b.html", "text/html"),
            ("a/B.PDF", "application/pdf"),
            ("data.json", "application/json"),
            ("a.b/noextension", "application/octet-stream"),
            ("x.unheard-of", "application/octet-stream"),
        ] {
            assert_eq!(types.of(path.as_bytes()).as_str(), media_type, "{path}");
        }
    }
}
