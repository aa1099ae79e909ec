//! What a file's name says of its type.

use std::{collections::BTreeMap, ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use resourcesync::MediaType;

/// Media types by extension; each is looked up once.
#[derive(Debug, Default)]
pub(crate) struct MediaTypes(BTreeMap<Box<[u8]>, Option<MediaType>>);

impl MediaTypes {
    /// The type of a file; none where its name says nothing.
    pub(crate) fn of(&mut self, path: &[u8]) -> Option<MediaType> {
        const MOST: usize = 1_024;
        let extension = Path::new(OsStr::from_bytes(path)).extension()?.as_bytes();
        if let Some(known) = self.0.get(extension) {
            return known.clone();
        }
        let guess =
            mime_guess::from_ext(std::str::from_utf8(extension).ok()?).first_raw().map(MediaType::new);
        if self.0.len() < MOST {
            self.0.insert(extension.into(), guess.clone());
        }
        guess
    }
}

#[cfg(test)]
mod tests {
    use super::MediaTypes;

    #[test]
    fn the_extension_tells_the_type_without_regard_to_case() {
        let mut types = MediaTypes::default();
        for (path, media_type) in [
            ("a/b.html", Some("text/html")),
            ("a/B.PDF", Some("application/pdf")),
            ("data.json", Some("application/json")),
            ("a.b/noextension", None),
            ("x.unheard-of", None),
        ] {
            assert_eq!(types.of(path.as_bytes()).as_ref().map(|it| it.as_str()), media_type, "{path}");
        }
    }
}
