//! The book of `docs/` as HTML, and its links: each leads to a page of the book and to a place on it.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use crate::run::{cargo, checked, is_installed, root, target};

/// Builds the book and checks its links. Its table of contents, its commands and the links to files of the project are
/// checked by the tests, which need no mdbook.
pub fn check() -> Result<()> {
    if !is_installed("mdbook") {
        let smallest = ["--no-default-features", "--features", "search"];
        checked(cargo(&["install", "--locked", "mdbook@0.5.4"]).args(smallest))?;
    }
    let book = target().join("book");
    checked(Command::new("mdbook").args(["build", "docs", "--dest-dir"]).arg(&book).current_dir(root()))?;
    let mut broken = Vec::new();
    let mut pages = 0;
    for page in pages_below(&book)? {
        pages += 1;
        let text = fs::read_to_string(&page)?;
        for link in ["href", "src"].into_iter().flat_map(|name| attributes(&text, name)) {
            if !leads_somewhere(&page, link) {
                let page = page.strip_prefix(&book).unwrap_or(&page);
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    ensure!(pages > 1, "The book in {} has no pages", book.display());
    ensure!(broken.is_empty(), "Links of the book that lead nowhere:\n{}", broken.join("\n"));
    Ok(())
}

fn pages_below(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut pages = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))? {
            let path = item?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "html") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// Returns the values of an attribute, as mdbook writes them.
fn attributes<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let before = format!(" {name}=\"");
    text.split(before.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Returns `true` for a link to another host, and for one to a file of the book and a place that is in it.
fn leads_somewhere(page: &Path, link: &str) -> bool {
    if link.contains("://")
        || ["mailto:", "data:", "javascript:"].iter().any(|scheme| link.starts_with(scheme))
    {
        return true;
    }
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    let file = match path {
        "" => page.to_owned(),
        path => page.with_file_name("").join(path),
    };
    if place.is_empty() || file.extension().is_none_or(|end| end != "html") {
        return file.exists();
    }
    let text = fs::read_to_string(&file).unwrap_or_default();
    let places: BTreeSet<&str> = attributes(&text, "id").into_iter().collect();
    places.contains(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_file_and_to_a_place_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("how-to/one.html");
        fs::create_dir(folder.path().join("how-to")).unwrap();
        fs::write(&page, "<h2 id=\"here\">Here</h2>").unwrap();
        fs::write(folder.path().join("two.html"), "<a class=\"x\" href=\"#there\" id=\"there\">").unwrap();
        for (link, leads) in [
            ("#here", true),
            ("#there", false),
            ("../two.html", true),
            ("../two.html#there", true),
            ("../two.html#here", false),
            ("../../outside.md", false),
            ("https://example.org/#x", true),
        ] {
            assert_eq!(leads_somewhere(&page, link), leads, "{link}");
        }
        let text = fs::read_to_string(folder.path().join("two.html")).unwrap();
        assert_eq!(attributes(&text, "href"), ["#there"]);
    }
}
