//! Surveys the documents of a look as they arrive.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read as _},
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use instep_destination::documents::{DocumentObserver, Download};
use resourcesync::{
    Capability, Form, Uri,
    validate::{Report, Rule, ValidateOptions, Validator},
};

use super::{BrokenRule, SourceSurvey, SurveyedDocument, SurveyedLink};

/// The largest document that is checked, decoded: as much as a full Resource List with two digests has. Checking costs as much
/// as reading, and a look is not to take twice as long because of it.
const MOST_BYTES: u64 = 16 << 20;
/// The bytes of all documents that are checked in one look.
const MOST_IN_ALL: u64 = 64 << 20;
/// Links that are kept of a document.
const MOST_LINKS: usize = 100;

/// Checks each document that a run fetches.
#[derive(Debug)]
pub(crate) struct Surveyor {
    now: i64,
    survey: Mutex<(SourceSurvey, u64)>,
}

impl Surveyor {
    /// Returns one for the Source with a URL.
    pub(crate) fn new(url: &str, now: i64) -> Self {
        let survey = SourceSurvey { url: url.to_owned(), ..SourceSurvey::default() };
        Self { now, survey: Mutex::new((survey, 0)) }
    }

    /// Returns the results for the documents; `None` if none arrived.
    pub(crate) fn finish(&self) -> Option<SourceSurvey> {
        let survey = mem::take(&mut self.survey().0);
        (!survey.documents.is_empty()).then_some(survey)
    }

    fn survey(&self) -> MutexGuard<'_, (SourceSurvey, u64)> {
        self.survey.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the capability that another document states for this one, and `true` if that is an index.
    fn expected(&self, uri: &Uri) -> (Option<Capability>, bool) {
        let guard = self.survey();
        let mut parents = guard.0.documents.values();
        let link = parents
            .find_map(|parent| Some((parent, parent.leads_to.iter().find(|link| link.uri == uri.as_str())?)));
        let Some((parent, link)) = link else { return (None, false) };
        (link.capability.as_deref().map(Capability::parse), parent.is_index)
    }

    /// Checks a document; one that is too large is described by its header only. `None` if it is not a document.
    fn check(&self, uri: &Uri, download: &Download) -> io::Result<Option<SurveyedDocument>> {
        let Ok(read) = download.document() else { return Ok(None) };
        let capability = read.header.capability();
        let mut document = SurveyedDocument {
            read: self.now,
            capability: capability.map(|capability| capability.as_str().to_owned()),
            is_index: read.header.form == Form::Index,
            ..SurveyedDocument::default()
        };
        let Some(report) = self.report(uri, download)? else { return Ok(Some(document)) };
        document.entries = Some(report.entries);
        document.broken = broken(&report);
        // The entries of a dump are packages, which hold resources.
        let is_dump = matches!(capability, Some(Capability::ResourceDump | Capability::ChangeDump));
        if document.is_index || !is_dump {
            document.links = report.children.len() as u64;
            document.leads_to = report.children.iter().take(MOST_LINKS).map(link).collect();
        }
        Ok(Some(document))
    }

    /// Returns the findings about a document; `None` if it is too large, or those before it were.
    fn report(&self, uri: &Uri, download: &Download) -> io::Result<Option<Report>> {
        let left = MOST_IN_ALL.saturating_sub(self.survey().1);
        let mut bytes = download.read()?.take(MOST_BYTES.min(left));
        let mut options = ValidateOptions::new();
        options.base = Some(download.uri.clone());
        (options.findings, options.findings_per_rule) = (Rule::all().len(), 1);
        (options.expected, options.below_index) = self.expected(uri);
        let report = Validator::new(options).document(&mut bytes)?;
        self.survey().1 += report.bytes;
        let is_whole = bytes.limit() > 0 || bytes.into_inner().fill_buf()?.is_empty();
        Ok(is_whole.then_some(report))
    }
}

impl DocumentObserver for Surveyor {
    fn arrived(&self, uri: &Uri, download: &Download) {
        // A first look reads documents twice: to size the copy, and to make it.
        if self.survey().0.documents.contains_key(uri.as_str()) {
            return;
        }
        // A page that discovery read, or a robots.txt, is not a document. A document that cannot be read is a problem
        // of the run.
        let Ok(Some(document)) = self.check(uri, download) else { return };
        let mut guard = self.survey();
        let survey = &mut guard.0;
        if survey.documents.len() >= SourceSurvey::MOST {
            survey.left_out += 1;
            return;
        }
        survey.documents.insert(uri.as_str().to_owned(), document);
    }
}

fn link(child: &resourcesync::validate::Child) -> SurveyedLink {
    let capability = child.metadata.capability.as_ref();
    let capability = capability.map(|capability| capability.as_str().to_owned());
    SurveyedLink { uri: child.loc.as_str().to_owned(), capability }
}

/// Returns the broken rules of a report, each with its first finding.
fn broken(report: &Report) -> Vec<BrokenRule> {
    let mut first = BTreeMap::new();
    for finding in &report.findings {
        first.entry(finding.rule).or_insert(finding);
    }
    let rule = |(rule, count): (&&'static str, &u64)| {
        let finding = first.get(rule)?;
        Some(BrokenRule {
            rule: (*rule).to_owned(),
            severity: finding.severity.as_str().to_owned(),
            count: *count,
            line: finding.position.line,
            found: finding.found.clone(),
            expected: finding.expected.clone(),
        })
    };
    report.summary.rules.iter().filter_map(rule).collect()
}
