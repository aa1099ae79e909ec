//! The `rel` attribute.

use std::{convert::Infallible, fmt, str::FromStr};

/// The relation of an `rs:ln` (GEN-21): an IANA-registered name or a URI.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Relation {
    /// `up`: one level up the structure (NAV-1).
    Up,
    /// `index`: from a member to its index (NAV-2).
    Index,
    /// `describedby`: a description of the linking thing (§14.5).
    DescribedBy,
    /// `describes`: the resource that the linking metadata describes (§14.5).
    Describes,
    /// `contents`: from a package to a copy of its manifest (LN-24).
    Contents,
    /// `duplicate`: a mirror (§14.2).
    Duplicate,
    /// `alternate`: another representation (§14.3).
    Alternate,
    /// `canonical`: the generic URI of a representation (§14.3).
    Canonical,
    /// `http://www.openarchives.org/rs/terms/patch`: a patch from the previous state to this one (§14.4).
    Patch,
    /// `profile`: the format of a metadata record (LN-15).
    Profile,
    /// `memento`: a state of the resource under its own URI (§14.6).
    Memento,
    /// `timegate`: negotiates the state as of a time (§14.6).
    TimeGate,
    /// `timemap`: the list of states (§14.6).
    TimeMap,
    /// `collection`: a collection that has the resource as a member (§14.7).
    Collection,
    /// `via`: the resource at the original Source (§14.8).
    Via,
    /// `archives`: from a document to its archive (ARC-4).
    Archives,
    /// `hub`: takes subscriptions to a channel (CN-4).
    Hub,
    /// `self`: the topic of a channel (CN-4).
    Itself,
    /// `resourcesync`: to a Capability List (DISC-2, DISC-4); `up` in drafts before 0.9.1.
    ResourceSync,
    /// Any other; kept as written.
    Other(Box<str>),
}

/// The names in IANA's registry of link relations, in alphabetical order.
#[rustfmt::skip]
const REGISTERED: [&str; 134] = [
    "about", "acl", "alternate", "amphtml", "api-catalog", "appendix", "apple-touch-icon",
    "apple-touch-startup-image", "archives", "author", "blocked-by", "bookmark", "c2pa-manifest",
    "canonical", "chapter", "cite-as", "collection", "compression-dictionary", "contents", "convertedfrom",
    "copyright", "create-form", "current", "deprecation", "describedby", "describes", "disclosure",
    "dns-prefetch", "duplicate", "edit", "edit-form", "edit-media", "enclosure", "external", "first",
    "geofeed", "glossary", "help", "hosts", "hub", "ice-server", "icon", "index", "intervalafter",
    "intervalbefore", "intervalcontains", "intervaldisjoint", "intervalduring", "intervalequals",
    "intervalfinishedby", "intervalfinishes", "intervalin", "intervalmeets", "intervalmetby",
    "intervaloverlappedby", "intervaloverlaps", "intervalstartedby", "intervalstarts", "item", "last",
    "latest-version", "license", "linkset", "lrdd", "manifest", "mask-icon", "me", "media-feed", "memento",
    "micropub", "modulepreload", "monitor", "monitor-group", "next", "next-archive", "nofollow", "noopener",
    "noreferrer", "opener", "openid2.local_id", "openid2.provider", "original", "p3pv1", "payment",
    "pingback", "preconnect", "predecessor-version", "prefetch", "preload", "prerender", "prev",
    "prev-archive", "preview", "previous", "privacy-policy", "profile", "publication", "rdap-active",
    "rdap-bottom", "rdap-down", "rdap-top", "rdap-up", "related", "replies", "resourcesync", "restconf",
    "ruleinput", "search", "section", "self", "service", "service-desc", "service-doc", "service-meta",
    "sip-trunking-capability", "sponsored", "start", "status", "stylesheet", "subsection",
    "successor-version", "sunset", "tag", "terms-of-service", "timegate", "timemap", "type", "ugc", "up",
    "version-history", "via", "webmention", "working-copy", "working-copy-of",
];

/// The patch relation's URI (LN-9).
const PATCH: &str = "http://www.openarchives.org/rs/terms/patch";

impl Relation {
    /// The relation of a batch endpoint, which makes packages of chosen resources or of the changes since a time. It is
    /// an extension of this project, described at the URI itself.
    pub const BATCH: &str = "https://github.com/instep-sync/instep/blob/main/docs/batch.md";

    const KNOWN: [Self; 19] = [
        Self::Up,
        Self::Index,
        Self::DescribedBy,
        Self::Describes,
        Self::Contents,
        Self::Duplicate,
        Self::Alternate,
        Self::Canonical,
        Self::Patch,
        Self::Profile,
        Self::Memento,
        Self::TimeGate,
        Self::TimeMap,
        Self::Collection,
        Self::Via,
        Self::Archives,
        Self::Hub,
        Self::Itself,
        Self::ResourceSync,
    ];

    /// Reads the attribute's value; registered names compare without case (RFC 8288 §3.3).
    pub fn parse(text: &str) -> Self {
        Self::KNOWN
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(text))
            .unwrap_or_else(|| Self::Other(text.into()))
    }

    /// Returns `true` if IANA registered the name (GEN-21).
    pub fn is_registered(name: &str) -> bool {
        REGISTERED.binary_search(&name.to_ascii_lowercase().as_str()).is_ok()
    }

    /// Returns the attribute's value.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Up => "up",
            Self::Index => "index",
            Self::DescribedBy => "describedby",
            Self::Describes => "describes",
            Self::Contents => "contents",
            Self::Duplicate => "duplicate",
            Self::Alternate => "alternate",
            Self::Canonical => "canonical",
            Self::Patch => PATCH,
            Self::Profile => "profile",
            Self::Memento => "memento",
            Self::TimeGate => "timegate",
            Self::TimeMap => "timemap",
            Self::Collection => "collection",
            Self::Via => "via",
            Self::Archives => "archives",
            Self::Hub => "hub",
            Self::Itself => "self",
            Self::ResourceSync => "resourcesync",
            Self::Other(text) => text,
        }
    }
}

impl FromStr for Relation {
    type Err = Infallible;

    /// Reads any text: one that is not known here is kept as written.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
