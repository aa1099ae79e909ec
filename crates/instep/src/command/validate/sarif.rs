//! `validate --sarif`: findings as SARIF 2.1.0, a format that CI systems show next to the lines of a document.

use std::collections::BTreeSet;

use resourcesync::{Severity, validate::Rule};
use serde_json::{Value, json};

use super::judgement::Judgement;
use crate::ui::format::json_text;

/// Returns the SARIF log of a run.
pub(super) fn log(judgement: &Judgement) -> String {
    let used: BTreeSet<_> = judgement.findings.iter().map(|(_, finding)| finding.rule).collect();
    let rules: Vec<Value> = used
        .iter()
        .filter_map(|id| Rule::find(id))
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.requirement },
                "help": { "text": rule.check },
                "properties": { "clause": rule.clause },
            })
        })
        .collect();
    let results: Vec<Value> = judgement
        .findings
        .iter()
        .map(|(document, finding)| {
            let level = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "note",
            };
            let mut location = json!({ "artifactLocation": { "uri": document } });
            if finding.position.line > 0 {
                location["region"] =
                    json!({ "startLine": finding.position.line, "startColumn": finding.position.column });
            }
            json!({
                "ruleId": finding.rule,
                "level": level,
                "message": { "text": format!("Found {}; expected {}", finding.found, finding.expected) },
                "locations": [{ "physicalLocation": location }],
            })
        })
        .collect();
    let driver = json!({ "name": "instep", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": results }],
    });
    json_text(&format!("{log:#}"))
}
