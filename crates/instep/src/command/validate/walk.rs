//! A Source over HTTP: one document, or everything that can be reached from it.

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
    Algorithm, Document, Finding, Form, Header, Position, ReadOptions, Severity, Uri,
    validate::{DocumentSet, Report, ValidateOptions, Validator, check_closed, check_up_target},
};

use self::{
    answers::http_answer,
    observed::{ComparedResource, LinkingPage},
    target::{WalkTarget, targets},
};
use super::{
    files::is_zip,
    judgement::Judgement,
    packages::{ExpectedPackage, digests, judge_package},
};
use crate::exit::Exit;

/// Checks documents one after the other, each once.
pub(super) struct SourceWalk {
    documents: Documents,
    options: ValidateOptions,
    spool: PathBuf,
    /// The most documents and packages to check; 1 without `--follow`.
    most: usize,
    samples: usize,
    /// Documents that an earlier run fetched.
    cache: Option<DocumentCache>,
    judgement: Judgement,
    set: DocumentSet,
    headers: BTreeMap<Uri, Header>,
    /// Pages and resources that link to a Capability List.
    pages: Vec<LinkingPage>,
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
            samples: 0,
            cache: None,
            set: DocumentSet::new(),
            headers: BTreeMap::new(),
            pages: Vec::new(),
            comparisons: Vec::new(),
        }
    }

    pub(super) fn following(self, most: usize, samples: usize, cache: Option<DocumentCache>) -> Self {
        Self { most: most.max(1), samples, cache, ..self }
    }

    /// Checks the document at a URL, and with `--follow` all linked ones: up to the Source Description, then down.
    pub(super) async fn judge(mut self, url: &Uri) -> anyhow::Result<Judgement> {
        let follow = self.most > 1;
        let mut starts = VecDeque::from(if follow { self.top(url).await? } else { vec![url.clone()] });
        let (mut queue, mut last) = (VecDeque::<WalkTarget>::new(), VecDeque::<WalkTarget>::new());
        let mut seen = BTreeSet::new();
        let mut looked = 0;
        // Documents that no walk from the top reaches are checked last, without their referring documents.
        while let Some(target) =
            queue.pop_front().or_else(|| last.pop_front()).or_else(|| starts.pop_front().map(WalkTarget::to))
        {
            if !seen.insert(target.uri.clone()) {
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
            let targets = self.look(&target).await?;
            if follow {
                // Change Lists last: read after a list and a dump, they have every change between the two (CAP-9).
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

    /// Fetches the document at a URI, or takes it from the stored ones if it is unchanged. A closed document that
    /// changed is reported (TIME-6).
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

    /// Checks one document or package; returns its targets.
    async fn look(&mut self, target: &WalkTarget) -> anyhow::Result<Vec<WalkTarget>> {
        let speaker = target.from.as_ref().and_then(|(parent, _)| Origin::parse(parent.as_str()).ok());
        let download = match self.get(&target.uri, speaker.as_ref()).await {
            Ok(download) => download,
            Err(error) if self.most == 1 => return Err(Error::from(error).into()),
            Err(error) => {
                self.judge_dead_end(target, &error);
                return Ok(Vec::new());
            }
        };
        let is_page = download.media_type().is_some_and(|of| of == "text/html");
        if is_page && self.most == 1 {
            let what = format!("{} is a web page; --follow walks the Source that it leads to", target.uri);
            return Err(anyhow::Error::new(Exit::Unreachable).context(what));
        }
        if target.is_package() || is_zip(&mut download.read()?)? {
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

    /// A link leads to nothing: upwards (NAV-1), downwards (NAV-3), or at the start of the walk.
    fn judge_dead_end(&mut self, target: &WalkTarget, error: &DocumentError) {
        let (document, rule, position) = match (&target.from, &target.up_of) {
            (Some((parent, child)), _) => (parent, "NAV-3", child.position),
            (None, Some(below)) => (below, "NAV-1", Position::default()),
            (None, None) => (&target.uri, "NAV-3", Position::default()),
        };
        let finding = Finding::new(
            rule,
            Severity::Error,
            position,
            error.to_string(),
            "a document that can be fetched",
        );
        self.judgement.add(document.as_str(), finding);
    }

    fn report(&self, target: &WalkTarget, download: &Download) -> anyhow::Result<Report> {
        let mut options = self.options.clone();
        options.base = Some(download.uri.clone());
        options.below_index = target.parent.as_ref().is_some_and(|(form, _)| *form == Form::Index);
        options.expected = target.from.as_ref().and_then(|(_, child)| child.metadata.capability.clone());
        Validator::new(options)
            .document(download.read()?)
            .with_context(|| format!("Cannot read {}", target.uri))
    }

    /// Checks a package, or the file that a dump names as one.
    async fn look_at_package(&mut self, target: &WalkTarget, download: &Download) -> anyhow::Result<()> {
        let mut file = tempfile::tempfile_in(&self.spool)?;
        std::io::copy(&mut download.read()?, &mut file)?;
        let served = http_answer(download, Some(is_zip(&mut download.read()?)?));
        let claim = target.from.as_ref().map(|(parent, child)| ExpectedPackage {
            dump: parent.to_string(),
            capability: target.parent.as_ref().and_then(|(_, capability)| capability.clone()),
            child: child.clone(),
        });
        let copy = match claim.as_ref().and_then(|claim| claim.child.contents.clone()) {
            Some(contents) => self.contents(&contents, target).await,
            None => None,
        };
        let validator = Validator::new(self.options.clone());
        let name = target.uri.as_str();
        let manifest =
            judge_package(name, &file, &validator, claim.as_ref(), (served, copy), &mut self.judgement)?;
        if let Some(manifest) = manifest {
            self.set.insert(target.uri.clone(), manifest);
        }
        Ok(())
    }

    /// The copy of a package's manifest that `contents` leads to.
    async fn contents(&mut self, contents: &Uri, target: &WalkTarget) -> Option<Document> {
        let speaker = target.from.as_ref().and_then(|(parent, _)| Origin::parse(parent.as_str()).ok());
        let copy = self.get(contents, speaker.as_ref()).await.ok()?;
        Document::read(copy.read().ok()?, ReadOptions::for_base(copy.uri.clone())).ok()
    }

    /// The target of `up`, if the walk has been there (NAV-1, NAV-2).
    fn check_up_links(&mut self) {
        for (uri, header) in &self.headers {
            let target = header.up().and_then(|up| self.headers.get(up));
            if let Some(finding) = target.and_then(|target| check_up_target(header, target)) {
                self.judgement.add(uri.as_str(), finding);
            }
        }
    }
}
