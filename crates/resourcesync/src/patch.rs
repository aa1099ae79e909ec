//! Patches between two versions of a resource: making them, and applying them to the version that is held (§14.4).
//!
//! The result of a patch is valid only if its digest is that of the entry; else the resource is fetched from `loc`
//! (LN-13). Patches and versions come from others, so time and memory are bounded by their sizes.
//!
//! Without the feature `patch` the formats are known, and nothing is made or applied.

#[cfg(feature = "patch")]
mod between;
#[cfg(feature = "patch")]
mod delta;
#[cfg(feature = "patch")]
mod error;
#[cfg(feature = "patch")]
mod json;
#[cfg(feature = "patch")]
mod xml;

#[cfg(feature = "patch")]
pub use between::patch_between;
#[cfg(feature = "patch")]
pub use error::PatchError;

use crate::value::MediaType;

/// A patch format, recognized by its media type (LN-10, LN-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchFormat {
    /// JSON Patch, RFC 6902.
    Json,
    /// JSON Merge Patch, RFC 7396.
    JsonMerge,
    /// XML Patch, RFC 5261 and RFC 7351.
    Xml,
    /// VCDIFF, RFC 3284, for any bytes.
    Delta,
}

impl PatchFormat {
    /// Returns the format of a media type; `None` if it is not known here.
    ///
    /// An XML patch goes by three names: §14.4 of the standard names that of RFC 5261, RFC 7351 registered a second
    /// one, and early tools used a third.
    pub fn of(media_type: &MediaType) -> Option<Self> {
        match media_type.essence().to_ascii_lowercase().as_str() {
            "application/json-patch+json" | "application/json-patch" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::JsonMerge),
            "application/patch-ops-error+xml" | "application/xml-patch+xml" | "application/patch-ops+xml" => {
                Some(Self::Xml)
            }
            "application/vcdiff" => Some(Self::Delta),
            _ => None,
        }
    }

    /// Returns the media type to publish a patch with: for XML the one that §14.4 names.
    pub fn media_type(self) -> MediaType {
        MediaType::new(match self {
            Self::Json => "application/json-patch+json",
            Self::JsonMerge => "application/merge-patch+json",
            Self::Xml => "application/patch-ops-error+xml",
            Self::Delta => "application/vcdiff",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::PatchFormat;
    use crate::MediaType;

    #[test]
    fn a6_each_name_of_the_xml_patch_type_is_accepted_and_that_of_the_standard_is_written() {
        for name in
            ["application/patch-ops-error+xml", "application/xml-patch+xml", "application/patch-ops+xml"]
        {
            assert_eq!(PatchFormat::of(&MediaType::new(name)), Some(PatchFormat::Xml), "{name}");
        }
        assert_eq!(PatchFormat::Xml.media_type().as_str(), "application/patch-ops-error+xml");
    }
}
