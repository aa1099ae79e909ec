//! The `capability` attribute.

use std::{convert::Infallible, fmt, str::FromStr};

/// The kind of a document, or of the document that an entry leads to: the `capability` attribute (GEN-4, GEN-5, ARC-2,
/// CN-3).
///
/// A list and the index over it carry the same capability (GEN-10); only the root element distinguishes them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// `description`: a Source Description (§8).
    Description,
    /// `capabilitylist` (§9).
    CapabilityList,
    /// `resourcelist` (§10).
    ResourceList,
    /// `resourcedump` (§11.1).
    ResourceDump,
    /// `resourcedump-manifest` (§11.2).
    ResourceDumpManifest,
    /// `changelist` (§12).
    ChangeList,
    /// `changedump` (§13.1).
    ChangeDump,
    /// `changedump-manifest` (§13.2).
    ChangeDumpManifest,
    /// `resourcelist-archive` (Archives §3).
    ResourceListArchive,
    /// `resourcedump-archive` (Archives §4).
    ResourceDumpArchive,
    /// `changelist-archive` (Archives §5).
    ChangeListArchive,
    /// `changedump-archive` (Archives §6).
    ChangeDumpArchive,
    /// `change-notification` (Change Notification §5).
    ChangeNotification,
    /// `framework-notification` (Framework Notification).
    FrameworkNotification,
    /// A capability that none of the standard's texts defines; kept as written (CAP-13).
    Other(Box<str>),
}

impl Capability {
    /// Every capability that has a variant, in the order of the texts.
    pub const KNOWN: [Self; 14] = [
        Self::Description,
        Self::CapabilityList,
        Self::ResourceList,
        Self::ResourceDump,
        Self::ResourceDumpManifest,
        Self::ChangeList,
        Self::ChangeDump,
        Self::ChangeDumpManifest,
        Self::ResourceListArchive,
        Self::ResourceDumpArchive,
        Self::ChangeListArchive,
        Self::ChangeDumpArchive,
        Self::ChangeNotification,
        Self::FrameworkNotification,
    ];

    /// Reads the attribute's value; case matters (GEN-5).
    pub fn parse(text: &str) -> Self {
        Self::KNOWN
            .into_iter()
            .find(|known| known.as_str() == text)
            .unwrap_or_else(|| Self::Other(text.into()))
    }

    /// Returns `true` for a channel: its URI is an endpoint and not that of a document (CN-3).
    pub fn is_channel(&self) -> bool {
        matches!(self, Self::ChangeNotification | Self::FrameworkNotification)
    }

    /// Returns the attribute's value.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Description => "description",
            Self::CapabilityList => "capabilitylist",
            Self::ResourceList => "resourcelist",
            Self::ResourceDump => "resourcedump",
            Self::ResourceDumpManifest => "resourcedump-manifest",
            Self::ChangeList => "changelist",
            Self::ChangeDump => "changedump",
            Self::ChangeDumpManifest => "changedump-manifest",
            Self::ResourceListArchive => "resourcelist-archive",
            Self::ResourceDumpArchive => "resourcedump-archive",
            Self::ChangeListArchive => "changelist-archive",
            Self::ChangeDumpArchive => "changedump-archive",
            Self::ChangeNotification => "change-notification",
            Self::FrameworkNotification => "framework-notification",
            Self::Other(text) => text,
        }
    }
}

impl FromStr for Capability {
    type Err = Infallible;

    /// Reads any text: one that is not known here is kept as written.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
