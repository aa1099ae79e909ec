//! Documents that belong together: each compared with those it leads to, and all with each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    findings::{Child, ListedChange, Report, Summary},
    link::check_link,
};
use crate::{
    document::Form,
    finding::{Finding, Position, Severity},
    value::{Capability, Change, DateTime, Uri},
};

/// Reports about the documents of one Source, by their URIs.
///
/// ```
/// use resourcesync::validate::{DocumentSet, ValidateOptions, Validator};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut set = DocumentSet::new();
/// let sitemap = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>";
/// let report = Validator::new(ValidateOptions::new()).document(&sitemap[..])?;
/// set.insert("http://example.com/sitemap.xml".parse()?, report);
/// assert!(set.check().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct DocumentSet {
    reports: BTreeMap<Uri, Report>,
    /// Documents by the last segment of their URIs, for files; `None` if two have the same.
    by_name: BTreeMap<String, Option<Uri>>,
}

impl DocumentSet {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the report about a document; that about a manifest has the URI of its package. A file is also found by its
    /// name.
    pub fn insert(&mut self, uri: Uri, report: Report) {
        let name = last_segment(&uri).to_owned();
        self.by_name.entry(name).and_modify(|held| *held = None).or_insert_with(|| Some(uri.clone()));
        self.reports.insert(uri, report);
    }

    /// Returns the documents and their reports.
    pub fn iter(&self) -> impl Iterator<Item = (&Uri, &Report)> {
        self.reports.iter()
    }

    /// Returns the number of findings of all documents.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        self.reports.values().for_each(|report| summary.merge(&report.summary));
        summary
    }

    /// Checks properties that depend on several documents, and returns each finding with its document.
    pub fn check(&self) -> Vec<(&Uri, Finding)> {
        let mut findings = Vec::new();
        for (uri, report) in self.reports.iter().filter(|(uri, _)| !self.is_twin(uri)) {
            self.check_children(uri, report, &mut findings);
            self.check_union(uri, report, &mut findings);
            self.check_coverage(uri, report, &mut findings);
        }
        findings
    }

    /// Returns `true` for the compressed twin of another document, which represents both.
    fn is_twin(&self, uri: &Uri) -> bool {
        let plain = uri.as_str().strip_suffix(".gz").and_then(|plain| Uri::parse(plain).ok());
        plain.is_some_and(|plain| self.reports.contains_key(&plain))
    }

    fn find(&self, loc: &Uri) -> Option<(&Uri, &Report)> {
        let by_name = || self.by_name.get(last_segment(loc)).and_then(Option::as_ref);
        let uri = self.reports.contains_key(loc).then_some(loc).or_else(by_name)?;
        self.reports.get_key_value(uri)
    }

    fn check_children<'s>(&'s self, uri: &'s Uri, report: &Report, out: &mut Vec<(&'s Uri, Finding)>) {
        let Some(header) = &report.header else { return };
        for child in &report.children {
            let Some((target_uri, target)) = self.find(&child.loc).filter(|(target, _)| *target != uri)
            else {
                continue;
            };
            // A file is known by its name only; its parent states the URI it is fetched from.
            let base = target.header.as_ref().and_then(|target| target.index().or(target.up()));
            let parent = base.filter(|base| last_segment(base) == last_segment(uri)).unwrap_or(uri);
            for found in check_link(parent, header, child, target) {
                out.push((if found.about_target { target_uri } else { uri }, found.finding));
            }
        }
    }

    /// Checks that a resource is in one member of an index only (RLI-7).
    fn check_union<'s>(&'s self, uri: &'s Uri, report: &Report, out: &mut Vec<(&'s Uri, Finding)>) {
        let Some(header) = report.header.as_ref().filter(|header| header.form == Form::Index) else { return };
        if header.capability() != Some(&Capability::ResourceList) {
            return;
        }
        let mut locs: Vec<u64> = Vec::new();
        for (_, member) in report.children.iter().filter_map(|child| self.find(&child.loc)) {
            locs.extend(member.locs.iter().copied());
        }
        locs.sort_unstable();
        let twice = locs.windows(2).filter(|pair| pair[0] == pair[1]).count();
        if twice > 0 {
            let found = format!("{twice} resources in more than one member");
            let at = header.places.root;
            out.push((
                uri,
                Finding::new("RLI-7", Severity::Warning, at, found, "each resource in one member"),
            ));
        }
    }

    /// Checks that the capabilities of a Capability List cover one set of resources (CAP-9).
    fn check_coverage<'s>(&'s self, uri: &'s Uri, report: &Report, out: &mut Vec<(&'s Uri, Finding)>) {
        let Some(header) = &report.header else { return };
        if header.capability() != Some(&Capability::CapabilityList) {
            return;
        }
        let offered = |capability: Capability| {
            let child =
                report.children.iter().find(|child| child.metadata.capability.as_ref() == Some(&capability));
            child.and_then(|child| self.find(&child.loc)).map(|(_, report)| report)
        };
        let list = offered(Capability::ResourceList).and_then(|list| self.inventory(list));
        let dump = offered(Capability::ResourceDump).and_then(|dump| self.inventory_of_dump(dump));
        let (Some(list), Some(dump)) = (list, dump) else { return };
        let changes = offered(Capability::ChangeList).map(|changes| self.changes(changes));
        if let Some(finding) = check_coverage(&list, &dump, changes.as_deref(), header.places.root) {
            out.push((uri, finding));
        }
    }

    /// Returns the list itself, or the lists of an index; `None` unless all were read.
    fn lists<'r>(&'r self, report: &'r Report) -> Option<Vec<&'r Report>> {
        match report.header.as_ref()?.form {
            Form::List => Some(vec![report]),
            Form::Index => {
                report.children.iter().map(|child| self.find(&child.loc).map(|(_, list)| list)).collect()
            }
        }
    }

    fn inventory(&self, report: &Report) -> Option<SnapshotCoverage> {
        SnapshotCoverage::of(report, &self.lists(report)?)
    }

    /// Returns the resources in the packages of a dump, from their manifests or the copies that `contents` leads to.
    fn inventory_of_dump(&self, report: &Report) -> Option<SnapshotCoverage> {
        let dumps = self.lists(report)?;
        let manifest = |child: &Child| {
            let copy = || self.find(child.contents.as_ref()?);
            self.find(&child.loc).or_else(copy).map(|(_, manifest)| manifest)
        };
        let manifests: Option<Vec<_>> = dumps.iter().flat_map(|dump| &dump.children).map(manifest).collect();
        SnapshotCoverage::of(report, &manifests?)
    }

    fn changes(&self, report: &Report) -> Vec<ListedChange> {
        let form = report.header.as_ref().map(|header| header.form);
        match form {
            Some(Form::Index) => {
                let members = report.children.iter().filter_map(|child| self.find(&child.loc));
                members.flat_map(|(_, member)| member.changes.iter().cloned()).collect()
            }
            _ => report.changes.clone(),
        }
    }
}

