//! The record of published documents: it is kept between publications, so that only changed ones are written.

use std::{collections::BTreeMap, time::Duration};

use resourcesync::DateTime;
use serde::{Deserialize, Serialize};

use super::{Moment, Span};

/// The published documents of a Source, kept between publications so that only what changes is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct PublishedSource {
    /// The base URL and the version that all documents depend on: if it changes, all of them are rewritten.
    pub written_for: String,
    /// The folder that the documents were put in; `None` for a Source of several servers, which have a folder each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_in: Option<String>,
    /// Each set, by its name.
    pub sets: BTreeMap<String, PublishedSet>,
    /// Every document in place that something refers to, by its name.
    pub documents: BTreeMap<String, PublishedDocument>,
    /// Documents that nothing refers to any more, with the time of the last reference; they are removed after the grace
    /// time.
    pub retired: BTreeMap<String, Moment>,
    /// `true` if the documents have gzip twins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gzip_twins: bool,
    /// The archives of the sets if they have changed. They are stored separately, because they may be large.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub archives: BTreeMap<String, ArchivedDocuments>,
}

impl PublishedSource {
    /// Takes out, and names, the documents whose grace time is over.
    pub(crate) fn expire(&mut self, grace: Duration, now: DateTime) -> Vec<String> {
        let expired = |since: &Moment| since.is_older_than(grace, now);
        let names = self.retired.iter().filter(|(_, since)| expired(since)).map(|(name, _)| name.clone());
        let names: Vec<_> = names.collect();
        self.retired.retain(|_, since| !expired(since));
        names
    }

    /// Returns the last change that a document shows.
    pub(crate) fn through(&self) -> u64 {
        self.sets.values().map(PublishedSet::through).max().unwrap_or(0)
    }

    /// Returns the documents that may be in place after the publication of `next` was interrupted: its lists, and the
    /// documents of both, including those that were about to be removed.
    pub(crate) fn interrupted(self, next: Self) -> Self {
        let (mut documents, mut retired, mut sets) = (self.documents, self.retired, next.sets);
        documents.extend(next.documents);
        retired.extend(next.retired);
        // The packages of `next` may be missing, and a missing one takes all before it along: its changes are packed again.
        for (name, former) in self.sets {
            if let (Some(set), Some(dump)) = (sets.get_mut(&name), former.change_dump) {
                set.change_dump = Some(dump);
            }
        }
        Self { documents, retired, sets, gzip_twins: self.gzip_twins || next.gzip_twins, ..next }
    }
}

/// One document in place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PublishedDocument {
    /// Its bytes.
    pub length: u64,
    /// The digest of its bytes, for documents small enough to be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The published documents of one set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct PublishedSet {
    /// Its Resource List.
    pub resource_list: Option<PublishedResourceList>,
    /// Its Change Lists.
    pub change_list: Option<PublishedChangeLists>,
    /// Its Resource Dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_dump: Option<PublishedResourceDump>,
    /// Its Change Dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_dump: Option<PublishedChangeDump>,
    /// A summary of its archives, as far as each publication needs it.
    pub archive: ArchiveSummary,
}

impl PublishedSet {
    /// Returns the last change that a document of the set shows.
    fn through(&self) -> u64 {
        let lists = self.change_list.as_ref().map(|lists| lists.through);
        let list = self.resource_list.as_ref().map(|list| list.sequence);
        let dump = self.change_dump.as_ref().map(|dump| dump.through);
        lists.max(list).max(dump).unwrap_or(0)
    }
}

/// A Resource List in place: the snapshot it shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct PublishedResourceList {
    /// The time at which the snapshot began.
    pub at: Moment,
    /// The time at which it was complete.
    pub completed: Moment,
    /// The last change it includes.
    pub sequence: u64,
    /// The revision of the catalogue it shows.
    pub revision: u64,
    /// Resources in it.
    pub resources: u64,
    /// An identifier of the operator's rules for its entries; other rules have another one.
    #[serde(default)]
    pub rules: String,
    /// The documents it consists of.
    pub documents: Vec<String>,
    /// The documents of the plain Sitemap beside it.
    #[serde(default)]
    pub twin: Vec<String>,
}

/// The Change Lists in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct PublishedChangeLists {
    /// The last change published.
    pub through: u64,
    /// `true` if there is one plain list and no index.
    pub single: bool,
    /// Closed lists that the index names, oldest first; with one plain list the span before the open one.
    pub closed: Vec<Span>,
    /// The open list.
    pub open: Span,
}

