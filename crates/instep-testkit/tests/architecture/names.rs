//! One name has one meaning in the whole workspace.

use std::collections::BTreeMap;

use crate::sources::{code_of, files, without_tests};

/// Names that several types share, as ARCHITECTURE argues; one a line.
const SHARED: &str = include_str!("names.txt");

/// Returns `true` for a file that stands in for another one in a build without a feature: it has its types, by their names.
fn is_stand_in(file: &str) -> bool {
    file.rsplit('/').next().is_some_and(|name| name.starts_with("no_"))
}

/// Returns the files that define a type at their outermost level, by the name of the type.
fn types() -> BTreeMap<String, Vec<String>> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in files(&["crates", "xtask", "bench", "python"], &["rs"]) {
        if !file.contains("/src/") || file.contains("/tests") || is_stand_in(&file) {
            continue;
        }
        let text = without_tests(&text);
        for line in code_of(text).lines() {
            let line = line
                .strip_prefix("pub")
                .map_or(line, |rest| rest.trim_start_matches(|c| c != ' ').trim_start());
            let item = ["struct ", "enum ", "trait ", "type ", "union "]
                .iter()
                .find_map(|item| line.strip_prefix(item));
            if let Some(item) = item {
                let name: String = item.chars().take_while(|c| c.is_alphanumeric()).collect();
                types.entry(name).or_default().push(file.clone());
            }
        }
    }
    types
}

#[test]
fn one_name_has_one_meaning() {
    let shared: Vec<_> = SHARED.lines().filter(|line| !line.starts_with('#')).collect();
    let types = types();
    let unique = shared.iter().filter(|name| types.get(**name).is_none_or(|files| files.len() == 1));
    assert_eq!(
        unique.collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "no longer shared: strike them from names.txt"
    );
    let twice = types.into_iter().filter(|(name, files)| files.len() > 1 && !shared.contains(&name.as_str()));
    let twice: Vec<_> = twice.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    assert!(
        twice.is_empty(),
        "types of the same name; give each the name of its responsibility:\n{}",
        twice.join("\n")
    );
}
