//! Resources and channels of a Source, compared with its documents.

use instep_destination::documents::Download;
use instep_net::Origin;
use resourcesync::{
    Capability, Entry, Finding, Form, Severity, Uri,
    validate::{Report, check_channel},
};

use super::{
    super::packages::{algorithms, digests},
    SourceWalk,
    answers::{header_links, http_answer},
    observed::ComparedResource,
    target::is_channel,
};

impl SourceWalk {
    /// Fetches a few resources of a list, and compares the answers with the entries.
    pub(super) async fn sample(
        &mut self,
        uri: &Uri,
        report: &Report,
        download: &Download,
    ) -> anyhow::Result<()> {
        let header = report.header.as_ref();
        let is_list = header.is_some_and(|header| {
            header.form == Form::List
                && header.capability().is_none_or(|capability| *capability == Capability::ResourceList)
        });
        if !is_list || self.samples == 0 || report.entries == 0 {
            return Ok(());
        }
        let Ok(document) = download.document() else { return Ok(()) };
        let step = (report.entries / self.samples as u64).max(1);
        let (mut number, mut chosen) = (0, Vec::new());
        let _ = document.for_each(|entry| {
            if number % step == 0 && chosen.len() < self.samples {
                chosen.push(entry.clone());
            }
            number += 1;
        });
        for entry in chosen {
            self.compare(uri, &entry).await?;
        }
        Ok(())
    }

    async fn compare(&mut self, list: &Uri, entry: &Entry) -> anyhow::Result<()> {
        let speaker = Origin::parse(list.as_str()).ok();
        match self.documents.get(&entry.loc, speaker.as_ref()).await {
            Ok(resource) => {
                let mut answer = http_answer(&resource, None);
                let algorithms = algorithms(&entry.metadata.hash);
                answer.digests = digests(resource.read_coded(), &algorithms)?;
                if answer.content_encoding.is_some() {
                    answer.decoded = digests(resource.read()?, &algorithms)?;
                }
                self.check_links_of(&entry.loc, &resource).await;
                let mut findings = answer.check(&entry.metadata, entry.position, None);
                if self.is_newer(list, &resource) {
                    findings.iter_mut().for_each(|finding| finding.severity = Severity::Info);
                }
                let loc = entry.loc.clone();
                self.comparisons.push(ComparedResource { list: list.clone(), loc, findings });
            }
            Err(error) => {
                let (found, expected) = (error.to_string(), "a resource that can be fetched");
                let finding = Finding::new("RL-8", Severity::Warning, entry.position, found, expected);
                let (list, loc) = (list.clone(), entry.loc.clone());
                self.comparisons.push(ComparedResource { list, loc, findings: vec![finding] });
            }
        }
        Ok(())
    }

    /// Returns `true` if the server states that a resource changed after its list was made, so that the list cannot
    /// have the change.
    fn is_newer(&self, list: &Uri, resource: &Download) -> bool {
        let at = self.headers.get(list).and_then(|header| header.metadata.as_ref()?.at);
        let said = resource.headers.get("last-modified").and_then(|value| value.to_str().ok());
        let modified = said.and_then(|said| jiff::fmt::rfc2822::parse(said).ok());
        at.zip(modified).is_some_and(|(at, modified)| modified.timestamp().as_second() > at.instant().0)
    }

    /// Keeps the findings of the samples, unless a Change List explains them.
    pub(super) fn judge_samples(&mut self) {
        for ComparedResource { list, loc, findings } in std::mem::take(&mut self.comparisons) {
            if self.set.iter().any(|(_, report)| report.has_change_of(&loc)) {
                continue;
            }
            findings.into_iter().for_each(|finding| self.judgement.add(list.as_str(), finding));
        }
    }

    /// Asks each channel of a Capability List for the links of its topic (CN-4).
    pub(super) async fn check_channels(
        &mut self,
        uri: &Uri,
        report: &Report,
        download: &Download,
    ) -> anyhow::Result<()> {
        let capability = report.header.as_ref().and_then(|header| header.capability());
        if self.most == 1 || capability != Some(&Capability::CapabilityList) {
            return Ok(());
        }
        let mut channels = Vec::new();
        download.document()?.for_each(|entry| {
            if entry.metadata.capability.as_ref().is_some_and(is_channel)
                && entry.loc.as_str().starts_with("http")
            {
                channels.push(entry.clone());
            }
        })?;
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
