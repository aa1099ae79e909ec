//! The pictures of the documentation. They are taken in each run, and kept in `docs/pictures/` if `INSTEP_PICTURES` is set.

use std::{
    fs,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use instep_testkit::{FakeSource, Fault, instep, peers};
use rusqlite::Connection;

use crate::{
    accessible::{assert_accessible, axe},
    chromium::Page,
    sample,
    serving::Serving,
};

#[tokio::test]
async fn the_pages_of_a_source_can_be_shown_in_the_documentation() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let folder = sample::folder();
    let serving = Serving::start(folder.path(), &["--versions"]);
    // A Source has a history that a test cannot wait for.
    remember_changes(&folder.path().join(".instep/catalogue.db"));
    sample::change(folder.path());
    serving.wait_for("", |page| page.contains("resources\">230<") && page.contains("in 1 document"));
    let mut page = Page::open(&chromium).await;
    for (name, path, width, height, scheme) in [
        ("overview", "", 1024, 960, "light"),
        ("overview-dark", "", 1024, 960, "dark"),
        ("overview-phone", "", 360, 760, "light"),
        ("browse", "resourcesync/browse?path=notes/", 1024, 560, "light"),
    ] {
        page.show_at(width, scheme).await;
        page.go(&format!("{}{path}", serving.base)).await;
        keep(name, &page.picture(width, height).await);
    }
}

#[tokio::test]
async fn p14_the_page_of_a_copy_with_problems_is_accessible() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let (source, copies) = (FakeSource::start(), tempfile::tempdir().unwrap());
    for number in 0..40 {
        source.put(&format!("papers/paper-{number:02}.pdf"), "x".repeat(1_000 * (number + 1)));
    }
    source.snapshot();
    source.fail_always("papers/paper-07.pdf", Fault::Status(404));
    let url = source.capability_list_url();
    let follow = ["sync", &*url, "--follow", "--poll", "1s", "--listen", "127.0.0.1:0", "--json"];
    let serving = Serving::spawn(instep(follow).arg(copies.path().join("papers")));
    serving.wait_for("", |page| page.contains("held\">39<") && page.contains("What to do"));
    let mut page = Page::open(&chromium).await;
    let axe = axe();
    for path in ["", "?range=1y", "runs", "pending", "nothing"] {
        if path == "nothing" {
            // The browser itself complains of the status of this one.
            assert_eq!(page.complaints(), [""; 0]);
        }
        for (width, scheme) in [(320, "dark"), (768, "light"), (1440, "dark")] {
            page.show_at(width, scheme).await;
            page.go(&format!("{}{path}", serving.base)).await;
            if let Some(axe) = &axe {
                let shown = format!("{path:?} of a copy with problems at {width} in {scheme}");
                assert_accessible(&mut page, axe, width, &shown).await;
            }
        }
    }
}

#[tokio::test]
async fn the_page_of_a_copy_can_be_shown_in_the_documentation() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let (folder, copies) = (sample::folder(), tempfile::tempdir().unwrap());
    let source = Serving::start(folder.path(), &[]);
    let follow = ["sync", &*source.base, "--follow", "--poll", "1s", "--listen", "127.0.0.1:0", "--json"];
    let serving = Serving::spawn(instep(follow).arg(copies.path().join("papers")));
    serving.wait_for("", |page| page.contains("held\">226<") && page.contains("In step."));
    let mut page = Page::open(&chromium).await;
    page.show_at(1024, "light").await;
    page.go(&serving.base).await;
    keep("copy", &page.picture(1024, 960).await);
}

#[tokio::test]
async fn p14_a_document_with_a_stylesheet_is_a_page_in_a_browser_that_knows_xslt() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let folder = sample::folder();
    let serving = Serving::start(folder.path(), &["--stylesheet"]);
    let mut page = Page::open(&chromium).await;
    page.go(&format!("{}resourcesync/resourcelist.xml", serving.base)).await;
    let shown = page.evaluate("[document.contentType, document.documentElement.textContent]").await;
    let text = shown[1].as_str().unwrap();
    // A browser without XSLT shows the tree, and nothing is lost.
    assert!(text.contains("papers/2019/paper-2019-00.pdf"), "{shown}");
    if page.evaluate("document.querySelector('h1') !== null").await == true {
        assert!(text.contains("226 entries"), "{shown}");
    }
}

/// Writes numbers of changes of the last weeks into a catalogue.
fn remember_changes(catalogue: &Path) {
    let hour = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 3_600;
    let catalogue = Connection::open(catalogue).unwrap();
    let mut insert = catalogue.prepare("INSERT INTO activity VALUES (?1, ?2, ?3)").unwrap();
    for back in 1..24 * 21 {
        // Busy by day, quiet by night.
        let hour = hour - back;
        let busy = if (8..19).contains(&(hour % 24)) { 9 + hour % 7 } else { 1 + hour % 3 };
        for (kind, changes) in [(1, busy), (2, busy * (hour % 5) / 2), (3, hour % 11 / 5)] {
            insert.execute([hour, kind, changes]).unwrap();
        }
    }
}

/// Keeps a picture if that is asked for. Each is one that browsers and people can look at.
pub(crate) fn keep(name: &str, picture: &[u8]) {
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.len() > 2_000, "{name}");
    if std::env::var_os("INSTEP_PICTURES").is_some() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name).with_extension("png"), picture).unwrap();
    }
}
