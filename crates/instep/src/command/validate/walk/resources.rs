//! Resources and channels of a Source, compared with its documents.

use instep_destination::documents::Download;
use instep_net::Origin;
use resourcesync::{
    Capability, Change, DateTime, Entry, Finding, Form, Metadata, Position, Relation, Severity, Uri,
    validate::{Report, check_channel},
};

use super::{
    super::packages::{algorithms, digests},
    SourceWalk,
    answers::{body, header_links, http_answer, is_damage},
    observed::ComparedResource,
};

impl SourceWalk {
    /// Fetches a few resources of a Resource List or Change List, and compares the answers with the entries.
    pub(super) async fn sample(
        &mut self,
        uri: &Uri,
        report: &Report,
        download: &Download,
    ) -> anyhow::Result<()> {
        let Some(header) = report.header.as_ref().filter(|header| header.form == Form::List) else {
            return Ok(());
        };
        let of_changes = match header.capability() {
            None | Some(Capability::ResourceList) => false,
            Some(Capability::ChangeList) => true,
            Some(_) => return Ok(()),
        };
        if self.samples == 0 || report.entries == 0 {
            return Ok(());
        }
        let at = header.metadata.as_ref().and_then(|metadata| metadata.at);
        let Ok(document) = download.document() else { return Ok(()) };
        let step = (report.entries / self.samples as u64).max(1);
        let (mut number, mut chosen) = (0, Vec::<Entry>::new());
        let _ = document.for_each(|entry| {
            // A later change of the same resource replaces the one that was chosen.
            chosen.retain(|earlier| !of_changes || earlier.loc != entry.loc);
            let is_chosen = number % step == 0 && chosen.len() < self.samples;
            let states_bytes = !of_changes || states_bytes(entry);
            if is_chosen && states_bytes {
                chosen.push(entry.clone());
            }
            number += 1;
        });
        for entry in chosen {
            let time = if of_changes { entry.metadata.datetime } else { at };
            self.compare(uri, &entry, time, of_changes).await?;
            self.try_patches(uri, &entry).await?;
        }
        Ok(())
    }

    async fn compare(
        &mut self,
        list: &Uri,
        entry: &Entry,
        time: Option<DateTime>,
        is_change: bool,
    ) -> anyhow::Result<()> {
        let speaker = Origin::parse(list.as_str()).ok();
        let findings = match self.documents.get(&entry.loc, speaker.as_ref()).await {
            Ok(resource) => {
                self.check_links_of(&entry.loc, &resource).await;
                let mut findings = differences(&resource, &entry.metadata, entry.position)?;
                if is_newer(time, &resource) {
                    findings.iter_mut().for_each(|finding| finding.severity = Severity::Info);
                }
                findings
            }
            Err(error) => {
                let (found, expected) = (error.to_string(), "a resource that can be fetched");
                vec![Finding::new("RL-8", Severity::Warning, entry.position, found, expected)]
            }
        };
        let (list, loc) = (list.clone(), entry.loc.clone());
        self.comparisons.push(ComparedResource { list, loc, time, is_change, findings });
        Ok(())
    }

    /// Fetches the patches of a change and compares them with their links (LN-9). Differences are reported at once: a
    /// patch belongs to one change, so no later change can explain them.
    async fn try_patches(&mut self, list: &Uri, entry: &Entry) -> anyhow::Result<()> {
        let speaker = Origin::parse(list.as_str()).ok();
        for link in entry.links.iter().filter(|link| link.rel == Relation::Patch) {
            let findings = match self.documents.get(&link.href, speaker.as_ref()).await {
                Ok(patch) => {
                    let mut metadata = Metadata::new();
                    (metadata.hash, metadata.length) = (link.hash.clone(), link.length);
                    metadata.encoding.clone_from(&link.encoding);
                    differences(&patch, &metadata, entry.position)?
                }
                Err(error) => {
                    let (found, expected) = (error.to_string(), "a patch that can be fetched");
                    vec![Finding::new("LN-9", Severity::Warning, entry.position, found, expected)]
                }
            };
            findings.into_iter().for_each(|finding| self.judgement.add(list.as_str(), finding));
        }
        Ok(())
    }

