//! PURE: patch formats applied to a held version (§14.3).
//!
//! What comes out counts only when its digest is that of the entry; else the resource is fetched by `loc`.

mod json;
mod xml;

use resourcesync::{Digests, Hasher, MediaType};

/// A patch format, known by its media type (LN-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchFormat {
    /// JSON Patch, RFC 6902.
    Json,
    /// JSON Merge Patch, RFC 7396.
    JsonMerge,
    /// XML Patch, RFC 5261 and 7351.
    Xml,
}

/// Why a patch is not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// Patch or held version are not what the format works on.
    #[error("Not well-formed: {0}")]
    Malformed(String),
    /// The patch does not fit the held version.
    #[error("The patch does not fit: {0}")]
    Unfit(String),
    /// What comes out is not what the entry promises.
    #[error("The patched version has another digest")]
    Mismatch,
}

impl PatchFormat {
    /// The format of a media type; none where it is not known here.
    pub fn of(media_type: &MediaType) -> Option<Self> {
        match media_type.essence().to_ascii_lowercase().as_str() {
            "application/json-patch+json" | "application/json-patch" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::JsonMerge),
            "application/xml-patch+xml" | "application/patch-ops+xml" => Some(Self::Xml),
            _ => None,
        }
    }

    /// Applies a patch to exactly the version before it, and gives the bytes that the digests promise. JSON has many
    /// spellings of one value: the usual ones are tried.
    ///
    /// # Errors
    /// When the patch does not fit, or nothing that comes out has the digests.
    pub fn apply(self, held: &[u8], patch: &[u8], promised: &Digests) -> Result<Vec<u8>, PatchError> {
        let candidates = match self {
            Self::Json => json::patched(held, patch)?,
            Self::JsonMerge => json::merged(held, patch)?,
            Self::Xml => vec![xml::patched(held, patch)?],
        };
        candidates.into_iter().find(|bytes| agrees(bytes, promised)).ok_or(PatchError::Mismatch)
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
    use resourcesync::Algorithm;

    use super::*;

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
            let bytes = format.apply(held, patch, &digests(promised)).unwrap();
            assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(promised), "{media_type}");
        }
    }

    #[test]
    fn a_result_that_is_not_promised_is_refused() {
        let result = PatchFormat::JsonMerge.apply(b"{}", br#"{"a":1}"#, &digests(br#"{"a":2}"#));
        assert_eq!(result, Err(PatchError::Mismatch));
        let unpromised = PatchFormat::JsonMerge.apply(b"{}", br#"{"a":1}"#, &Digests::new());
        assert_eq!(unpromised, Err(PatchError::Mismatch));
    }
}
