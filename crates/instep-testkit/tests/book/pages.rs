//! The pages of the documentation, their commands and their links.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the text of a page, by its path in the workspace.
pub(crate) fn text(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// Returns the pages that the table of contents names, as paths in the workspace.
pub(crate) fn linked() -> Vec<String> {
    links(&text("docs/SUMMARY.md")).into_iter().map(|link| format!("docs/{link}")).collect()
}

/// Returns the targets of a page's links, outside of code.
pub(crate) fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code = false;
    for line in text.lines() {
        code ^= line.trim_start().starts_with("```");
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(targets.filter(|_| !code).map(str::to_owned));
    }
    found
}

/// The commands of instep in the blocks of a page that are no consoles: scripts, tables of cron, workflows. They are not
/// run, because something else runs them.
pub(crate) fn mentioned(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut language = None;
    for line in text.lines() {
        if let Some(opened) = line.strip_prefix("```") {
            language = if language.is_some() { None } else { Some(opened) };
        } else if matches!(language, Some("sh" | "cron" | "yaml")) {
            let begins_word =
                |start: &usize| !line[..*start].ends_with(|before: char| !before.is_whitespace());
            let start = line.match_indices("instep ").map(|(start, _)| start).find(begins_word);
            found.extend(start.map(|start| line[start..].to_owned()));
        }
    }
    found
}

/// Returns the arguments of a command, told apart by a shell.
pub(crate) fn arguments(command: &str) -> Vec<String> {
    let (_, arguments) = command.split_once(' ').unwrap();
    let print = format!("set -f; printf '%s\\0' {arguments}");
    let printed = Command::new("sh").args(["-c", &print]).output().unwrap();
    let words = String::from_utf8(printed.stdout).unwrap();
    words.split_terminator('\0').map(str::to_owned).collect()
}

/// Returns the commands of a page: the lines that begin with `$` in its console blocks.
pub(crate) fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut console = false;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            console = language == "console";
        } else if console && let Some(command) = line.strip_prefix("$ ") {
            found.push(command.to_owned());
        }
    }
    found
}
