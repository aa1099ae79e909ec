//! Documents that belong together: each compared with those it leads to, and all with each other.

use std::collections::BTreeMap;

use super::{
    coverage::{KnownChanges, SnapshotCoverage, check_coverage, older_time},
    file_names::{last_segment, most_alike},
    findings::{Child, Report, Summary},
    link::check_link,
    twin::check_twin,
};
use crate::{
    document::{Form, Header},
    finding::{Finding, Severity},
    value::{Capability, Uri},
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
    /// Documents by the last segment of their URIs, for files.
    by_name: BTreeMap<String, Vec<Uri>>,
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
        let named = self.by_name.entry(name).or_default();
        if !named.contains(&uri) {
            named.push(uri.clone());
        }
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
        let listed = self.listed();
        for (uri, report) in &self.reports {
            if let Some(document) = self.twin_of(uri) {
                // The document represents both.
                findings.extend(check_twin(document, report).map(|finding| (uri, finding)));
                continue;
            }
            self.check_children(uri, report, &listed, &mut findings);
            self.check_membership(uri, report, &mut findings);
            self.check_offer(uri, report, &mut findings);
            self.check_union(uri, report, &mut findings);
            self.check_coverage(uri, report, &mut findings);
        }
        findings
    }

    /// Returns the document of which another one is the compressed copy beside it; `None` if it is none.
    fn twin_of(&self, uri: &Uri) -> Option<&Report> {
        self.reports.get(&Uri::parse(uri.as_str().strip_suffix(".gz")?).ok()?)
    }

    fn find(&self, loc: &Uri) -> Option<(&Uri, &Report)> {
        let by_name = || match self.by_name.get(last_segment(loc))?.as_slice() {
            [only] => Some(only),
            several => most_alike(loc, several),
        };
        let uri = self.reports.contains_key(loc).then_some(loc).or_else(by_name)?;
        self.reports.get_key_value(uri)
    }

    /// Returns the URIs by which documents that are files are listed; without those that are listed by several.
    fn listed(&self) -> BTreeMap<&Uri, &Uri> {
        let mut listed: BTreeMap<&Uri, Option<&Uri>> = BTreeMap::new();
        for child in self.reports.values().flat_map(|report| &report.children) {
            if let Some((uri, _)) = self.find(&child.loc).filter(|(uri, _)| **uri != child.loc) {
                let known = listed.entry(uri).or_insert(Some(&child.loc));
                *known = known.filter(|loc| **loc == child.loc);
            }
        }
        listed.into_iter().filter_map(|(uri, loc)| Some((uri, loc?))).collect()
    }

    fn check_children<'s>(
        &'s self,
        uri: &'s Uri,
        report: &Report,
        listed: &BTreeMap<&Uri, &Uri>,
        out: &mut Vec<(&'s Uri, Finding)>,
    ) {
        let Some(header) = &report.header else { return };
        for child in &report.children {
            let Some((target_uri, target)) = self.find(&child.loc).filter(|(target, _)| *target != uri)
            else {
                continue;
            };
            // The URI at which a file is served is known if the file is listed. Otherwise the link of its target back
            // to it may state the URI.
            let base = target.header.as_ref().and_then(|target| target.index().or(target.up()));
            let likely = || base.filter(|base| last_segment(base) == last_segment(uri));
            let parent = listed.get(uri).copied().or_else(likely).unwrap_or(uri);
            let own = target.header.as_ref();
            let above = (own.and_then(Header::index), own.and_then(Header::up));
            for found in check_link(parent, header, child, target) {
                let named = if found.finding.rule == "NAV-4" { above.0 } else { above.1 };
                let is_of_link = matches!(found.finding.rule, "NAV-1" | "NAV-4" | "CAP-3");
                if !is_of_link || !self.is_listed_by(named, uri, child) {
                    out.push((if found.about_target { target_uri } else { uri }, found.finding));
                }
            }
        }
    }

    /// Returns `true` if a document lists another one, and is not `parent`: a link to it agrees, although `parent` lists the
    /// other one too, as the index of a list does beside the archived one (A14).
    fn is_listed_by(&self, named: Option<&Uri>, parent: &Uri, child: &Child) -> bool {
        let found = named.and_then(|named| self.find(named)).filter(|(found, _)| *found != parent);
        found.is_some_and(|(_, above)| above.children.iter().any(|listed| listed.loc == child.loc))
    }

    /// Checks that an index lists a document that names it as its index, if it covers its time: documents that it does not
    /// list any more stay in place for a while (NAV-4).
    fn check_membership<'s>(&'s self, uri: &'s Uri, report: &Report, out: &mut Vec<(&'s Uri, Finding)>) {
        let Some(header) = &report.header else { return };
        let Some((index_uri, index)) = header.index().and_then(|index| self.find(index)) else { return };
        let Some(above) = index.header.as_ref().filter(|above| above.form == Form::Index) else { return };
        let is_it =
            |child: &Child| child.loc == *uri || self.find(&child.loc).is_some_and(|(found, _)| found == uri);
        // The period of a member that is missing may be that of another document.
        let there: Vec<_> = index.children.iter().filter(|child| self.find(&child.loc).is_some()).collect();
        if index_uri == uri || index.children.iter().any(is_it) || !covers(above, &there, header) {
            return;
        }
        let found =
            format!("rel=\"index\" to {}, which does not list this document", last_segment(index_uri));
        let finding = Finding::new("NAV-4", Severity::Warning, header.places.root, found, "an entry for it");
        out.push((uri, finding));
    }

    /// Checks that a Capability List names a document whose `up` link leads to the list, if the document that it names
    /// instead is missing: documents that are not offered any more stay in place for a while (NAV-4).
    fn check_offer<'s>(&'s self, uri: &'s Uri, report: &Report, out: &mut Vec<(&'s Uri, Finding)>) {
        let Some(header) = report.header.as_ref().filter(|header| header.index().is_none()) else { return };
        let (Some(capability), Some(up)) = (header.capability(), header.up()) else { return };
        let Some((list_uri, list)) = self.find(up).filter(|(_, list)| offers_capabilities(list)) else {
            return;
        };
        let same = |child: &&Child| child.metadata.capability.as_ref() == Some(capability);
        let Some(named) = list.children.iter().find(same) else { return };
        // Superseded documents are listed by an archive.
        let leads_here = |child: &Child| self.find(&child.loc).is_some_and(|(found, _)| found == uri);
        let is_listed = || self.reports.values().flat_map(|report| &report.children).any(leads_here);
        if list_uri == uri || self.find(&named.loc).is_some() || is_listed() {
            return;
        }
        let found = format!(
            "rel=\"up\" to {}, which names {} for this capability",
            last_segment(list_uri),
            last_segment(&named.loc)
        );
        let at = header.places.root;
        out.push((
            uri,
            Finding::new("NAV-4", Severity::Warning, at, found, "an entry for this document there"),
        ));
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
        let since = older_time(&list, &dump);
        let find = |loc: &Uri| self.find(loc).map(|(_, report)| report);
        let known = offered(Capability::ChangeList).map(|list| KnownChanges::of(list, since, find));
        if let Some(finding) = check_coverage(&list, &dump, &known.unwrap_or_default(), header.places.root) {
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
}

fn offers_capabilities(report: &Report) -> bool {
    report.header.as_ref().and_then(Header::capability) == Some(&Capability::CapabilityList)
}

/// Returns `true` if an index states that it covers the time of a document, and none of its members does.
fn covers(index: &Header, members: &[&Child], document: &Header) -> bool {
    let (Some(stated), Some(own)) = (&index.metadata, &document.metadata) else { return false };
    if let (Some(at), Some(own)) = (stated.at, own.at) {
        return own.instant() >= at.instant() && own.instant() < stated.completed.unwrap_or(at).end();
    }
    let (Some(from), Some(own_from)) = (stated.from, own.from) else { return false };
    let within = own_from.instant() >= from.instant()
        && stated.until.is_none_or(|until| own_from.instant() < until.end());
    let has_it = |member: &Child| {
        let from = member.metadata.from.is_some_and(|from| from.instant() <= own_from.instant());
        from && member.metadata.until.is_none_or(|until| own_from.instant() < until.instant())
    };
    within && !members.iter().any(|member| has_it(member))
}
