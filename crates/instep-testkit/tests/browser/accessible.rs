//! Everybody can use the pages: at every width, in both colour schemes, with a keyboard, and without scripts.

use std::{fs, path::Path};

use instep_testkit::peers;
use serde_json::Value;

use crate::{
    chromium::Page,
    sample,
    serving::{Serving, escaped},
};

/// axe-core among the peers.
const AXE: &str = "axe_playwright_python/axe.min.js";

/// Violations of WCAG 2.2, A and AA, and of what is good practice beside it.
const JUDGE: &str = "axe.run(document, { iframes: false, runOnly:
    ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
  .then(found => found.violations.map(one => one.id + ': ' + one.nodes.map(node => node.target).join(' | ')))";

/// Asserts of the page that is shown that nothing is cut off, and that axe-core finds nothing.
pub(crate) async fn assert_accessible(page: &mut Page, axe: &str, width: u32, shown: &str) {
    let needed = page.evaluate("document.documentElement.scrollWidth").await;
    assert!(needed.as_u64().unwrap() <= u64::from(width), "{shown} needs a width of {needed}");
    page.evaluate(&format!("{axe}; 0")).await;
    assert_eq!(page.evaluate(JUDGE).await, Value::Array(Vec::new()), "{shown}");
}

/// Returns the text of axe-core; `None` if it is not installed.
pub(crate) fn axe() -> Option<String> {
    Some(fs::read_to_string(peers::file(AXE)?).unwrap())
}

#[tokio::test]
async fn p14_axe_finds_nothing_on_any_page_at_any_width_in_light_and_dark() {
    let (Some([chromium]), Some(axe)) = (peers::find(["chromium"]), axe()) else { return };
    let folder = sample::folder();
    let serving = Serving::start(folder.path(), &["--versions"]);
    sample::change(folder.path());
    serving.wait_for("", |page| page.contains("3 deleted") && page.contains("in 1 document"));
    let mut page = Page::open(&chromium).await;
    for (name, path) in sample::pages(&serving) {
        for (width, scheme) in [(320, "dark"), (768, "light"), (1440, "dark")] {
            page.show_at(width, scheme).await;
            page.go(&format!("{}{path}", serving.base)).await;
            assert_accessible(&mut page, &axe, width, &format!("{name} at {width} in {scheme}")).await;
        }
    }
}

#[tokio::test]
async fn p26_long_names_and_an_empty_source_fit_every_width_and_folders_are_named_as_people_read_them() {
    let (Some([chromium]), Some(axe)) = (peers::find(["chromium"]), axe()) else { return };
    let (empty, long) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = format!("a folder — {}Übersetzungen", "with many words ".repeat(8));
    let file = format!("{}.txt", "one_word".repeat(25));
    fs::create_dir(long.path().join(&folder)).unwrap();
    fs::write(long.path().join(&folder).join(&file), "text\n").unwrap();
    let (empty, long) = (Serving::start(empty.path(), &[]), Serving::start(long.path(), &[]));
    let address = escaped(&format!("{}/{}", escaped(&folder), escaped(&file)));
    let browse = format!("resourcesync/browse?path={}%2F", escaped(&escaped(&folder)));
    let mut page = Page::open(&chromium).await;
    for (serving, path) in [
        (&empty, String::new()),
        (&empty, "resourcesync/browse".to_owned()),
        (&empty, "resourcesync/search?q=word".to_owned()),
        (&long, String::new()),
        (&long, browse),
        (&long, format!("resourcesync/resource?uri={}{address}", escaped(&long.base))),
        (&long, "resourcesync/search?q=one_word".to_owned()),
    ] {
        for (width, scheme) in [(320, "light"), (768, "dark"), (1440, "light")] {
            page.show_at(width, scheme).await;
            page.go(&format!("{}{path}", serving.base)).await;
            assert_accessible(&mut page, &axe, width, &format!("{path:?} at {width} in {scheme}")).await;
        }
    }
    page.go(&long.base).await;
    let shown = page.evaluate("document.body.innerText").await;
    assert!(shown.as_str().unwrap().contains(&folder), "{shown}");
}

async fn open(chromium: &Path, path: &str) -> (Page, Serving, tempfile::TempDir) {
    let folder = sample::folder();
    let serving = Serving::start(folder.path(), &[]);
    let mut page = Page::open(chromium).await;
    page.go(&format!("{}{path}", serving.base)).await;
    (page, serving, folder)
}

#[tokio::test]
async fn p14_a_keyboard_is_enough() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let (mut page, _serving, _folder) = open(&chromium, "").await;
    let focused = "document.activeElement.textContent.trim()";
    page.press("Tab").await;
    assert_eq!(page.evaluate(focused).await, "Skip to the content");
    page.press("Enter").await;
    assert_eq!(page.evaluate("location.hash").await, "#content");
    // From the content on, the next thing that can be used is in the content.
    page.press("Tab").await;
    assert_eq!(page.evaluate("document.activeElement.closest('main') !== null").await, true);
    let outlined = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(page.evaluate(outlined).await, "solid");
}

#[tokio::test]
async fn p14_everything_is_there_without_scripts() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let folder = sample::folder();
    let serving = Serving::start(folder.path(), &[]);
    let mut page = Page::open(&chromium).await;
    page.disable_scripts(true).await;
    for (path, text) in [
        ("", "Keep a copy"),
        ("resourcesync/browse?path=notes/", "note-01.txt"),
        ("resourcesync/search?q=note-01", "notes/note-01.txt"),
    ] {
        page.go(&format!("{}{path}", serving.base)).await;
        let shown = page.evaluate("document.body.innerText").await;
        assert!(shown.as_str().unwrap().contains(text), "{path}: {shown}");
    }
    assert_eq!(page.complaints(), [""; 0]);
}
