//! Ways to get the bytes of a resource other than a request for its own URI.

use resourcesync::{Entry, Link, Relation};
use serde::{Deserialize, Serialize};

/// Ways to get the bytes of a desired state other than its own URI. It is stored for a later run with pending
/// retries: fields may be added, but never change their meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Retrieval {
    /// The content coding to which length and digests refer (AMB-B38).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Other places with the same bytes, the preferred first (§14.2).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<String>,
    /// Patches against the version before (§14.3).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<PatchLink>,
    /// The versions that were promised before it, oldest first: a patch may need them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<PatchStep>,
    /// The URIs at which this version stays available when the resource changes (§14.6).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mementos: Vec<String>,
    /// The TimeGate, which returns the state as of a time (§14.6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timegate: Option<String>,
    /// The record that describes it, the first if there are several (§14.5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub describedby: Option<String>,
    /// `true` if it is such a record itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub describes: bool,
    /// The TimeMap, which lists the states (§14.6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timemap: Option<String>,
    /// The URI at which a version is fetched; `None` for the URI of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lies_at: Option<String>,
    /// `true` if the held file is damaged: until it is replaced, its recorded state does not count (O293).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replaces_damaged: bool,
}

/// A version on the way to the one that is desired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PatchStep {
    /// Its digests, as a `hash` attribute has them.
    pub hash: String,
    /// Patches from earlier versions to it; empty if the chain begins with it.
    pub patches: Vec<PatchLink>,
}

/// A patch and its metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, String)", into = "(String, String)")]
pub struct PatchLink {
    /// Its URI.
    pub href: String,
    /// Its media type.
    pub media_type: String,
}

impl From<(String, String)> for PatchLink {
    fn from((href, media_type): (String, String)) -> Self {
        Self { href, media_type }
    }
}

impl From<PatchLink> for (String, String) {
    fn from(patch: PatchLink) -> Self {
        (patch.href, patch.media_type)
    }
}

impl Retrieval {
    /// A retrieval by the URI alone.
    pub(super) const NONE: Self = Self {
        encoding: None,
        mirrors: Vec::new(),
        patches: Vec::new(),
        steps: Vec::new(),
        mementos: Vec::new(),
        timegate: None,
        describedby: None,
        describes: false,
        timemap: None,
        lies_at: None,
        replaces_damaged: false,
    };

    pub(super) fn of_entry(entry: &Entry) -> Self {
        // Most entries have neither, and an inventory of a million entries must not allocate for each.
        if entry.links.is_empty() && entry.metadata.encoding.is_none() {
            return Self::NONE;
        }
        let mut mirrors: Vec<_> = entry.links_for(&Relation::Duplicate).collect();
        // The sort is stable, so mirrors of equal preference stay in the order of the document.
        mirrors.sort_by_key(|link| link.preference());
        let patch = |link: &Link| {
            let media_type = link.media_type.as_ref()?.as_str().to_owned();
            Some(PatchLink { href: link.href.as_str().to_owned(), media_type })
        };
        Self {
            encoding: entry.metadata.encoding.as_deref().map(str::to_owned),
            mirrors: mirrors.into_iter().map(|link| link.href.as_str().to_owned()).collect(),
            patches: entry.links_for(&Relation::Patch).filter_map(patch).collect(),
            mementos: entry.links_for(&Relation::Memento).map(|link| link.href.as_str().to_owned()).collect(),
            describedby: entry.link_for(&Relation::DescribedBy).map(|link| link.href.as_str().to_owned()),
            describes: entry.link_for(&Relation::Describes).is_some(),
            timegate: entry.link_for(&Relation::TimeGate).map(|link| link.href.as_str().to_owned()),
            ..Self::NONE
        }
    }

    /// Returns the place that has the state of a former time: a TimeGate, or this version itself (§14.6).
    pub(crate) fn place_of_past(&self) -> Option<&String> {
        self.timegate.as_ref().or(self.mementos.first())
    }

    /// Returns the text that a later run reads.
    ///
    /// # Errors
    /// Never for a value of this type; the serializer's signature requires the result.
    pub(crate) fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}
