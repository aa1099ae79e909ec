//! The rules of STYLE.md for comments: a doc comment begins with a verb or defines the item, and each file begins with
//! its purpose.

use crate::sources::files;

/// Beginnings that ask a question instead of answering it.
const QUESTIONS: [&str; 10] =
    ["What ", "How ", "Whether ", "Where ", "Why ", "When ", "Who ", "Which ", "So many ", "The same for "];

/// Returns the places where a doc comment begins, or holds, what it should not.
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
fn each_file_says_what_it_is_for_and_doc_comments_do_not_ask() {
    let mut found = Vec::new();
    for (file, text) in files(&["crates", "xtask", "bench", "fuzz", "python"], &["rs"]) {
        let says = text.starts_with("//!") || text.starts_with("#![doc");
        found.extend((!says).then(|| format!("{file}:1: no `//!`")));
        found.extend(faults(&text).into_iter().map(|(number, line)| format!("{file}:{number}: {line}")));
    }
    let advice = "begin a doc comment with a verb (\"Returns ...\") or with what the thing is, write \"`None` if ...\", and \
                  begin each file with a `//!` that says what it is for";
    assert!(found.is_empty(), "{advice}:\n{}", found.join("\n"));
}
