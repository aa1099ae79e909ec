//! Checks over HTTP: one document, or with `--follow` everything that can be reached from a URL. Parts of the walk are
//! in its submodules: discovery, resources and channels, and the answers of servers.

mod answers;
mod discovery;
mod observed;
mod resources;
mod target;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
};

use anyhow::Context;
use instep_destination::{
    Error,
    documents::{DocumentCache, DocumentError, Documents, Download, Fetched},
};
use instep_net::Origin;
use resourcesync::{
    Algorithm, Capability, Document, Finding, Form, Header, Position, ReadOptions, Relation, Severity, Uri,
    validate::{DocumentSet, Report, ValidateOptions, Validator, check_closed, check_up_target},
};

use self::{
    answers::{begins_as_zip, body, http_answer, is_damage},
    observed::{ComparedResource, LinkingPage},
    target::{WalkTarget, targets},
};
use super::{
    judgement::Judgement,
    packages::{ExpectedPackage, digests, judge_package},
};
use crate::{exit::Exit, ui::format::counted};

/// A walk over the documents of a Source, with the findings so far. Each document is checked once, one after the other.
pub(super) struct SourceWalk {
    documents: Documents,
    options: ValidateOptions,
    spool: PathBuf,
    /// The most documents and packages to check; 1 without `--follow`.
    most: usize,
    /// `true` with `--follow`.
    follows: bool,
    /// The number of resources of each list that are fetched and compared.
    samples: usize,
    /// The documents that an earlier run fetched; `None` without `--resume`.
    cache: Option<DocumentCache>,
    judgement: Judgement,
    set: DocumentSet,
    headers: BTreeMap<Uri, Header>,
    /// Pages and resources that link to a Capability List, judged at the end.
    pages: Vec<LinkingPage>,
    /// Resources that were compared with their entries, judged at the end.
    comparisons: Vec<ComparedResource>,
}

impl SourceWalk {
    pub(super) fn new(documents: Documents, options: ValidateOptions, spool: &Path) -> Self {
        Self {
            documents,
            judgement: Judgement::new(options.strict),
            options,
            spool: spool.to_owned(),
            most: 1,
            follows: false,
            samples: 0,
            cache: None,
            set: DocumentSet::new(),
            headers: BTreeMap::new(),
            pages: Vec::new(),
            comparisons: Vec::new(),
        }
    }

    pub(super) fn following(self, most: usize, samples: usize, cache: Option<DocumentCache>) -> Self {
        Self { most: most.max(1), follows: true, samples, cache, ..self }
    }