impl PublishedChangeLists {
    /// Returns the closed lists that are documents of their own; none if one plain list has their changes.
    pub(crate) fn closed_members(&self) -> &[Span] {
        if self.single { &[] } else { &self.closed }
    }
}

/// A Resource Dump in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct PublishedResourceDump {
    /// The time at which its snapshot began.
    pub at: Moment,
    /// The time at which its last package was complete.
    pub completed: Moment,
    /// The last change it includes.
    pub sequence: u64,
    /// The revision of the catalogue it shows.
    pub revision: u64,
    /// Its packages, in order.
    pub packages: Vec<PublishedPackage>,
}

/// The archives of a set without their documents: enough to see that they are unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct ArchiveSummary {
    /// The time since which the oldest of their documents is superseded or closed.
    pub oldest: Option<Moment>,
    /// The number of documents in the largest of them.
    pub most: usize,
    /// The `at` of the last Resource List in them.
    pub last_list: Option<Moment>,
    /// The change before the first one in their Change Lists.
    pub after: Option<u64>,
    /// The rest that they show: the closed Change Lists that have not left the index, and which archives there are.
    pub shown: String,
    /// The documents that they consist of.
    pub documents: Vec<String>,
    /// The capabilities they are archives of, as the Capability List names them.
    pub offered: Vec<String>,
}

/// The documents in the archives of a set, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct ArchivedDocuments {
    /// Resource Lists that were superseded.
    pub resource_lists: Vec<ArchivedSnapshot>,
    /// Resource Dumps that were superseded.
    pub resource_dumps: Vec<ArchivedSnapshot>,
    /// Closed Change Lists that have left the index.
    pub change_lists: Vec<Span>,
    /// Change Dumps of packages that have left the open one.
    pub change_dumps: Vec<ArchivedChangeDump>,
    /// The documents of all of these, by their names below `out`.
    pub documents: BTreeMap<String, PublishedDocument>,
}

impl ArchivedDocuments {
    /// Returns the time at which the oldest was superseded or closed; `None` if there is none.
    pub(crate) fn oldest(&self) -> Option<Moment> {
        let snapshots = self.resource_lists.iter().chain(&self.resource_dumps).map(|it| it.since);
        let dumps = self.change_dumps.iter().map(|it| it.until);
        snapshots.chain(dumps).chain(self.change_lists.iter().filter_map(|it| it.until)).min()
    }

    /// Returns the number of documents in the largest archive.
    pub(crate) fn most(&self) -> usize {
        let snapshots = self.resource_lists.len().max(self.resource_dumps.len());
        snapshots.max(self.change_lists.len()).max(self.change_dumps.len())
    }
}

/// A closed Change Dump in an archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct ArchivedChangeDump {
    /// Its packages, oldest first; there is one at least.
    pub packages: Vec<PublishedChangePackage>,
    /// `from` of its first package.
    pub from: Moment,
    /// `until` of its last package.
    pub until: Moment,
}

/// A Change Dump in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct PublishedChangeDump {
    /// The time from which all changes are in it.
    pub from: Moment,
    /// The time up to which all changes are in it.
    pub until: Moment,
    /// The last change in it.
    pub through: u64,
    /// Its packages, oldest first.
    pub packages: Vec<PublishedChangePackage>,
}

impl PublishedChangeDump {
    /// Returns an empty Change Dump of the changes after a time; `through` is the last change before that time.
    pub(crate) fn starting(from: DateTime, through: u64) -> Self {
        Self { from: Moment(from), until: Moment(from), through, packages: Vec::new() }
    }
}

/// A package of changes in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct PublishedChangePackage {
    /// Start of its interval.
    pub from: Moment,
    /// End of its interval.
    pub until: Moment,
    /// The package.
    pub package: PublishedPackage,
}

/// A snapshot in an archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct ArchivedSnapshot {
    /// The time at which it began.
    pub at: Moment,
    /// The time at which it was complete.
    pub completed: Moment,
    /// The time at which it was superseded.
    pub since: Moment,
    /// The name, among the documents of the set, of the document that represents it.
    pub document: String,
    /// The names, below `out`, of the other documents and packages it consists of.
    pub parts: Vec<String>,
}

/// A package in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct PublishedPackage {
    /// Its name among the documents of the set.
    pub package: String,
    /// The name of the copy of its manifest.
    pub manifest: String,
    /// Its bytes.
    pub length: u64,
    /// Its digests.
    pub hash: String,
}
