//! The rules of STYLE.md for comments: a doc comment begins with a verb or defines the item, that of a public function
//! begins with a verb, and each file begins with its purpose.

use crate::sources::{files, sources};

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

/// Words that end like a verb in the third person, but are none or do not say what a function does.
const NO_VERBS: [&str; 12] =
    ["This", "Its", "Is", "Was", "Has", "As", "Bytes", "Links", "Messages", "Files", "Rules", "Resources"];

/// Returns `true` if a doc comment begins as that of a function should: "Returns", "Writes", "Checks".
fn begins_with_verb(comment: &str) -> bool {
    let word = comment.split(' ').next().unwrap_or_default().trim_end_matches([',', '.', ':', ';']);
    let mut letters = word.chars();
    letters.next().is_some_and(|first| first.is_ascii_uppercase())
        && letters.all(|letter| letter.is_ascii_lowercase())
        && word.ends_with('s')
        && !NO_VERBS.contains(&word)
}

/// Returns `true` for the first line of a function that others may call: `pub(crate) async fn`.
fn is_public_function(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("pub") else { return false };
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    let mut words = rest.split_whitespace().skip_while(|word| ["const", "async", "unsafe"].contains(word));
    rest.starts_with(' ') && words.next() == Some("fn")
}

/// Returns the doc comments of public functions that do not begin with a verb, by their lines.
fn functions_without_verb(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut comment: Option<(usize, &str)> = None;
    let mut is_attribute = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(more) = line.strip_prefix("///") {
            comment = comment.or(Some((number + 1, more.trim_start())));
        } else if is_attribute || line.starts_with("#[") {
            is_attribute = !line.ends_with(']');
        } else {
            let own = comment.take().filter(|_| is_public_function(line));
            found.extend(own.filter(|(_, comment)| !begins_with_verb(comment)));
        }
    }
    found
}

#[test]
fn the_doc_comment_of_a_public_function_begins_with_a_verb() {
    let own = "/// The length.\n#[cfg_attr(\n    unix,\n    must_use\n)]\npub(crate) const fn length() {}\n/// The name.\nname: u8,\n\
               /// Returns it.\n/// The rest.\npub async fn it() {}";
    assert_eq!(functions_without_verb(own), [(1, "The length.")]);
    let mut found = Vec::new();
    for (file, text) in sources() {
        let faults = functions_without_verb(&text).into_iter();
        found.extend(faults.map(|(number, comment)| format!("crates/{file}:{number}: {comment}")));
    }
    let advice = "begin the doc comment of a function with a verb in the third person, such as \"Returns\"";
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
    assert!(found.is_empty(), "{advice}:\n{}", found.join("\n"));
}
