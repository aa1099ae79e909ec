//! Makes and applies patches in any of the formats.

use super::{PatchError, PatchFormat, delta, json, xml};
use crate::value::{Digests, Hasher, MediaType};

impl PatchFormat {
    /// Applies a patch to exactly the version before it, and returns the result, of at most `most` bytes, whose digests
    /// are the stated ones. A JSON value can be written in several ways; the usual ones are tried.
    ///
    /// ```
    /// use resourcesync::{Algorithm, Hasher, patch::PatchFormat};
    /// # fn main() -> Result<(), resourcesync::patch::PatchError> {
    /// let mut hasher = Hasher::new(&[Algorithm::Sha256]);
    /// hasher.update(br#"{"a":1,"c":3}"#);
    /// let patched =
    ///     PatchFormat::JsonMerge.apply(br#"{"a":1}"#, br#"{"c":3}"#, &hasher.finish(), 1 << 20)?;
    /// assert_eq!(patched, br#"{"a":1,"c":3}"#);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the patch does not fit, or its result has other digests.
    pub fn apply(
        self,
        held: &[u8],
        patch: &[u8],
        promised: &Digests,
        most: usize,
    ) -> Result<Vec<u8>, PatchError> {
        self.candidates(held, patch, most, |bytes| agrees(bytes, promised))
    }

    /// Returns the first acceptable result.
    fn candidates(
        self,
        held: &[u8],
        patch: &[u8],
        most: usize,
        accept: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<u8>, PatchError> {
        let accepted = |bytes: &Vec<u8>| bytes.len() <= most && accept(bytes);
        match self {
            Self::Json => json::patched(held, patch, most)?.find(accepted),
            Self::JsonMerge => json::merged(held, patch)?.find(accepted),
            Self::Xml => Some(xml::patched(held, patch)?).filter(accepted),
            Self::Delta => Some(delta::decode(held, patch, most)?).filter(accepted),
        }
        .ok_or(PatchError::Mismatch)
    }

    fn diff(self, held: &[u8], next: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Json => json::diff(held, next),
            Self::Xml => xml::diff(held, next),
            Self::Delta => Some(delta::encode(held, next)),
            Self::JsonMerge => None,
        }
    }
}

/// Makes a patch of at most `most` bytes from one version of a resource to the next, in the format of its media type
/// or as a binary delta. `None` if no patch is that small.
///
/// Each patch is applied before it is returned: its result is the next version, byte for byte.
pub fn patch_between(
    held: &[u8],
    next: &[u8],
    media_type: Option<&MediaType>,
    most: usize,
) -> Option<(PatchFormat, Vec<u8>)> {
    let own = media_type.and_then(own_format);
    own.into_iter().chain([PatchFormat::Delta]).find_map(|format| {
        let patch = format.diff(held, next).filter(|patch| patch.len() <= most)?;
        format.candidates(held, &patch, next.len(), |bytes| bytes == next).ok()?;
        Some((format, patch))
    })
}

/// Returns the patch format of documents of a media type.
fn own_format(media_type: &MediaType) -> Option<PatchFormat> {
    let essence = media_type.essence().to_ascii_lowercase();
    let ends_in = |ends: [&str; 2]| ends.iter().any(|end| essence.ends_with(end));
    if ends_in(["/json", "+json"]) {
        Some(PatchFormat::Json)
    } else {
        ends_in(["/xml", "+xml"]).then_some(PatchFormat::Xml)
    }
}

fn agrees(bytes: &[u8], promised: &Digests) -> bool {
    let Some(strongest) = promised.strongest() else { return false };
    let mut hasher = Hasher::new([&strongest.algorithm]);
    hasher.update(bytes);
    hasher.finish().agrees_with(promised) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;

    const MOST: usize = 1 << 20;

    fn digests(bytes: &[u8]) -> Digests {
        let mut hasher = Hasher::new([&Algorithm::Sha256]);
        hasher.update(bytes);
        hasher.finish()
    }

    #[test]
    fn each_format_gives_the_promised_bytes() {
        let json_patch =
            br#"[{"op": "replace", "path": "/b", "value": 3}, {"op": "add", "path": "/c/-", "value": 1}]"#;
        let xml_patch = b"<diff><replace sel=\"r/b[2]/text()\">new</replace><remove sel=\"r/c\"/></diff>";
        /// Media type; what is held, the patch, what it promises.
        type Case = (&'static str, &'static [u8], &'static [u8], &'static [u8]);
        let table: [Case; 4] = [
            (
                "application/json-patch+json",
                br#"{"a":1,"b":2,"c":[]}"#,
                json_patch,
                br#"{"a":1,"b":3,"c":[1]}"#,
            ),
            (
                "application/json-patch+json",
                b"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": []\n}\n",
                json_patch,
                b"{\n  \"a\": 1,\n  \"b\": 3,\n  \"c\": [\n    1\n  ]\n}\n",
            ),
            (
                "application/merge-patch+json",
                br#"{"a":1,"b":2}"#,
                br#"{"b":null,"c":3}"#,
                br#"{"a":1,"c":3}"#,
            ),
            (
                "application/xml-patch+xml",
                b"<r>\n <b>1</b><b>2</b><c/>\n</r>\n",
                xml_patch,
                b"<r>\n <b>1</b><b>new</b>\n</r>\n",
            ),
        ];
        for (media_type, held, patch, promised) in table {
            let format = PatchFormat::of(&MediaType::new(media_type)).unwrap();
            let bytes = format.apply(held, patch, &digests(promised), MOST).unwrap();
            assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(promised), "{media_type}");
        }
    }

    #[test]
    fn a_result_that_is_not_promised_is_refused() {
        let result = PatchFormat::JsonMerge.apply(b"{}", br#"{"a":1}"#, &digests(br#"{"a":2}"#), MOST);
        assert_eq!(result, Err(PatchError::Mismatch));
        let unpromised = PatchFormat::JsonMerge.apply(b"{}", br#"{"a":1}"#, &Digests::new(), MOST);
        assert_eq!(unpromised, Err(PatchError::Mismatch));
    }
}
