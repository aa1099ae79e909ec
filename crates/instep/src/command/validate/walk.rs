//! A Source over HTTP: one document, or everything that can be reached from it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io::{Seek, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::Context;
use instep_destination::{
    Error,
    documents::{Documents, Download},
    http::Origin,
};
use resourcesync::{
    Capability, Document, Entry, Finding, Form, Header, Position, ReadOptions, Severity, Uri,
    discovery::{from_robots, robots, well_known},
    package::{Package, PackageLimits},
    validate::{
        Child, DocumentSet, HttpFacts, Report, ValidateOptions, Validator, check_contents, check_discovered,
        check_http, check_up_target,
    },
};

use super::{files::is_zip, judgement::Judgement};

/// Looks at documents one after the other, each once.
pub(super) struct Walk {
    documents: Documents,
    options: ValidateOptions,
    spool: PathBuf,
    /// Documents and packages to look at; 1 without `--follow`.
    most: usize,
    samples: usize,
    judgement: Judgement,
    set: DocumentSet,
    headers: BTreeMap<Uri, Header>,
}

/// Something to look at, and who led to it.
struct Lead {
    uri: Uri,
    from: Option<(Uri, Child)>,
    /// What the document that led here is.
    parent: Option<(Form, Option<Capability>)>,
}

impl Walk {
    pub(super) fn new(documents: Documents, options: ValidateOptions, spool: &Path) -> Self {
        Self {
            documents,
            options,
            spool: spool.to_owned(),
            most: 1,
            samples: 0,
            judgement: Judgement::default(),
            set: DocumentSet::new(),
            headers: BTreeMap::new(),
        }
    }

    pub(super) fn following(self, most: usize, samples: usize) -> Self {
        Self { most: most.max(1), samples, ..self }
    }

    /// Judges what lies at a URL, and with `--follow` what it leads to: up to the Source Description, then down.
    pub(super) async fn judge(mut self, url: &Uri) -> anyhow::Result<Judgement> {
        let follow = self.most > 1;
        let start = if follow { self.top(url).await? } else { vec![url.clone()] };
        let mut queue: VecDeque<Lead> =
            start.into_iter().map(|uri| Lead { uri, from: None, parent: None }).collect();
        let mut seen = BTreeSet::new();
        let mut looked = 0;
        while let Some(lead) = queue.pop_front() {
            if !seen.insert(lead.uri.clone()) {
                continue;
            }
            if looked == self.most {
                let found = format!("more than {} documents", self.most);
                let limit = Finding::new(
                    "GEN-26",
                    Severity::Info,
                    Position::default(),
                    found,
                    "a further run with --max-documents",
                );
                self.judgement.add(url.as_str(), limit);
                break;
            }
            looked += 1;
            let leads = self.look(&lead).await?;
            if follow {
                queue.extend(leads);
            }
        }
        self.check_up_links();
        self.judgement.add_set(&self.set);
        Ok(self.judgement)
    }

    /// Where the walk begins: the Source Description, where discovery finds one, and what the operator named.
    async fn top(&mut self, url: &Uri) -> anyhow::Result<Vec<Uri>> {
        let found =
            instep_destination::discover::discover(url, &[], &self.documents).await.map_err(Error::from)?;
        self.check_discovery(url).await;
        let lists = found.sets.iter().filter_map(|set| set.capability_list.clone());
        let offers =
            found.sets.iter().flat_map(|set| set.capabilities.values().map(|offer| offer.uri.clone()));
        Ok(found.source_description.clone().into_iter().chain(lists).chain(offers).collect())
    }

    /// The three ways of discovery, each as far as the host offers it (DISC-1, DISC-5).
    async fn check_discovery(&mut self, url: &Uri) {
        if let Ok(uri) = well_known(url) {
            let header = self.header_at(&uri).await;
            if let Some(finding) = check_discovered(false, header.as_ref()) {
                self.judgement.add(uri.as_str(), finding);
            }
        }
        let Ok(uri) = robots(url) else { return };
        let Ok(download) = self.documents.get(&uri, None).await else { return };
        let text = String::from_utf8_lossy(&download.start(512 << 10).unwrap_or_default()).into_owned();
        for sitemap in from_robots(&text, &uri) {
            if self.header_at(&sitemap).await.is_none() {
                let found = format!("{sitemap}, which cannot be read");
                let finding = Finding::of("DISC-5", Position::default(), found, "a Resource List or Sitemap");
                self.judgement.add(uri.as_str(), finding);
            }
        }
    }

    async fn header_at(&self, uri: &Uri) -> Option<Header> {
        Some(self.documents.get(uri, None).await.ok()?.document().ok()?.header)
    }

    /// Looks at one document or package; gives what it leads to.
    async fn look(&mut self, lead: &Lead) -> anyhow::Result<Vec<Lead>> {
        let speaker = lead.from.as_ref().and_then(|(parent, _)| Origin::parse(parent.as_str()).ok());
        let download = match (self.documents.get(&lead.uri, speaker.as_ref()).await, &lead.from) {
            (Ok(download), _) => download,
            (Err(error), None) => return Err(Error::from(error).into()),
            (Err(error), Some((parent, child))) => {
                let found = format!("{}: {error}", lead.uri);
                let finding = Finding::new(
                    "NAV-3",
                    Severity::Error,
                    child.position,
                    found,
                    "a document that can be fetched",
                );
                self.judgement.add(parent.as_str(), finding);
                return Ok(Vec::new());
            }
        };
        if is_zip(&mut download.read()?)? {
            self.look_at_package(lead, &download).await?;
            return Ok(Vec::new());
        }
        let report = self.report(lead, &download)?;
        self.judgement.add_report(lead.uri.as_str(), &report);
        self.sample(&lead.uri, &report, &download).await?;
        let leads = leads(&lead.uri, &report);
        if let Some(header) = &report.header {
            self.headers.insert(lead.uri.clone(), header.clone());
        }
        self.set.insert(lead.uri.clone(), report);
        Ok(leads)
    }

