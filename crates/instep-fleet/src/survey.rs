//! A survey of a Source: the documents that its Capability Lists offer, and how they agree with the standard. Each
//! look adds the documents that it fetched; unchanged ones keep their last result.

mod surveyor;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub(crate) use surveyor::Surveyor;

/// The documents of a Source, as they were when they were last read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceSurvey {
    /// The URL of the Source.
    pub url: String,
    /// The documents by the URIs that lead to them.
    pub documents: BTreeMap<String, SurveyedDocument>,
    /// Documents that are left out, because there are more than are kept.
    pub left_out: u64,
}

/// A document of a Source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SurveyedDocument {
    /// The time at which it was last read, in seconds since 1970.
    pub read: i64,
    /// Its capability, as the standard writes it; `None` if it states none.
    pub capability: Option<String>,
    /// `true` for an index.
    pub is_index: bool,
    /// The number of its entries; `None` if it is too large to be checked here.
    pub entries: Option<u64>,
    /// The documents that it leads to, as many as are kept.
    pub leads_to: Vec<SurveyedLink>,
    /// The number of all documents that it leads to.
    pub links: u64,
    /// The rules that it breaks.
    pub broken: Vec<BrokenRule>,
}

/// A document that another one leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SurveyedLink {
    /// Its URI.
    pub uri: String,
    /// The capability that the other one states.
    pub capability: Option<String>,
}

/// A rule of the standard that a document does not follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BrokenRule {
    /// The rule's id.
    pub rule: String,
    /// The weight: `error`, `warning` or `info`.
    pub severity: String,
    /// The number of findings.
    pub count: u64,
    /// The line of the first one; 0 if it has no place in the document.
    pub line: u64,
    /// The text or state that was found there.
    pub found: String,
    /// The text or state that the rule requires.
    pub expected: String,
}

impl SourceSurvey {
    /// The documents that are kept of a Source.
    pub(crate) const MOST: usize = 500;

    /// Returns the documents that no other document leads to: the Source Description, or its substitute.
    pub fn roots(&self) -> impl Iterator<Item = &str> {
        let led_to: BTreeSet<_> = self.led_to().collect();
        // Documents that lead to each other in a circle have no root.
        let is_circle = self.documents.keys().all(|uri| led_to.contains(uri.as_str()));
        self.documents.keys().map(String::as_str).filter(move |uri| is_circle || !led_to.contains(uri))
    }

    fn led_to(&self) -> impl Iterator<Item = &str> {
        let links = self.documents.iter().flat_map(|(from, document)| {
            document.leads_to.iter().map(move |link| (from.as_str(), link.uri.as_str()))
        });
        links.filter(|(from, to)| from != to).map(|(_, to)| to)
    }

    /// Adds the documents of a later survey. Those that are no longer linked are removed.
    pub(crate) fn add(&mut self, later: Self) {
        if self.url != later.url {
            *self = Self { url: later.url, ..Self::default() };
        }
        let mut led_to: BTreeSet<_> = self.led_to().map(str::to_owned).collect();
        let fresh: BTreeSet<_> = later.documents.keys().cloned().collect();
        self.left_out = later.left_out;
        self.documents.extend(later.documents);
        loop {
            let still: BTreeSet<_> = self.led_to().map(str::to_owned).collect();
            let before = self.documents.len();
            self.documents
                .retain(|uri, _| fresh.contains(uri) || !led_to.contains(uri) || still.contains(uri));
            if self.documents.len() == before {
                break;
            }
            // The targets of a removed document may have to be removed too.
            led_to.extend(still);
        }
        while self.documents.len() > Self::MOST {
            self.left_out += u64::from(self.documents.pop_last().is_some());
        }
    }
}

#[cfg(test)]
mod tests;
