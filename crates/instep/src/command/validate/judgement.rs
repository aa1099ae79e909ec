//! The findings of a run of `validate`: collected, sorted and printed as text or JSON lines.

use resourcesync::{
    Finding, Severity,
    validate::{DocumentSet, PackageReport, Report, Summary},
};
use serde_json::json;

use crate::ui::{
    Output,
    format::{counted, name},
};

/// The findings of a run, and their counts.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// Each finding with its document.
    pub(super) findings: Vec<(String, Finding)>,
    /// Counts of all findings, including those that were not stored.
    pub(super) summary: Summary,
    /// Documents and packages that were checked.
    pub(super) documents: u64,
    /// `true` if warnings count as errors.
    strict: bool,
}

impl Judgement {
    pub(super) fn new(strict: bool) -> Self {
        Self { strict, ..Self::default() }
    }

    /// Adds one finding.
    pub(super) fn add(&mut self, document: &str, mut finding: Finding) {
        if self.strict && finding.severity == Severity::Warning {
            finding.severity = Severity::Error;
        }
        self.summary.add(&finding);
        self.findings.push((document.to_owned(), finding));
    }

    /// Adds the findings of one document.
    pub(super) fn add_report(&mut self, document: &str, report: &Report) {
        self.documents += 1;
        self.summary.merge(&report.summary);
        self.findings.extend(report.findings.iter().map(|finding| (document.to_owned(), finding.clone())));
    }

    /// Adds the findings of a package and its manifest.
    pub(super) fn add_package(&mut self, package: &str, report: &PackageReport) {
        self.add_report(package, &report.package);
        if let Some(manifest) = &report.manifest {
            self.add_report(&format!("{package}!/manifest.xml"), manifest);
        }
    }

    /// Adds the findings of checks across documents.
    pub(super) fn add_set(&mut self, set: &DocumentSet) {
        for (document, finding) in set.check() {
            self.add(document.as_str(), finding);
        }
    }

    /// Prints each finding as `file:line:column: severity rule: ...`, a form that editors and CI systems know, then the
    /// summary.
    pub(super) fn show(&self, output: &Output) {
        let mut findings: Vec<_> = self.findings.iter().collect();
        findings.sort_by(|a, b| (&a.0, a.1.position, a.1.rule).cmp(&(&b.0, b.1.position, b.1.rule)));
        for (document, finding) in findings {
            show_one(output, document, finding);
        }
        self.show_summary(output);
    }

    fn show_summary(&self, output: &Output) {
        let Summary { errors, warnings, infos, rules, .. } = &self.summary;
        let shown = self.findings.len() as u64;
        if shown < errors + warnings + infos {
            output.note(format!(
                "{} more, which are only counted",
                counted(errors + warnings + infos - shown, "finding")
            ));
        }
        let verdict =
            if *errors == 0 { output.paint(32, "Conforms") } else { output.paint(31, "Does not conform") };
        let by_rule: Vec<_> = rules.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
        let by_rule = if by_rule.is_empty() { String::new() } else { format!(" ({})", by_rule.join(", ")) };
        output.line(format!(
            "{verdict}: {}, {}, {}, {}{by_rule}",
            counted(self.documents, "document"),
            counted(*errors, "error"),
            counted(*warnings, "warning"),
            counted(*infos, "info")
        ));
        output.object(
            "summary",
            json!({
                "command": "validate",
                "documents": self.documents,
                "errors": errors,
                "warnings": warnings,
                "infos": infos,
                "rules": rules,
            }),
        );
    }
}

fn show_one(output: &Output, document: &str, finding: &Finding) {
    let color = match finding.severity {
        Severity::Error => 31,
        Severity::Warning => 33,
        Severity::Info => 36,
    };
    let severity = output.paint(color, finding.severity.as_str());
    let place = match finding.position.line {
        0 => String::new(),
        line => format!(":{line}:{}", finding.position.column),
    };
    let clause =
        if finding.clause().is_empty() { String::new() } else { format!("  [{}]", finding.clause()) };
    let (found, expected) = (name(&finding.found), name(&finding.expected));
    let shown = output.paint(1, &name(document));
    let rule = finding.rule;
    output.line(format!("{shown}{place}: {severity} {rule}: found {found}; expected {expected}{clause}"));
    output.object(
        "finding",
        json!({
            "rule": finding.rule,
            "severity": finding.severity.as_str(),
            "document": document,
            "line": finding.position.line,
            "column": finding.position.column,
            "found": finding.found,
            "expected": finding.expected,
            "clause": finding.clause(),
        }),
    );
}
