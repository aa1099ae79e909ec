//! `instep explore`: prints the capabilities of a Source as a tree.

use clap::Args;
use instep_destination::discover::{Node, explore};
use resourcesync::{Capability, Form};
use serde_json::{Value, json};

use crate::{
    args::{access::AccessArgs, source_url::source_url},
    config::Config,
    exit::Exit,
    runtime,
    ui::{
        Output,
        format::{bytes, capability_name, counted, name},
    },
};

/// Show the sets, capabilities, lists and channels of a Source as a tree
///
/// The URL may be a site, a page, a resource or any document. Explore goes up to the Source Description, then down.
#[derive(Debug, Args)]
#[command(
    after_help = "All options and examples: instep explore --help",
    after_long_help = "Examples:\n  instep explore https://example.org/\n  instep explore https://example.org/changelist.xml --json"
)]
pub(crate) struct ExploreCommand {
    /// Any URL of the Source
    url: String,
    #[command(flatten)]
    access: AccessArgs,
}

impl ExploreCommand {
    /// Runs the command.
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        let url = source_url(&self.url)?;
        let spool = tempfile::tempdir()?;
        let documents = self.access.documents(config, &url, spool.path())?;
        let root =
            runtime::start()?.block_on(explore(&url, &documents)).map_err(instep_destination::Error::from)?;
        show(output, &root, "", "");
        output.object("tree", tree(&root));
        Ok(if has_problem(&root) { Exit::Problems } else { Exit::Done })
    }
}

fn has_problem(node: &Node) -> bool {
    node.trouble.is_some() || node.children.iter().any(has_problem)
}

/// Prints a line for the node, then its children below it.
fn show(output: &Output, node: &Node, stem: &str, indent: &str) {
    let mut line = format!("{stem}{}  {}", output.paint(1, &kind(node)), name(node.uri.as_str()));
    for fact in facts(node) {
        line.push_str(&format!("  {}", output.paint(90, &fact)));
    }
    if let Some(trouble) = &node.trouble {
        line.push_str(&format!("  {}", output.paint(31, &format!("! {}", name(trouble)))));
    }
    output.line(line);
    for (index, child) in node.children.iter().enumerate() {
        let last = index + 1 == node.children.len();
        let (branch, further) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        show(output, child, &format!("{indent}{branch}"), &format!("{indent}{further}"));
    }
}

fn kind(node: &Node) -> String {
    let name = match &node.capability {
        Some(capability) => capability_name(capability),
        None if node.form.is_none() && !node.children.is_empty() => "Site".to_owned(),
        None => "Sitemap".to_owned(),
    };
    if node.form == Some(Form::Index) { format!("{name} Index") } else { name }
}

fn facts(node: &Node) -> Vec<String> {
    let times = &node.times;
    let time = |label: &str, time: Option<resourcesync::DateTime>| time.map(|time| format!("{label} {time}"));
    let entries = node.entries.map(|entries| counted(entries, "entry"));
    let bytes = node.bytes.map(bytes);
    [entries, bytes, time("at", times.at), time("from", times.from), time("until", times.until)]
        .into_iter()
        .flatten()
        .collect()
}

fn tree(node: &Node) -> Value {
    let time = |time: Option<resourcesync::DateTime>| time.map(|time| time.to_string());
    json!({
        "uri": node.uri.as_str(),
        "capability": node.capability.as_ref().map(Capability::as_str),
        "index": node.form.map(|form| form == Form::Index),
        "entries": node.entries,
        "bytes": node.bytes,
        "at": time(node.times.at),
        "completed": time(node.times.completed),
        "from": time(node.times.from),
        "until": time(node.times.until),
        "problem": node.trouble,
        "children": node.children.iter().map(tree).collect::<Vec<_>>(),
    })
}
