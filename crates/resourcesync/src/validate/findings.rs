use std::collections::BTreeMap;

use super::{ChangeRecord, digest_of, rule};
use crate::{
    document::{Header, Metadata},
    finding::{Finding, Position, Severity},
    value::Uri,
};

/// What was found in one document or package.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The findings in the order of the document; as many as were to be kept.
    pub findings: Vec<Finding>,
    /// All findings, counted.
    pub summary: Summary,
    /// The document's header; none where it could not be read.
    pub header: Option<Header>,
    /// Entries read.
    pub entries: u64,
    /// Bytes read, decoded.
    pub bytes: u64,
    /// What a Source Description, Capability List, index, dump or archive leads to, in order.
    pub children: Vec<Child>,
    /// A digest of the `loc` of each entry, sorted, of lists whose coverage can be compared (CAP-9, RLI-7).
    pub(super) locs: Vec<u64>,
    /// The changes of a Change List, as far as coverage needs them (CAP-9).
    pub(super) changes: Vec<ChangeRecord>,
}

impl Report {
    /// Whether a resource is in this list; false where coverage is not kept.
    pub fn lists(&self, uri: &Uri) -> bool {
        self.locs.binary_search(&digest_of(uri)).is_ok()
    }

    /// Whether this Change List has a change of a resource.
    pub fn tells_of(&self, uri: &Uri) -> bool {
        let digest = digest_of(uri);
        self.changes.iter().any(|change| change.loc == digest)
    }
}

/// A document or package that another one lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Child {
    /// Where it is.
    pub loc: Uri,
    /// What is said about it.
    pub metadata: Metadata,
    /// Where a copy of a package's manifest is (RD-9).
    pub contents: Option<Uri>,
    /// Where that is said.
    pub position: Position,
}

/// Findings, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Findings of weight error.
    pub errors: u64,
    /// Findings of weight warning.
    pub warnings: u64,
    /// Findings of weight info.
    pub infos: u64,
    /// Findings of each rule.
    pub rules: BTreeMap<&'static str, u64>,
}

impl Summary {
    /// Counts one more.
    pub fn add(&mut self, finding: &Finding) {
        match finding.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Info => self.infos += 1,
        }
        *self.rules.entry(finding.rule).or_default() += 1;
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.infos += other.infos;
        for (rule, count) in &other.rules {
            *self.rules.entry(rule).or_default() += count;
        }
    }
}

impl Finding {
    /// A finding with the weight that its rule has.
    pub fn of(
        rule_id: &'static str,
        position: Position,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let severity = rule(rule_id).map_or(Severity::Warning, super::Rule::severity);
        Self::new(rule_id, severity, position, found, expected)
    }

    /// Where the rule stands: `§10.1`; empty where no clause says it.
    pub fn clause(&self) -> &'static str {
        rule(self.rule).map_or("", |rule| rule.clause)
    }
}

/// Takes findings, keeps the first of them, counts all.
#[derive(Debug)]
pub(super) struct Findings {
    kept: Vec<Finding>,
    summary: Summary,
    most: usize,
    strict: bool,
}

impl Findings {
    pub(super) fn new(most: usize, strict: bool) -> Self {
        Self { kept: Vec::new(), summary: Summary::default(), most, strict }
    }

    pub(super) fn push(&mut self, mut finding: Finding) {
        if self.strict && finding.severity == Severity::Warning {
            finding.severity = Severity::Error;
        }
        self.summary.add(&finding);
        if self.kept.len() < self.most {
            self.kept.push(finding);
        }
    }

    /// A finding with the weight of its rule.
    pub(super) fn add(&mut self, rule: &'static str, at: Position, found: impl Into<String>, expected: &str) {
        if !rule.is_empty() {
            self.push(Finding::of(rule, at, found, expected));
        }
    }

    /// A finding with a weight of its own.
    pub(super) fn weigh(
        &mut self,
        rule: &'static str,
        severity: Severity,
        at: Position,
        found: impl Into<String>,
        expected: &str,
    ) {
        self.push(Finding::new(rule, severity, at, found, expected));
    }

    /// A finding about a defect that another rule has weighed already: it is named here too, but counts only once.
    pub(super) fn also(
        &mut self,
        rule: &'static str,
        at: Position,
        found: impl Into<String>,
        expected: &str,
    ) {
        if !rule.is_empty() {
            self.weigh(rule, Severity::Info, at, found, expected);
        }
    }

    pub(super) fn finish(mut self) -> (Vec<Finding>, Summary) {
        self.kept.sort_by_key(|finding| finding.position);
        (self.kept, self.summary)
    }
}
