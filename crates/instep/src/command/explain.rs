//! `instep explain`: what a rule says.

use anyhow::bail;
use clap::Args;
use resourcesync::validate::{Rule, rule, rules};
use serde_json::json;

use crate::{exit::Exit, ui::Output};

/// What a rule of the standard says
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  instep explain RL-2\n  instep explain TIME\n  instep explain           every rule, a line each"
)]
pub(crate) struct Explain {
    /// A rule such as RL-2, or a group of rules such as TIME [default: all]
    rule: Option<String>,
}

impl Explain {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let Some(id) = self.rule else {
            rules().iter().for_each(|rule| tell_line(output, rule));
            return Ok(Exit::Done);
        };
        if let Some(rule) = rule(&id) {
            tell(output, rule);
            return Ok(Exit::Done);
        }
        let of_group =
            |rule: &&Rule| rule.id.split('-').next().is_some_and(|group| group.eq_ignore_ascii_case(&id));
        let group: Vec<_> = rules().iter().filter(of_group).collect();
        if group.is_empty() {
            bail!("There is no rule {id}; `instep explain` lists them all");
        }
        group.into_iter().for_each(|rule| tell_line(output, rule));
        Ok(Exit::Done)
    }
}

fn tell_line(output: &Output, rule: &Rule) {
    output.line(format!("{:<9} {:<8} {}", rule.id, rule.severity(), plain(rule.requirement)));
    object(output, rule);
}

fn tell(output: &Output, rule: &Rule) {
    let clause = if rule.clause.is_empty() { "follows from several clauses" } else { rule.clause };
    output.line(format!("{}  {} ({})", output.paint(1, rule.id), clause, rule.severity()));
    output.line("");
    output.line(plain(rule.requirement));
    if !rule.check.is_empty() {
        output.line("");
        output.line(format!("Check: {}", plain(rule.check)));
    }
    object(output, rule);
}

fn object(output: &Output, rule: &Rule) {
    output.object(
        "rule",
        json!({
            "rule": rule.id,
            "severity": rule.severity().as_str(),
            "clause": rule.clause,
            "requirement": plain(rule.requirement),
            "check": plain(rule.check),
        }),
    );
}

/// The text without the marks of its source.
fn plain(text: &str) -> String {
    text.replace(['`', '*'], "")
}