fn last_segment(uri: &Uri) -> &str {
    uri.as_str().rsplit('/').next().unwrap_or_default()
}

/// The resources that a snapshot covers, as sorted digests of their URIs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SnapshotCoverage {
    /// The start of the snapshot (TIME-3).
    at: DateTime,
    /// The end of the snapshot; until then a resource may have changed again (TIME-4).
    completed: Option<DateTime>,
    /// `Report::locs` of its documents.
    locs: Vec<u64>,
}

impl SnapshotCoverage {
    /// Returns the resources of some documents, at the times of the document that leads to them.
    fn of(head: &Report, documents: &[&Report]) -> Option<Self> {
        let metadata = head.header.as_ref()?.metadata.as_ref()?;
        let mut locs: Vec<u64> = documents.iter().flat_map(|report| report.locs.iter().copied()).collect();
        locs.sort_unstable();
        Some(Self { at: metadata.at?, completed: metadata.completed, locs })
    }
}

/// Compares the resources of two snapshots of one set, after the changes between them (CAP-9). Without the changes,
/// different times explain a difference.
fn check_coverage(
    one: &SnapshotCoverage,
    other: &SnapshotCoverage,
    changes: Option<&[ListedChange]>,
    position: Position,
) -> Option<Finding> {
    let (older, newer) = if one.at.instant() <= other.at.instant() { (one, other) } else { (other, one) };
    let mut covered: BTreeMap<u64, bool> = older.locs.iter().map(|loc| (*loc, true)).collect();
    for change in changes.unwrap_or_default() {
        let time = change.datetime;
        let between =
            time.is_none_or(|time| older.at.instant() < time.end() && time.instant() < newer.at.end());
        if between {
            covered.insert(change.loc, change.change != Change::Deleted);
        }
    }
    let open = changed_meanwhile(&[one, other], changes.unwrap_or_default());
    let decided = |loc: &u64| !open.contains(loc);
    let gone = |loc: &u64| newer.locs.binary_search(loc).is_err();
    let surplus = covered.iter().filter(|(loc, there)| **there && gone(loc) && decided(loc)).count();
    let unknown = |loc: &u64| !covered.get(loc).copied().unwrap_or(false);
    let missing = newer.locs.iter().filter(|loc| unknown(loc) && decided(loc)).count();
    if surplus + missing == 0 {
        return None;
    }
    let explained = changes.is_none() && older.at != newer.at;
    let severity = if explained { Severity::Info } else { Severity::Error };
    let found =
        format!("{missing} resources only in the newer, {surplus} only in the older of list and dump");
    Some(Finding::new("CAP-9", severity, position, found, "the same set of resources in both"))
}

/// Returns the resources that changed while one of the snapshots was made: it may show them as before or after
/// (TIME-4).
fn changed_meanwhile(snapshots: &[&SnapshotCoverage], changes: &[ListedChange]) -> BTreeSet<u64> {
    let meanwhile = |time: DateTime| {
        snapshots.iter().any(|snapshot| {
            let end = snapshot.completed.unwrap_or(snapshot.at).end();
            time.instant() < end && snapshot.at.instant() < time.end()
        })
    };
    let open = changes.iter().filter(|change| change.datetime.is_some_and(meanwhile));
    open.map(|change| change.loc).collect()
}
