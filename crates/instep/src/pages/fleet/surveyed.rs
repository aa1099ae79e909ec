//! The documents of a Source on its page: the graph of its Capability Lists, and how the documents agree with the
//! standard.

use std::collections::{BTreeMap, BTreeSet};

use instep_fleet::{BrokenRule, SourceSurvey, SurveyedDocument, SurveyedLink};
use maud::{Markup, html};
use resourcesync::{Capability, DateTime, validate::Rule};

use crate::{
    pages::design::{copyable, moment, outside_link, outside_link_as},
    ui::format::{capability_name, count, counted, entry_noun, name, shell_word},
};

/// The most documents below another one that are shown. Further ones are only counted.
const MOST_SHOWN: usize = 12;
/// The most levels from the Source Description down that are shown.
const MOST_LEVELS: usize = 8;

/// Draws the graph as lists within lists.
pub(super) fn graph(survey: &SourceSurvey) -> Markup {
    let mut drawn = GraphWalk { survey, seen: BTreeSet::new() };
    let roots: Vec<_> = survey.roots().collect();
    html! {
        section {
            h2 { "What it offers" }
            ul.tree { @for root in &roots { li { (drawn.branch(root, None, 0)) } } }
            @if survey.left_out > 0 { p.soft { (counted(survey.left_out, "further document")) ", not shown." } }
        }
    }
}

/// A walk over the documents of a survey. Each document is drawn with its links only once, so that links in circles
/// end.
struct GraphWalk<'a> {
    survey: &'a SourceSurvey,
    seen: BTreeSet<&'a str>,
}

impl<'a> GraphWalk<'a> {
    /// Draws a document with the documents it leads to. `stated` is the capability that leads to it.
    fn branch(&mut self, uri: &'a str, stated: Option<&str>, level: usize) -> Markup {
        let document = self.survey.documents.get(uri);
        let label = label(document, stated);
        let node = html! {
            div.node { (outside_link_as(uri, &label)) small { (document.map_or_else(String::new, size)) } @if let Some(document) = document { (verdict(document)) } }
        };
        let Some(document) = document.filter(|_| self.seen.insert(uri) && level < MOST_LEVELS) else {
            return node;
        };
        let shown: Vec<&SurveyedLink> = document.leads_to.iter().take(MOST_SHOWN).collect();
        let more = document.links.saturating_sub(shown.len() as u64);
        let below: Vec<_> = shown
            .into_iter()
            .map(|link| self.branch(&link.uri, link.capability.as_deref(), level + 1))
            .collect();
        html! {
            (node)
            @if !below.is_empty() {
                ul {
                    @for branch in &below { li { (branch) } }
                    @if more > 0 { li { div.node { small { (counted(more, "more document")) } } } }
                }
            }
        }
    }
}

fn label(document: Option<&SurveyedDocument>, stated: Option<&str>) -> String {
    let capability = document.and_then(|document| document.capability.as_deref()).or(stated);
    let label = capability.map_or_else(
        || if document.is_some() { "Sitemap".to_owned() } else { "Document".to_owned() },
        |capability| capability_name(&Capability::parse(capability)),
    );
    if document.is_some_and(|document| document.is_index) { format!("{label} Index") } else { label }
}

fn size(document: &SurveyedDocument) -> String {
    let Some(entries) = document.entries else { return "too large to be checked here".to_owned() };
    let noun = match document.capability.as_deref() {
        _ if document.is_index => "document",
        Some(capability) => entry_noun(&Capability::parse(capability)),
        None => "resource",
    };
    counted(entries, noun)
}

fn verdict(document: &SurveyedDocument) -> Markup {
    let errors: u64 = of_weight(&document.broken, "error");
    html! { @if errors > 0 { span.kind.deleted { (counted(errors, "error")) } } }
}

fn of_weight(broken: &[BrokenRule], severity: &str) -> u64 {
    broken.iter().filter(|rule| rule.severity == severity).map(|rule| rule.count).sum()
}

/// The findings of one rule in all documents.
#[derive(Default)]
struct RuleFindings<'a> {
    count: u64,
    documents: u64,
    /// The first one, with its document.
    first: Option<(&'a str, &'a BrokenRule)>,
}

/// Shows the findings about the documents, by rule.
pub(super) fn report(survey: &SourceSurvey) -> Markup {
    let checked = survey.documents.values().filter(|document| document.entries.is_some()).count() as u64;
    let newest = survey.documents.values().map(|document| document.read).max().unwrap_or(0);
    let mut rules: BTreeMap<(u8, &str), RuleFindings<'_>> = BTreeMap::new();
    for (uri, document) in &survey.documents {
        for broken in &document.broken {
            let weight = match broken.severity.as_str() {
                "error" => 0,
                "warning" => 1,
                _ => 2,
            };
            let of_rule = rules.entry((weight, &broken.rule)).or_default();
            of_rule.count += broken.count;
            of_rule.documents += 1;
            of_rule.first.get_or_insert((uri, broken));
        }
    }
    let sum = |severity| {
        survey.documents.values().map(|document| of_weight(&document.broken, severity)).sum::<u64>()
    };
    html! {
        section {
            h2 { "Its documents and the standard" }
            p {
                (counted(checked, "document")) " checked as the runs read them, the last one " (moment(DateTime::from_unix_seconds(newest))) ": "
                span data-figure="errors" { (counted(sum("error"), "error")) } ", "
                (counted(sum("warning"), "warning")) ", " (counted(sum("info"), "info")) "."
            }
            @if !rules.is_empty() { (table(&rules)) }
            p.soft { "The whole Source, with its packages and the links between its documents:" }
            (copyable(&format!("instep validate --follow {}", shell_word(&survey.url))))
        }
    }
}

fn table(rules: &BTreeMap<(u8, &str), RuleFindings<'_>>) -> Markup {
    html! {
        table.listing.stacked.even {
            thead { tr { th scope="col" { "Rule" } th scope="col" { "Weight" } th.figure scope="col" { "Findings" } th scope="col" { "Requirement, and the first finding" } } }
            tbody {
                @for ((_, rule), findings) in rules {
                    @let (document, first) = findings.first.map_or(("", None), |(uri, first)| (uri, Some(first)));
                    tr {
                        td { (rule) }
                        td { @if let Some(first) = first { (weight(&first.severity)) } }
                        td.figure { (count(findings.count)) @if findings.documents > 1 { small { "in " (counted(findings.documents, "document")) } } }
                        td {
                            @if let Some(rule) = Rule::find(rule) { p { (rule.requirement.replace('`', "")) } }
                            @if let Some(first) = first {
                                p.soft { "Found " q { (name(&first.found)) } "; expected " (name(&first.expected)) ", in " (outside_link(document)) @if first.line > 0 { ", line " (count(first.line)) } "." }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn weight(severity: &str) -> Markup {
    let class = match severity {
        "error" => "deleted",
        "warning" => "updated",
        _ => "created",
    };
    html! { span class=(format!("kind {class}")) { (severity) } }
}
