//! A page that is open shows changes while they happen, and nothing else runs in the name of this host.

use std::fs;

use instep_testkit::peers;

use crate::{
    chromium::Page,
    serving::{Serving, escaped, folder},
};

/// Resolves when the first line of the table of changes names a file.
const LIVE: &str = "new Promise(resolve => {
  const seen = () => document.querySelector('#changes tbody tr')?.textContent.includes('later.txt');
  if (seen()) resolve(true);
  new MutationObserver(() => seen() && resolve(true))
    .observe(document.getElementById('changes'), { childList: true, subtree: true });
})";

#[tokio::test]
async fn a_change_appears_on_a_page_that_is_open() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let folder = folder(&[("a.txt", "a"), ("b.html", "b"), ("c <&> d.txt", "c")]);
    let serving = Serving::start(folder.path(), &[]);
    let mut page = Page::open(&chromium).await;
    page.go(&serving.base).await;
    page.evaluate(&format!("window.live = {LIVE}; true")).await;
    fs::write(folder.path().join("later.txt"), "later").unwrap();
    assert_eq!(page.evaluate("window.live").await, true);
    let counted = "document.querySelector('[data-figure=resources]').textContent";
    let wait = format!(
        "new Promise(resolve => {{ const wait = () => {counted} === '4' ? resolve(4) : setTimeout(wait, 10); wait(); }})"
    );
    assert_eq!(page.evaluate(&wait).await, 4);
    assert_eq!(page.complaints(), [""; 0]);
}

#[tokio::test]
async fn p14_a_pdf_is_shown_by_the_reader_of_the_browser() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let folder = folder(&[("letter.pdf", &pdf())]);
    let serving = Serving::start(folder.path(), &[]);
    let mut page = Page::open(&chromium).await;
    let uri = escaped(&format!("{}letter.pdf", serving.base));
    page.go(&format!("{}resourcesync/resource?uri={uri}", serving.base)).await;
    // A frame that a policy forbids has a document of the browser's own, and one that is downloaded stays empty.
    let shown = "new Promise(resolve => { const wait = () => {
        const path = document.querySelector('iframe.preview')?.contentWindow.location.pathname;
        path === '/letter.pdf' ? resolve(path) : setTimeout(wait, 20); }; wait(); })";
    assert_eq!(page.evaluate("navigator.pdfViewerEnabled").await, true);
    assert_eq!(page.evaluate(shown).await, "/letter.pdf");
    assert_eq!(page.complaints(), [""; 0]);
}

/// Returns a document with one empty page.
fn pdf() -> String {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] >>",
    ];
    let mut pdf = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (number, object) in (1..).zip(objects) {
        table.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
    }
    let start = pdf.len();
    pdf.push_str(&format!(
        "xref\n0 4\n{table}trailer << /Size 4 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    ));
    pdf
}

#[tokio::test]
async fn p14_a_preview_shows_pictures_and_runs_nothing() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let active = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"30\"><script>parent.ran = 1; top.ran = 1</script>\
        <rect width=\"40\" height=\"30\" onload=\"top.ran = 1\"/></svg>";
    let folder = folder(&[
        ("active.svg", active),
        ("active.html", "<script>top.ran = 1</script><img src=x onerror='top.ran = 1'>"),
    ]);
    let serving = Serving::start(folder.path(), &[]);
    let mut page = Page::open(&chromium).await;
    for name in ["active.svg", "active.html"] {
        let uri = escaped(&format!("{}{name}", serving.base));
        page.go(&format!("{}resourcesync/resource?uri={uri}", serving.base)).await;
        assert_eq!(page.evaluate("typeof window.ran").await, "undefined", "{name}");
    }
    let uri = escaped(&format!("{}active.svg", serving.base));
    page.go(&format!("{}resourcesync/resource?uri={uri}", serving.base)).await;
    let shown = "document.querySelector('.preview img').decode().then(() => document.querySelector('.preview img').naturalWidth)";
    assert_eq!(page.evaluate(shown).await, 40);
    assert_eq!(page.complaints(), [""; 0]);
}
