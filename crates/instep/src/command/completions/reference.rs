//! The book's page of all options (`docs/reference/options.md`), written from the definition of the command line.

use std::fmt::Write as _;

use clap::{Arg, Command};

use crate::global;

const INTRODUCTION: &str = "\
# Options

Each command with its options, as `instep COMMAND --help` shows them. [Configuration](../configuration.md) describes how to set them in a file or in the
environment.

<!-- Written by: cargo run -q -- completions reference > docs/reference/options.md -->
";

/// Returns the page.
pub(super) fn page(mut program: Command) -> String {
    program.build();
    let mut page = String::from(INTRODUCTION);
    let _ = write!(page, "\n## Global options\n\n{}", group(&program, global::HEADING));
    for command in program.get_subcommands() {
        describe(command, &format!("instep {}", command.get_name()), &mut page);
    }
    page
}

/// Adds a command, and those below it, to the page.
fn describe(command: &Command, name: &str, page: &mut String) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let about = command.get_about().map(plain).unwrap_or_default();
    let _ = write!(page, "\n## {name}\n\n{about}\n");
    let headings = command.get_arguments().filter(|argument| !argument.is_hide_set()).map(heading);
    let mut seen = vec![global::HEADING];
    for heading in headings {
        if !seen.contains(&heading) {
            seen.push(heading);
            let _ = write!(page, "\n**{heading}**\n\n{}", group(command, heading));
        }
    }
    for below in command.get_subcommands() {
        describe(below, &format!("{name} {}", below.get_name()), page);
    }
}

fn heading(argument: &Arg) -> &str {
    let usual = if argument.is_positional() { "Arguments" } else { "Options" };
    argument.get_help_heading().unwrap_or(usual)
}

/// Returns a line for each argument under a heading.
fn group(command: &Command, wanted: &str) -> String {
    let arguments = command.get_arguments().filter(|it| !it.is_hide_set() && heading(it) == wanted);
    arguments.map(line).collect()
}

fn line(argument: &Arg) -> String {
    let takes_value = argument.get_action().takes_values();
    let values = argument.get_value_names().filter(|_| takes_value).unwrap_or_default();
    let values: String = values.iter().map(|name| format!(" {name}")).collect();
    let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let name = match argument.get_long() {
        Some(long) => format!("{short}`--{long}{values}`"),
        None => format!("`{}`", values.trim_start()),
    };
    let mut line = format!("- {name}: {}", argument.get_help().map(plain).unwrap_or_default());
    let aliases = argument.get_visible_aliases().unwrap_or_default();
    if !aliases.is_empty() {
        let _ = write!(line, "; also `--{}`", aliases.join("`, `--"));
    }
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_value && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let _ = write!(line, " [default: {}]", defaults.join(","));
    }
    line + "\n"
}

/// Returns a text of the help as Markdown.
fn plain(text: &clap::builder::StyledStr) -> String {
    text.to_string().replace('\n', " ").replace('<', "\\<")
}
