//! Findings, collected and counted.

use std::collections::BTreeMap;

use super::{Rule, digest_of, options::ValidateOptions};
use crate::{
    document::{Header, Metadata},
    finding::{Finding, Position, Severity},
    value::{Change, DateTime, Uri},
};

/// The findings about one document or package.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The findings in document order, as many as the options keep.
    pub findings: Vec<Finding>,
    /// The number of all findings.
    pub summary: Summary,
    /// The document's header; `None` if it could not be read.
    pub header: Option<Header>,
    /// The number of entries read.
    pub entries: u64,
    /// The number of bytes read, decoded.
    pub bytes: u64,
    /// The documents and packages that a Source Description, Capability List, index, dump or archive leads to, in
    /// order.
    pub children: Vec<Child>,
    /// A digest of the `loc` of each entry, sorted, to compare coverage (CAP-9, RLI-7).
    pub(super) locs: Vec<u64>,
    /// The changes of a Change List, to compare coverage (CAP-9).
    pub(super) changes: Vec<ListedChange>,
}

impl Report {
    /// Returns `true` if a resource is in this list; `false` also if its entries were not kept.
    pub fn lists(&self, uri: &Uri) -> bool {
        self.locs.binary_search(&digest_of(uri)).is_ok()
    }

    /// Yields the time of each change that this Change List or manifest has of a resource; `None` if a change states no
    /// time.
    pub fn changes_of(&self, uri: &Uri) -> impl Iterator<Item = Option<DateTime>> {
        let digest = digest_of(uri);
        self.changes.iter().filter(move |change| change.loc == digest).map(|change| change.datetime)
    }
}

/// A document or package that another one lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Child {
    /// The URI of the document or package.
    pub loc: Uri,
    /// The metadata that the list has about it.
    pub metadata: Metadata,
    /// The URI of a copy of a package's manifest (RD-9).
    pub contents: Option<Uri>,
    /// The place of the entry.
    pub position: Position,
}

/// A change, reduced to the values that coverage depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedChange {
    /// A digest of the URI, as in `Report::locs`.
    pub(super) loc: u64,
    /// The time, if it is known.
    pub(super) datetime: Option<DateTime>,
    /// The type of change.
    pub(super) change: Change,
}

/// The number of findings by weight and by rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Infos.
    pub infos: u64,
    /// The number of findings of each rule.
    pub rules: BTreeMap<&'static str, u64>,
}

impl Summary {
    /// Counts a finding.
    pub fn add(&mut self, finding: &Finding) {
        match finding.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Info => self.infos += 1,
        }
        *self.rules.entry(finding.rule).or_default() += 1;
    }

    /// Adds the numbers of another summary.
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
    /// Creates a finding with the weight of its rule.
    pub fn of(
        rule_id: &'static str,
        position: Position,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let severity = Rule::find(rule_id).map_or(Severity::Warning, Rule::severity);
        Self::new(rule_id, severity, position, found, expected)
    }

    /// Returns the clause of the rule: `§10.1`; empty if no clause states it.
    pub fn clause(&self) -> &'static str {
        Rule::find(self.rule).map_or("", |rule| rule.clause)
    }
}

/// Collects findings: counts all, and keeps the first ones in all and of each rule.
#[derive(Debug)]
pub(super) struct Findings {
    kept: Vec<Finding>,
    summary: Summary,
    most: usize,
    most_of_a_rule: u64,
    strict: bool,
}

impl Findings {
    pub(super) fn new(options: &ValidateOptions) -> Self {
        let (most, most_of_a_rule) = (options.findings, options.findings_per_rule as u64);
        Self { kept: Vec::new(), summary: Summary::default(), most, most_of_a_rule, strict: options.strict }
    }

    pub(super) fn push(&mut self, mut finding: Finding) {
        if self.strict && finding.severity == Severity::Warning {
            finding.severity = Severity::Error;
        }
        self.summary.add(&finding);
        let of_rule = self.summary.rules.get(finding.rule).copied().unwrap_or_default();
        if self.kept.len() < self.most && of_rule <= self.most_of_a_rule {
            self.kept.push(finding);
        }
    }

    /// Adds a finding with the weight of its rule; nothing if the rule is empty.
    pub(super) fn add(&mut self, rule: &'static str, at: Position, found: impl Into<String>, expected: &str) {
        if !rule.is_empty() {
            self.push(Finding::of(rule, at, found, expected));
        }
    }

    /// Adds a finding with another weight than that of its rule.
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

    /// Adds a finding about a fault that another rule has weighed already. It is an info, so that the fault weighs
    /// once.
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
