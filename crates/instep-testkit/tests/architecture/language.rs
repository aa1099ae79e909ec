//! Comments as CONTRIBUTING.md asks for them: a doc comment begins with a verb or with what the thing is, and each file
//! says what it is for.

use crate::sources::files;

/// Files that still have doc comments of the old kind; one a line. The list only grows shorter.
const OLD: &str = include_str!("language.txt");

/// Beginnings that ask a question instead of answering it.
const QUESTIONS: [&str; 6] = ["What ", "How ", "Whether ", "Where ", "So many ", "The same for "];

fn is_old(file: &str) -> bool {
    OLD.lines().any(|line| line == file)
}

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

#[test]
fn doc_comments_answer_and_do_not_ask() {
    let mut found = Vec::new();
    for (file, text) in files(&["crates", "xtask", "bench", "fuzz"], &["rs"]) {
        if !is_old(&file) {
            found.extend(faults(&text).into_iter().map(|(number, line)| format!("{file}:{number}: {line}")));
        }
    }
    assert!(
        found.is_empty(),
        "begin with a verb (\"Returns ...\") or with what it is; write \"`None` if ...\":\n{}",
        found.join("\n")
    );
}

#[test]
fn each_file_says_what_it_is_for() {
    let files = files(&["crates", "xtask", "bench", "fuzz"], &["rs"]);
    let is_without = |(file, text): &&(String, String)| !text.starts_with("//!") && !is_old(file);
    let without: Vec<_> = files.iter().filter(is_without).map(|(file, _)| file.as_str()).collect();
    assert!(
        without.is_empty(),
        "begin these files with a `//!` that says what they are for:\n{}",
        without.join("\n")
    );
}
