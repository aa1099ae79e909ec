//! Files that import each other cannot be understood, tested or moved alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::{imports::Crate, sources::sources};

/// The circles that are left, one a line: the crate, then its modules.
const ARGUED: &str = include_str!("circles.txt");

fn argued() -> Vec<(String, BTreeSet<String>)> {
    let lines = ARGUED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let circles = lines.map(|line| {
        let (name, modules) = line.split_once(": ").unwrap();
        (name.to_owned(), modules.split(' ').map(str::to_owned).collect())
    });
    circles.collect()
}

fn found() -> Vec<(String, BTreeSet<String>)> {
    let sources = sources();
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (name, text) in &sources {
        let (package, file) = name.split_once("/src/").unwrap();
        crates.entry(package).or_default().push((file, text));
    }
    let circles = crates.into_iter().flat_map(|(package, files)| {
        Crate::of(files).circles().into_iter().map(move |circle| (package.to_owned(), circle))
    });
    circles.collect()
}

fn lines(circles: &[(String, BTreeSet<String>)]) -> String {
    let line = |(package, circle): &(String, BTreeSet<String>)| {
        let modules: Vec<_> = circle.iter().map(String::as_str).collect();
        format!("{package}: {}", modules.join(" "))
    };
    circles.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let argued = argued();
    let mut found = found();
    found.retain(|(package, circle)| {
        !argued.iter().any(|(name, modules)| name == package && circle.is_subset(modules))
    });
    assert!(
        found.is_empty(),
        "these files import each other; cut the circle, or argue for it in architecture/circles.txt:\n{}",
        lines(&found)
    );
}
