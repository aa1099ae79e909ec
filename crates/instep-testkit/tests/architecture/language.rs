//! Comments as CONTRIBUTING.md asks for them: a doc comment begins with a verb or with what the thing is, and each file
//! says what it is for.

use std::collections::BTreeMap;

use crate::sources::files;

/// The number of comments of the old kind that each package still has. The numbers only fall.
const LEFT: &str = include_str!("language.txt");

/// Beginnings that ask a question instead of answering it.
const QUESTIONS: [&str; 10] =
    ["What ", "How ", "Whether ", "Where ", "Why ", "When ", "Who ", "Which ", "So many ", "The same for "];

/// The places where a doc comment begins, or holds, what it should not.
fn faults(text: &str) -> Vec<(usize, &str)> {
    let mut before = "";
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = ["/// ", "//! "].into_iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(comment) = comment {
            let starts = !(before.starts_with("/// ") || before.starts_with("//! "));
            if (starts && QUESTIONS.iter().any(|question| comment.starts_with(question)))
                || comment.contains("none where")
            {
                faults.push((number + 1, line));
            }
        }
        before = line;
    }
    faults
}

/// Fails if a package has more faults than are left to it.
fn assert_no_more_than_left(faults: &[String], advice: &str) {
    let left = LEFT.lines().filter_map(|line| line.split_once(' '));
    let left: BTreeMap<&str, usize> =
        left.map(|(folder, number)| (folder, number.parse().unwrap())).collect();
    let mut by_package: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for fault in faults {
        let mut folders = fault.split('/');
        let first = folders.next().unwrap_or_default();
        let package = match first {
            "crates" => format!("{first}/{}", folders.next().unwrap_or_default()),
            _ => first.to_owned(),
        };
        by_package.entry(package).or_default().push(fault);
    }
    by_package.retain(|package, faults| faults.len() > left.get(package.as_str()).copied().unwrap_or(0));
    let found: Vec<_> = by_package
        .into_iter()
        .map(|(package, faults)| format!("{package} {}:\n  {}", faults.len(), faults.join("\n  ")))
        .collect();
    assert!(found.is_empty(), "{advice}:\n{}", found.join("\n"));
}

#[test]
fn each_file_says_what_it_is_for_and_doc_comments_do_not_ask() {
    let mut found = Vec::new();
    for (file, text) in files(&["crates", "xtask", "bench", "fuzz", "python"], &["rs"]) {
        let says = text.starts_with("//!") || text.starts_with("#![doc");
        found.extend((!says).then(|| format!("{file}:1: no `//!`")));
        found.extend(faults(&text).into_iter().map(|(number, line)| format!("{file}:{number}: {line}")));
    }
    let advice = "begin a doc comment with a verb (\"Returns ...\") or with what the thing is, write \"`None` if ...\", and \
                  begin each file with a `//!` that says what it is for";
    assert_no_more_than_left(&found, advice);
}
