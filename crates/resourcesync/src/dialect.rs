//! Documents of older versions, read as 1.1. No document names its version, so data show the dialect (DIA-1).

mod translate;

use std::fmt;

/// The version of the standard that a document follows, as far as its data show (DIA-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// A Sitemap without any `rs:md`: a Resource List without `at` (DIA-7).
    PlainSitemap,
    /// The D-Lib paper and the draft of January 2013 (DIA-2).
    January2013,
    /// The drafts 0.5 and 0.6: `modified` on the root (DIA-2).
    V0_5,
    /// The draft 0.9: `from` everywhere, `rel="resourcesync"` upwards (DIA-3).
    V0_9,
    /// 0.9.1, 1.0 and 1.1.
    #[default]
    Current,
}

impl Dialect {
    /// Returns `true` if `until` means that the document never changes again (DIA-2, DIA-3).
    pub fn until_closes(self) -> bool {
        self == Self::Current
    }

    /// Returns `true` if changes are listed newest first (DIA-5).
    pub fn lists_newest_first(self) -> bool {
        self == Self::January2013
    }

    /// Returns `true` if members of an index and packages of a dump are listed oldest first; if not, their own times
    /// order them (DIA-5).
    pub fn orders_members(self) -> bool {
        self == Self::Current
    }

    /// Returns `true` if a bitstream in a Change Dump may be the difference to the version before: its entry has the type
    /// of a patch then.
    pub fn packs_differences(self) -> bool {
        self == Self::January2013
    }

    /// Returns `true` if the manifest of a Change Dump may name one path twice; only the last bitstream can be verified
    /// then (CDM-10).
    pub fn repeats_paths(self) -> bool {
        self == Self::January2013
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PlainSitemap => "plain Sitemap",
            Self::January2013 => "draft of January 2013",
            Self::V0_5 => "draft 0.5 or 0.6",
            Self::V0_9 => "draft 0.9",
            Self::Current => "1.0 or 1.1",
        })
    }
}
