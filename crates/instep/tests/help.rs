//! The help texts: the short help of each command fits one screen, options are grouped by purpose, and the reference,
//! the man pages and the completions have the same options.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fmt::Debug,
    fs,
    path::Path,
};

use assert_cmd::Command;

/// The size of a screen, in lines and columns.
const SCREEN: (usize, usize) = (40, 100);

/// The most options that a short help shows beside the global ones.
const USUAL: usize = 10;

/// Returns all commands that the program lists, with those below them. The first one is the program itself, without a
/// name.
fn commands() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        for name in names_of_commands(&help(&command, "-h")) {
            found.push([&command[..], &[name]].concat());
        }
        next += 1;
    }
    found
}

/// Returns the names under the heading of commands, without `help`, which shows the texts of other commands.
fn names_of_commands(help: &str) -> Vec<String> {
    let below = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = below.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

fn help(command: &[impl AsRef<OsStr> + Debug], flag: &str) -> String {
    let output = Command::cargo_bin("instep").unwrap().args(command).arg(flag).output().unwrap();
    assert!(output.status.success(), "{command:?} {flag}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the headings of the groups of options, in order.
fn headings(help: &str) -> Vec<&str> {
    let is_heading = |line: &&str| line.ends_with(':') && !line.starts_with(' ');
    let other = ["Arguments:", "Commands:", "Examples:"];
    help.lines().filter(is_heading).filter(|line| !other.contains(line)).collect()
}

/// Returns the lines that begin an option, up to a heading.
fn options<'h>(help: &'h str, end: &str) -> Vec<&'h str> {
    let lines = help.lines().take_while(|line| *line != end);
    lines.filter(|line| line.trim_start().starts_with('-') && line.starts_with("  ")).collect()
}

#[test]
fn a_short_help_fits_one_screen() {
    for command in commands() {
        let text = help(&command, "-h");
        assert!(text.lines().count() <= SCREEN.0, "{command:?}: {} lines\n{text}", text.lines().count());
        for line in text.lines() {
            assert!(line.chars().count() <= SCREEN.1, "{command:?}: {line}");
        }
        let usual = options(&text, "Global options:");
        assert!(usual.len() <= USUAL, "{command:?}: {} options\n{text}", usual.len());
    }
}

#[test]
fn groups_have_the_same_order_in_both_helps_and_global_options_come_last() {
    for command in commands() {
        let (short, long) = (help(&command, "-h"), help(&command, "--help"));
        let (short, long) = (headings(&short), headings(&long));
        assert_eq!(short.last(), Some(&"Global options:"), "{command:?}");
        assert_eq!(long.last(), Some(&"Global options:"), "{command:?}");
        let kept: Vec<_> = long.iter().filter(|heading| short.contains(heading)).collect();
        assert_eq!(kept, short.iter().collect::<Vec<_>>(), "{command:?}");
    }
}

#[test]
fn every_command_is_found_by_its_help() {
    let commands = commands();
    for known in [&["sync"][..], &["source", "add"], &["upgrade-sitemap"], &["catalogue", "restore"]] {
        assert!(commands.iter().any(|command| command == known), "{known:?} is not among {commands:?}");
    }
}

#[test]
fn the_long_help_and_the_reference_of_the_book_have_the_same_options() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/options.md");
    let output = Command::cargo_bin("instep").unwrap().args(["completions", "reference"]).output().unwrap();
    let generated = String::from_utf8(output.stdout).unwrap();
    let global = names(section(&generated, "## Global options"), "- `");
    for command in commands().iter().filter(|command| !command.is_empty()) {
        let referred = names(section(&generated, &format!("## instep {}", command.join(" "))), "- `");
        let shown = names(&help(command, "--help"), " ");
        let shown = shown.difference(&global).cloned().collect::<BTreeSet<_>>();
        assert_eq!(shown, referred.difference(&global).cloned().collect(), "{command:?}");
    }
    let written = fs::read_to_string(page).unwrap();
    assert!(
        written == generated,
        "write it: cargo run -q -- completions reference > docs/reference/options.md"
    );
}

#[test]
fn the_man_page_and_the_completions_of_each_command_name_every_option() {
    let folder = tempfile::tempdir().unwrap();
    let completions = |kind: &str| {
        let mut command = Command::cargo_bin("instep").unwrap();
        let output = command.args(["completions", kind, "--out"]).arg(folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    completions("man");
    let shells = ["bash", "zsh", "powershell", "fish"].map(|shell| (shell, completions(shell)));
    let mut missing = BTreeSet::new();
    for command in commands() {
        let page = [&["instep".to_owned()][..], &command].concat().join("-");
        let page = fs::read_to_string(folder.path().join(format!("{page}.1"))).unwrap().replace('\\', "");
        for option in names(&help(&command, "--help"), " ") {
            if !page.contains(&format!("--{option}")) {
                missing.insert(format!("man page of {command:?}: --{option}"));
            }
            for (shell, text) in &shells {
                let written = if *shell == "fish" { format!(" -l {option} ") } else { format!("--{option}") };
                if !text.contains(&written) {
                    missing.insert(format!("{shell}: --{option}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns the lines below a heading of the reference, up to the next heading.
fn section<'r>(reference: &'r str, heading: &str) -> &'r str {
    let start = reference.find(&format!("\n{heading}\n")).unwrap() + heading.len() + 2;
    let end = reference[start..].find("\n## ").map_or(reference.len(), |end| start + end);
    &reference[start..end]
}

/// Returns the long names of the options that a text describes, in lines that begin with `start` and the option.
fn names(text: &str, start: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let option = line.strip_prefix(start)?.trim_start();
        let (_, long) = option.starts_with('-').then(|| option.split_once("--"))??;
        Some(long.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect())
    };
    text.lines().filter_map(name).collect()
}

/// The options that have different meanings in different commands, so that their texts differ.
const OF_SEVERAL_MEANINGS: [&str; 17] = [
    "allow-empty",
    "base-url",
    "bearer-file",
    "dry-run",
    "exclude",
    "follow",
    "include",
    "listen",
    "max-delete",
    "netrc-file",
    "out",
    "profile",
    "rate",
    "source",
    "spec-version",
    "state",
    "store",
];

#[test]
fn an_option_of_several_commands_has_one_text() {
    let output = Command::cargo_bin("instep").unwrap().args(["completions", "reference"]).output().unwrap();
    let reference = String::from_utf8(output.stdout).unwrap();
    let mut texts: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for line in reference.lines() {
        for name in names(line, "- `") {
            texts.entry(name).or_default().insert(line);
        }
    }
    texts.retain(|name, texts| texts.len() > 1 && !OF_SEVERAL_MEANINGS.contains(&name.as_str()));
    assert!(texts.is_empty(), "{texts:#?}");
}

#[test]
fn sync_shows_what_people_use_by_purpose() {
    let text = help(&["sync"], "-h");
    let groups = ["What to copy:", "Deleting:", "Speed:", "Credentials:", "Output:", "Global options:"];
    assert_eq!(headings(&text), groups);
    let long = help(&["sync"], "--help");
    for option in ["--files-from", "--callback-url", "--versions", "--where-metadata", "--poll"] {
        assert!(long.contains(option) && !text.contains(option), "{option}");
    }
}
