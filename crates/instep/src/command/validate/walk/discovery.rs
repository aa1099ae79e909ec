//! Checks of the ways in which a Source is discovered: the well-known URI, links of pages and resources, robots.txt. A
//! way that the Source does not offer is not a fault.

use std::collections::BTreeMap;

use instep_destination::{
    Error,
    discover::{DiscoverError, discover},
    documents::Download,
};
use resourcesync::{
    Capability, Finding, Header, Position, Relation, Uri,
    discovery::{from_html, from_robots, robots, well_known},
    validate::{Report, check_discovered, check_page, check_source},
};

use super::{SourceWalk, answers::header_links, observed::LinkingPage};

/// The most bytes read of a page or a robots.txt.
const MOST_TEXT: usize = 1 << 20;

impl SourceWalk {
    /// Returns the starts of the walk: the Source Description, if discovery finds one, then the Capability Lists and
    /// the capabilities. Checks the ways of discovery.
    ///
    /// Errors: discovery finds nothing, or the server cannot be reached.
    pub(super) async fn top(&mut self, url: &Uri) -> anyhow::Result<Vec<Uri>> {
        let found = match discover(url, &[], &self.documents).await {
            Ok(found) => found,
            // The walk begins with the document that discovery could not use, so that its faults are reported.
            Err(
                DiscoverError::Invalid { uri, .. }
                | DiscoverError::NoDocument { uri, .. }
                | DiscoverError::TooManySets { uri, .. },
            ) => {
                return Ok(vec![uri]);
            }
            Err(error) => return Err(Error::from(error).into()),
        };
        self.check_ways(url).await;
        let has_lists = found.sets.iter().any(|set| set.capability_list.is_some());
        let unused = || self.well_known_description(url).filter(|_| !has_lists);
        let description = found.source_description.clone().or_else(unused);
        let lists = found.sets.iter().filter_map(|set| set.capability_list.clone());
        let offers = found.sets.iter().flat_map(|set| &set.capabilities);
        let offers =
            offers.filter(|(capability, _)| !capability.is_channel()).map(|(_, offer)| offer.uri.clone());
        Ok(description.into_iter().chain(lists).chain(offers).collect())
    }

    /// Returns the well-known URI if a Source Description is there, although discovery found nothing to use in it.
    fn well_known_description(&self, url: &Uri) -> Option<Uri> {
        let uri = well_known(url).ok()?;
        let is_one = self.headers.get(&uri)?.capability() == Some(&Capability::Description);
        is_one.then_some(uri)
    }

    /// Checks the well-known URI, the links of the operator's URL, and robots.txt (DISC-1, DISC-2, DISC-4, DISC-5).
    async fn check_ways(&mut self, url: &Uri) {
        if let Ok(uri) = well_known(url) {
            let header = self.header_at(&uri).await;
            if let Some(finding) = check_discovered(false, header.as_ref()) {
                self.judgement.add(uri.as_str(), finding);
            }
        }
        if let Ok(named) = self.documents.get(url, None).await
            && named.document().is_err()
        {
            self.check_links_of(url, &named).await;
        }
        let Ok(uri) = robots(url) else { return };
        let Ok(download) = self.documents.get(&uri, None).await else { return };
        let text = String::from_utf8_lossy(&download.start(MOST_TEXT).unwrap_or_default()).into_owned();
        for sitemap in from_robots(&text, &uri) {
            if self.header_at(&sitemap).await.is_none() {
                let found = format!("{sitemap}, which cannot be read");
                let finding = Finding::of("DISC-5", Position::default(), found, "a Resource List or Sitemap");
                self.judgement.add(uri.as_str(), finding);
            }
        }
    }

    /// Checks the links in the headers and in the head of a page or resource that lead to its Capability List (DISC-7),
    /// and notes them for [`Self::check_pages`].
    pub(super) async fn check_links_of(&mut self, uri: &Uri, download: &Download) {
        let in_header = header_links(download, uri).filter(|link| link.is(&Relation::ResourceSync, uri));
        let mut links: Vec<_> = in_header.map(|link| (link.target, true)).collect();
        if download.media_type().is_some_and(|of| of == "text/html" || of == "application/xhtml+xml") {
            let text = download.start(MOST_TEXT).unwrap_or_default();
            links.extend(from_html(&text, uri).into_iter().map(|link| (link.target, link.in_head)));
        }
        for (list, in_head) in links {
            let header = self.header_at(&list).await;
            if let Some(finding) = check_discovered(true, header.as_ref()) {
                self.judgement.add(uri.as_str(), finding);
            }
            self.pages.push(LinkingPage { uri: uri.clone(), list, in_head });
        }
    }

    /// Returns the header of a document; `None` if it cannot be fetched or read. It is fetched once and kept, because
    /// many resources link to the same Capability List.
    async fn header_at(&mut self, uri: &Uri) -> Option<Header> {
        if let Some(known) = self.headers.get(uri) {
            return Some(known.clone());
        }
        let header = self.documents.get(uri, None).await.ok()?.document().ok()?.header;
        self.headers.insert(uri.clone(), header.clone());
        Some(header)
    }

    /// Reports a Source without a Source Description (SD-1).
    pub(super) fn check_description(&mut self, url: &Uri) {
        let mut headers = self.set.iter().filter_map(|(_, report)| report.header.as_ref());
        let has_one = headers.any(|header| header.capability() == Some(&Capability::Description));
        if let Some(finding) = check_source(has_one) {
            self.judgement.add(url.as_str(), finding);
        }
    }

    /// Reports pages that are in no list below the Capability List that they link to (DISC-2, DISC-3). If the walk has
    /// not read such a list, nothing can be said.
    pub(super) fn check_pages(&mut self) {
        let reports: BTreeMap<&Uri, &Report> = self.set.iter().collect();
        for LinkingPage { uri, list, in_head } in &self.pages {
            let below = lists_below(list, &reports);
            if below.is_empty() {
                continue;
            }
            // A landing page may lead to the Source without being one of its resources.
            let is_landing_page = uri.as_str().ends_with('/') || uri.as_str().matches('/').count() == 2;
            let findings = check_page(uri, *in_head, &below).into_iter();
            for finding in findings.filter(|finding| !is_landing_page || finding.rule != "DISC-3") {
                self.judgement.add(uri.as_str(), finding);
            }
        }
    }
}

/// Returns the Resource Lists and Change Lists that a Capability List leads to, and the members of their indexes.
fn lists_below<'r>(list: &Uri, reports: &BTreeMap<&Uri, &'r Report>) -> Vec<&'r Report> {
    let below = |report: &'r Report| {
        let targets = report.children.iter().filter_map(|child| reports.get(&child.loc).copied());
        targets.filter(|target| {
            let capability = target.header.as_ref().and_then(Header::capability);
            matches!(capability, Some(Capability::ResourceList | Capability::ChangeList))
        })
    };
    let Some(list) = reports.get(list) else { return Vec::new() };
    let offered: Vec<_> = below(list).collect();
    let members = offered.iter().flat_map(|report| below(report));
    offered.iter().copied().chain(members).collect()
}