    /// Keeps the findings of the samples, unless something that was published later explains them.
    pub(super) fn judge_samples(&mut self) {
        for compared in std::mem::take(&mut self.comparisons) {
            if self.is_explained(&compared) {
                continue;
            }
            let list = compared.list.as_str();
            compared.findings.into_iter().for_each(|finding| self.judgement.add(list, finding));
        }
    }

    /// Returns `true` if a change of the resource is later than the entry, or a Resource List is later than its list.
    fn is_explained(&self, compared: &ComparedResource) -> bool {
        let mut changes = self.set.iter().flat_map(|(_, report)| report.changes_of(&compared.loc));
        let Some(said) = compared.time else { return changes.next().is_some() };
        // A Resource List may or may not include a change of its own moment, so such a change can explain a difference.
        // A change cannot explain a difference from itself.
        let is_later =
            |change: DateTime| change.end() > said.instant() && !(compared.is_change && change == said);
        changes.any(|change| change.is_none_or(is_later)) || self.has_later_inventory(&compared.list, said)
    }

    /// Returns `true` if the set of a list has another Resource List that is later than a time. The parts of one index
    /// count as one list.
    fn has_later_inventory(&self, list: &Uri, said: DateTime) -> bool {
        let Some(own) = self.headers.get(list) else { return false };
        self.headers.iter().any(|(uri, other)| {
            let is_part_of_the_same =
                own.index().is_some_and(|index| index == uri || other.index() == Some(index));
            other.capability() == Some(&Capability::ResourceList)
                && other.up() == own.up()
                && !is_part_of_the_same
                && other
                    .metadata
                    .as_ref()
                    .and_then(|metadata| metadata.at)
                    .is_some_and(|at| at.instant() > said.instant())
        })
    }

    /// Requests each channel of a Capability List and checks the links of its answer, which name hub and topic (CN-4).
    pub(super) async fn check_channels(
        &mut self,
        uri: &Uri,
        report: &Report,
        download: &Download,
    ) -> anyhow::Result<()> {
        let capability = report.header.as_ref().and_then(|header| header.capability());
        if !self.follows || capability != Some(&Capability::CapabilityList) {
            return Ok(());
        }
        let mut channels = Vec::new();
        // The faults of the document itself are reported with it.
        let Ok(document) = download.document() else { return Ok(()) };
        let _ = document.for_each(|entry| {
            if entry.metadata.capability.as_ref().is_some_and(Capability::is_channel)
                && entry.loc.as_str().starts_with("http")
            {
                channels.push(entry.clone());
            }
        });
        let speaker = Origin::parse(uri.as_str()).ok();
        for channel in channels {
            let answer = self.documents.get(&channel.loc, speaker.as_ref()).await;
            let links: Vec<_> = answer.iter().flat_map(|answer| header_links(answer, &channel.loc)).collect();
            for finding in check_channel(&channel.loc, &links, &channel) {
                self.judgement.add(uri.as_str(), finding);
            }
        }
        Ok(())
    }
}

/// Returns `true` if a change states the bytes that a resource has since then: it has a time, and is no deletion.
fn states_bytes(change: &Entry) -> bool {
    change.metadata.datetime.is_some() && change.metadata.change != Some(Change::Deleted)
}

/// Compares an answer with the metadata that a list or link states for it.
fn differences(answer: &Download, said: &Metadata, position: Position) -> anyhow::Result<Vec<Finding>> {
    let (mut served, algorithms) = (http_answer(answer, None), algorithms(&said.hash));
    served.digests = digests(answer.read_coded(), &algorithms)?;
    let mut fault = None;
    if served.content_encoding.is_some() {
        match digests(body(answer), &algorithms) {
            Err(error) if is_damage(&error) => {
                let found = format!("a body that cannot be decoded: {error}");
                fault =
                    Some(Finding::new("ATT-11", Severity::Error, position, found, "its Content-Encoding"));
            }
            decoded => served.decoded = decoded?,
        }
    }
    let mut findings = served.check(said, position, None);
    findings.extend(fault);
    Ok(findings)
}

/// Returns `true` if the server states that a resource was modified after the time of its entry, which therefore cannot
/// describe it.
fn is_newer(time: Option<DateTime>, resource: &Download) -> bool {
    let said = resource.headers.get("last-modified").and_then(|value| value.to_str().ok());
    let modified = said.and_then(|said| jiff::fmt::rfc2822::parse(said).ok());
    time.zip(modified).is_some_and(|(time, modified)| modified.timestamp().as_second() > time.instant().0)
}