    fn report(&self, lead: &Lead, download: &Download) -> anyhow::Result<Report> {
        let mut options = self.options.clone();
        options.base = Some(download.uri.clone());
        options.below_index = lead.parent.as_ref().is_some_and(|(form, _)| *form == Form::Index);
        options.expected = lead.from.as_ref().and_then(|(_, child)| child.metadata.capability.clone());
        Validator::new(options)
            .document(download.read()?)
            .with_context(|| format!("Cannot read {}", lead.uri))
    }

    async fn look_at_package(&mut self, lead: &Lead, download: &Download) -> anyhow::Result<()> {
        let dump = lead.parent.as_ref().and_then(|(_, capability)| capability.clone());
        let mut file = tempfile::tempfile_in(&self.spool)?;
        std::io::copy(&mut download.read()?, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let validator = Validator::new(self.options.clone());
        let report = validator.package(&file, PackageLimits::new(), dump.as_ref())?;
        self.judgement.add_package(lead.uri.as_str(), &report);
        let Some((parent, child)) = &lead.from else { return Ok(()) };
        let rule = if dump == Some(Capability::ChangeDump) { "CD-7" } else { "RD-6" };
        let facts = facts(download, Some(true));
        for finding in check_http(&child.metadata, child.position, &facts, Some(rule)) {
            self.judgement.add(parent.as_str(), finding);
        }
        let Some(contents) = &child.contents else { return Ok(()) };
        file.seek(SeekFrom::Start(0))?;
        let package = Package::open(file, PackageLimits::new());
        let inside = package
            .and_then(|mut package| package.read_manifest(ReadOptions::for_base(lead.uri.clone())))
            .ok();
        let copy = match self.documents.get(contents, Origin::parse(parent.as_str()).ok().as_ref()).await {
            Ok(copy) => Document::read(copy.read()?, ReadOptions::for_base(copy.uri.clone())).ok(),
            Err(_) => None,
        };
        for finding in inside.iter().flat_map(|inside| check_contents(child, inside, copy.as_ref())) {
            self.judgement.add(parent.as_str(), finding);
        }
        Ok(())
    }

    /// Fetches a few resources of a list, and compares the answers with the entries.
    async fn sample(&mut self, uri: &Uri, report: &Report, download: &Download) -> anyhow::Result<()> {
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
                let mut facts = facts(&resource, None);
                let mut hasher =
                    resourcesync::Hasher::new(entry.metadata.hash.iter().map(|digest| &digest.algorithm));
                let mut reader = resource.read()?;
                loop {
                    let bytes = std::io::BufRead::fill_buf(&mut reader)?;
                    if bytes.is_empty() {
                        break;
                    }
                    hasher.update(bytes);
                    let taken = bytes.len();
                    std::io::BufRead::consume(&mut reader, taken);
                }
                facts.digests = hasher.finish();
                for finding in check_http(&entry.metadata, entry.position, &facts, None) {
                    self.judgement.add(list.as_str(), finding);
                }
            }
            Err(error) => {
                let found = format!("{}: {error}", entry.loc);
                let finding = Finding::new(
                    "RL-8",
                    Severity::Warning,
                    entry.position,
                    found,
                    "a resource that can be fetched",
                );
                self.judgement.add(list.as_str(), finding);
            }
        }
        Ok(())
    }

    /// Where `up` leads, as far as the walk came by (NAV-1, NAV-2).
    fn check_up_links(&mut self) {
        for (uri, header) in &self.headers {
            let target = header.up().and_then(|up| self.headers.get(up));
            if let Some(finding) = target.and_then(|target| check_up_target(header, target)) {
                self.judgement.add(uri.as_str(), finding);
            }
        }
    }
}

/// What a document leads to, with what it says about it.
fn leads(uri: &Uri, report: &Report) -> Vec<Lead> {
    let Some(header) = &report.header else { return Vec::new() };
    let parent = Some((header.form, header.capability().cloned()));
    let http = |child: &&Child| child.loc.as_str().starts_with("http");
    let down = report.children.iter().filter(http).map(|child| Lead {
        uri: child.loc.clone(),
        from: Some((uri.clone(), child.clone())),
        parent: parent.clone(),
    });
    let up = header.up().map(|up| Lead { uri: up.clone(), from: None, parent: None });
    down.chain(up).collect()
}

fn facts(download: &Download, is_zip: Option<bool>) -> HttpFacts {
    let text =
        |name: &str| download.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut facts = HttpFacts::new(200);
    facts.content_length = text("content-length").and_then(|length| length.parse().ok());
    facts.content_encoding = text("content-encoding");
    facts.content_type = text("content-type");
    facts.is_zip = is_zip;
    facts
}
