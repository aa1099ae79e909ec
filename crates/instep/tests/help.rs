//! The help texts: one screen for each command, grouped by purpose.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{fs, path::Path};

use assert_cmd::Command;

/// A screen, in lines and columns.
const SCREEN: (usize, usize) = (40, 100);

/// The most options that a short help shows beside the global ones.
const USUAL: usize = 10;

const COMMANDS: [&[&str]; 20] = [
    &[],
    &["init"],
    &["catalogue", "backup"],
    &["catalogue", "restore"],
    &["demo"],
    &["publish"],
    &["serve"],
    &["change"],
    &["change", "add"],
    &["catalogue"],
    &["catalogue", "check"],
    &["republish"],
    &["sync"],
    &["audit"],
    &["status"],
    &["simulate"],
    &["explore"],
    &["validate"],
    &["explain"],
    &["completions"],
];

fn help(command: &[&str], flag: &str) -> String {
    let output = Command::cargo_bin("instep").unwrap().args(command).arg(flag).output().unwrap();
    assert!(output.status.success(), "{command:?} {flag}");
    String::from_utf8(output.stdout).unwrap()
}

/// The headings of groups of options, in order.
fn headings(help: &str) -> Vec<&str> {
    let is_heading = |line: &&str| line.ends_with(':') && !line.starts_with(' ');
    let other = ["Arguments:", "Commands:", "Examples:"];
    help.lines().filter(is_heading).filter(|line| !other.contains(line)).collect()
}

/// The lines that begin an option, up to a heading.
fn options<'h>(help: &'h str, end: &str) -> Vec<&'h str> {
    let lines = help.lines().take_while(|line| *line != end);
    lines.filter(|line| line.trim_start().starts_with('-') && line.starts_with("  ")).collect()
}

#[test]
fn a_short_help_fits_one_screen() {
    for command in COMMANDS {
        let text = help(command, "-h");
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
    for command in COMMANDS {
        let (short, long) = (help(command, "-h"), help(command, "--help"));
        let (short, long) = (headings(&short), headings(&long));
        assert_eq!(short.last(), Some(&"Global options:"), "{command:?}");
        assert_eq!(long.last(), Some(&"Global options:"), "{command:?}");
        let kept: Vec<_> = long.iter().filter(|heading| short.contains(heading)).collect();
        assert_eq!(kept, short.iter().collect::<Vec<_>>(), "{command:?}");
    }
}

#[test]
fn the_reference_of_the_book_has_every_option() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/options.md");
    let output = Command::cargo_bin("instep").unwrap().args(["completions", "reference"]).output().unwrap();
    let generated = String::from_utf8(output.stdout).unwrap();
    for command in COMMANDS {
        for line in options(&help(command, "--help"), "(to the end)") {
            let Some((_, option)) = line.split_once("--") else { continue };
            let name: String = option.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
            let section = format!("\n## instep {}\n", command.join(" "));
            let start = generated.find(&section).map_or(0, |start| start + section.len());
            let end = generated[start..].find("\n## ").map_or(generated.len(), |end| start + end);
            let is_global =
                generated[..generated.find("\n## instep").unwrap()].contains(&format!("`--{name}"));
            assert!(
                is_global || generated[start..end].contains(&format!("`--{name}")),
                "{command:?} --{name}"
            );
        }
    }
    let written = fs::read_to_string(page).unwrap();
    assert!(
        written == generated,
        "write it: cargo run -q -- completions reference > docs/reference/options.md"
    );
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