    /// Checks the document at a URL, and with `--follow` all linked ones: up to the Source Description, then down.
    ///
    /// Errors: nothing is found at the URL, or a fetched document cannot be read from the spool. With `--follow` a link
    /// that leads to nothing is a finding.
    pub(super) async fn judge(mut self, url: &Uri) -> anyhow::Result<Judgement> {
        let follow = self.follows;
        let mut starts = VecDeque::from(if follow { self.top(url).await? } else { vec![url.clone()] });
        let (mut queue, mut last) = (VecDeque::<WalkTarget>::new(), VecDeque::<WalkTarget>::new());
        let mut seen = BTreeSet::new();
        let mut looked = 0;
        // The starts come last: only those are left that no link from the top leads to, and no document refers to them.
        while let Some(target) =
            queue.pop_front().or_else(|| last.pop_front()).or_else(|| starts.pop_front().map(WalkTarget::to))
        {
            if !seen.insert(target.uri.clone()) {
                continue;
            }
            if looked == self.most {
                let found = format!("more than {}", counted(self.most as u64, "document"));
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
            let targets = self.look(&target).await?;
            if follow {
                // Change Lists are read last, so that they have each change between a list and a dump that were read
                // before (CAP-9).
                let (of_changes, others): (Vec<_>, Vec<_>) =
                    targets.into_iter().partition(WalkTarget::is_change_list);
                queue.extend(others);
                last.extend(of_changes);
            }
        }
        if follow {
            self.check_description(url);
        }
        self.check_up_links();
        self.check_pages();
        self.judge_samples();
        self.judgement.add_set(&self.set);
        Ok(self.judgement)
    }

    /// Fetches the document at a URI, or takes it from those of an earlier run if it is unchanged. A closed document
    /// that has changed since then is reported (TIME-6). `speaker` is the origin of the document that named the URI.
    async fn get(&mut self, uri: &Uri, speaker: Option<&Origin>) -> Result<Download, DocumentError> {
        let Some(cache) = self.cache.clone() else { return self.documents.get(uri, speaker).await };
        let held = cache.find(uri, &self.documents);
        let validators = held.as_ref().map(|held| &held.validators);
        let failed = |source| DocumentError::Spool { uri: uri.as_str().to_owned(), source };
        match (self.documents.fetch(uri, speaker, validators).await?, held) {
            (Fetched::Unchanged, Some(held)) => Ok(held),
            (Fetched::Unchanged, None) => self.documents.get(uri, speaker).await,
            (Fetched::Arrived(fresh), held) => {
                cache.keep(uri, &fresh).map_err(failed)?;
                if let Some(before) = held.as_ref().and_then(|held| held.document().ok()) {
                    let of = |download: &Download| digests(download.read()?, &[Algorithm::Sha256]);
                    let unchanged = of(&fresh).ok() == held.as_ref().and_then(|held| of(held).ok());
                    if let Some(finding) = check_closed(&before.header, unchanged) {
                        self.judgement.add(uri.as_str(), finding);
                    }
                }
                Ok(*fresh)
            }
        }
    }

    /// Checks one document or package. Returns the documents that it leads to.
    async fn look(&mut self, target: &WalkTarget) -> anyhow::Result<Vec<WalkTarget>> {
        let speaker = target.from.as_ref().and_then(|(parent, _)| Origin::parse(parent.as_str()).ok());
        let download = match self.get(&target.uri, speaker.as_ref()).await {
            Ok(download) => download,
            Err(error) if !self.follows => return Err(Error::from(error).into()),
            Err(error) => {
                self.judge_dead_end(target, &error);
                return Ok(Vec::new());
            }
        };
        let is_page = download.media_type().is_some_and(|of| of == "text/html");
        if is_page && !self.follows {
            let what = format!("{} is a web page; --follow walks the Source that it leads to", target.uri);
            return Err(anyhow::Error::new(Exit::Unreachable).context(what));
        }
        if target.is_package() || begins_as_zip(&download)? {
            self.look_at_package(target, &download).await?;
            return Ok(Vec::new());
        }
        let report = self.report(target, &download)?;
        self.judgement.add_report(target.uri.as_str(), &report);
        self.check_channels(&target.uri, &report, &download).await?;
        if let Some(header) = &report.header {
            self.headers.insert(target.uri.clone(), header.clone());
        }
        self.sample(&target.uri, &report, &download).await?;
        let targets = targets(&target.uri, &report);
        self.set.insert(target.uri.clone(), report);
        Ok(targets)
    }

    /// Reports a link that leads to nothing, in the document that has it: upwards (NAV-1), downwards (NAV-3), or to an
    /// archive, which readers need for former states only (ARC-4). A start of the walk is reported in itself.
    fn judge_dead_end(&mut self, target: &WalkTarget, error: &DocumentError) {
        let nowhere = Position::default();
        let (document, rule, severity, position) = match (&target.from, &target.linked_from) {
            (Some((parent, child)), _) => (parent, "NAV-3", Severity::Error, child.position),
            (None, Some((linking, Relation::Archives))) => (linking, "ARC-4", Severity::Warning, nowhere),
            (None, Some((linking, _))) => (linking, "NAV-1", Severity::Error, nowhere),
            (None, None) => (&target.uri, "NAV-3", Severity::Error, nowhere),
        };
        let finding =
            Finding::new(rule, severity, position, error.to_string(), "a document that can be fetched");
        self.judgement.add(document.as_str(), finding);
    }

    fn report(&self, target: &WalkTarget, download: &Download) -> anyhow::Result<Report> {
        let mut options = self.options.clone();
        options.base = Some(download.uri.clone());
        options.below_index = target.parent.as_ref().is_some_and(|(form, _)| *form == Form::Index);
        options.expected = target.from.as_ref().and_then(|(_, child)| child.metadata.capability.clone());
        Validator::new(options)
            .document(body(download))
            .with_context(|| format!("Cannot read {}", target.uri))
    }

    /// Checks a package, or the file that a dump names as one.
    async fn look_at_package(&mut self, target: &WalkTarget, download: &Download) -> anyhow::Result<()> {
        let mut file = tempfile::tempfile_in(&self.spool)?;
        let fault = match std::io::copy(&mut body(download), &mut file) {
            Err(error) if is_damage(&error) => Some(error),
            copied => copied.map(|_| None)?,
        };
        let served = http_answer(download, Some(fault.is_none() && begins_as_zip(download)?));
        let claim = target.from.as_ref().map(|(parent, child)| ExpectedPackage {
            dump: parent.to_string(),
            capability: target.parent.as_ref().and_then(|(_, capability)| capability.clone()),
            child: child.clone(),
        });
        let copy = match &claim {
            Some(claim) => self.contents(claim).await,
            None => None,
        };
        let validator = Validator::new(self.options.clone());
        let name = target.uri.as_str();
        if let Some(error) = fault {
            let (found, expected) = (format!("a body that cannot be decoded: {error}"), "a package");
            let finding = Finding::new("ZIP-7", Severity::Error, Position::default(), found, expected);
            self.judgement.add(name, finding);
        }
        let manifest =
            judge_package(name, &file, &validator, claim.as_ref(), (served, copy), &mut self.judgement)?;
        if let Some(manifest) = manifest {
            self.set.insert(target.uri.clone(), manifest);
        }
        Ok(())
    }

    /// Returns the copy of a package's manifest that the `contents` link of its entry leads to; `None` if there is no such
    /// link, or none of a copy that can be fetched and read, which is reported in the dump (RD-9, CD-11).
    async fn contents(&mut self, claim: &ExpectedPackage) -> Option<Document> {
        let contents = claim.child.contents.as_ref()?;
        let speaker = Origin::parse(&claim.dump).ok();
        let copy = match self.get(contents, speaker.as_ref()).await {
            Ok(copy) => Document::read(body(&copy), ReadOptions::for_base(copy.uri.clone()))
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        copy.map_err(|fault| {
            let rule = if claim.capability == Some(Capability::ChangeDump) { "CD-11" } else { "RD-9" };
            let (found, expected) =
                (format!("contents leads to {contents}: {fault}"), "the manifest of the package");
            let finding = Finding::new(rule, Severity::Error, claim.child.position, found, expected);
            self.judgement.add(&claim.dump, finding);
        })
        .ok()
    }

    /// Checks the targets of `up` links, as far as the walk has fetched them (NAV-1, NAV-2).
    fn check_up_links(&mut self) {
        for (uri, header) in &self.headers {
            let target = header.up().and_then(|up| self.headers.get(up));
            if let Some(finding) = target.and_then(|target| check_up_target(header, target)) {
                self.judgement.add(uri.as_str(), finding);
            }
        }
    }
}
