//! The source files of the workspace, as the tests of this folder read them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below these folders of the workspace that ends so: its path, with `/`, and its text. Build folders and
/// hidden ones are left out.
pub(crate) fn files(folders: &[&str], ends: &[&str]) -> Vec<(String, String)> {
    let root = root();
    let visible = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(name.starts_with('.') || name == "target" || name == "data")
    };
    let walk = folders.iter().flat_map(|folder| {
        walkdir::WalkDir::new(root.join(folder)).sort_by_file_name().into_iter().filter_entry(visible)
    });
    let is_wanted = |entry: &walkdir::DirEntry| {
        entry.file_type().is_file()
            && ends.iter().any(|end| entry.path().extension().is_some_and(|own| own == *end))
    };
    let files = walk.filter_map(Result::ok).filter(is_wanted).map(|entry| {
        let name = entry.path().strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(entry.path()).unwrap())
    });
    files.collect()
}

/// The sources of the crates without tests: their paths below `crates/`, and their texts without the tests at the end.
pub(crate) fn sources() -> Vec<(String, String)> {
    let files = files(&["crates"], &["rs"]).into_iter().map(|(name, text)| {
        let name = name.strip_prefix("crates/").unwrap_or(&name).to_owned();
        (name, without_tests(&text).to_owned())
    });
    files.filter(|(name, _)| name.contains("/src/") && !name.contains("/tests")).collect()
}

/// Returns the text of a file up to its tests.
pub(crate) fn without_tests(text: &str) -> &str {
    let begins = ["\n#[cfg(test)]\n", "\n#[cfg(all(test,"].iter().filter_map(|begin| text.find(begin)).min();
    &text[..begins.unwrap_or(text.len())]
}

/// Returns a text of Rust without its comments, strings and characters, which become blanks; lines stay where they are.
pub(crate) fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = literal_or_comment(rest).unwrap_or(0);
        if length > 0 {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            code.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// Returns the length of a comment, a string or a character at the start of the text.
fn literal_or_comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(text.len(), |end| end + 2));
    }
    let prefix = ["br", "r", "b", "c"].iter().find(|prefix| {
        text.strip_prefix(**prefix)
            .is_some_and(|rest| rest.starts_with('"') || (prefix.ends_with('r') && rest.starts_with("#\"")))
    });
    let start = prefix.map_or(0, |prefix| prefix.len());
    let quoted = &text[start..];
    if prefix.is_some_and(|prefix| prefix.ends_with('r')) {
        let hashes = quoted.len() - quoted.trim_start_matches('#').len();
        let close = format!("\"{}", "#".repeat(hashes));
        let body = &quoted[hashes + 1..];
        return Some(start + hashes + 1 + body.find(&close).map_or(body.len(), |end| end + close.len()));
    }
    if quoted.starts_with('"') {
        return Some(start + end_of_quotes(quoted, '"'));
    }
    // A lifetime has no closing quote behind its first character.
    let mut inner = text.strip_prefix('\'')?.chars();
    match inner.next()? {
        '\\' => Some(end_of_quotes(text, '\'')),
        one => (inner.next() == Some('\'')).then(|| one.len_utf8() + 2),
    }
}

fn end_of_quotes(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[test]
fn comments_strings_and_characters_are_no_code() {
    let text =
        "let a = \"x // y\"; // z\nlet b = '\"'; let c: &'static str = r#\"use \"q\"\"#; for_each(b'\\'')";
    let code = code_of(text);
    for word in ["x", "y", "z", "use", "q"] {
        assert!(!code.split(|c: char| !c.is_alphanumeric()).any(|own| own == word), "{word}: {code}");
    }
    assert!(
        code.contains("&'static str") && code.contains("for_each") && code.lines().count() == 2,
        "{code}"
    );
}
