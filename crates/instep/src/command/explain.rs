//! `instep explain`: prints rules of the standard, as `resourcesync` has them in its table.

use anyhow::bail;
use clap::Args;
use resourcesync::validate::Rule;
use serde_json::json;

use crate::{exit::Exit, ui::Output};

/// Explain a rule of the standard
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  instep explain RL-2\n  instep explain TIME\n  instep explain           every rule, one line each"
)]
pub(crate) struct ExplainCommand {
    /// A rule such as RL-2, or a group of rules such as TIME [default: all]
    rule: Option<String>,
}

impl ExplainCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let Some(id) = self.rule else {
            Rule::all().iter().for_each(|rule| show_line(output, rule));
            return Ok(Exit::Done);
        };
        if let Some(rule) = Rule::find(&id) {
            show(output, rule);
            return Ok(Exit::Done);
        }
        let of_group =
            |rule: &&Rule| rule.id.split('-').next().is_some_and(|group| group.eq_ignore_ascii_case(&id));
        let group: Vec<_> = Rule::all().iter().filter(of_group).collect();
        if group.is_empty() {
            bail!("There is no rule {id}; `instep explain` lists all of them");
        }
        group.into_iter().for_each(|rule| show_line(output, rule));
        Ok(Exit::Done)
    }
}

fn show_line(output: &Output, rule: &Rule) {
    output.line(format!("{:<9} {:<8} {}", rule.id, rule.severity(), plain(rule.requirement)));
    object(output, rule);
}

fn show(output: &Output, rule: &Rule) {
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

/// Returns the text without Markdown marks.
fn plain(text: &str) -> String {
    text.replace(['`', '*'], "")
}
