//! The pages of a Source in a browser: Chromium without a window, driven over its DevTools protocol.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "browser/chromium.rs"]
mod chromium;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
};

use chromium::Page;
use instep_testkit::{instep, peers};
use serde_json::Value;

/// Resolves when the first line of the table of changes names a file.
const LIVE: &str = "new Promise(resolve => {
  const seen = () => document.querySelector('#changes tr')?.textContent.includes('later.txt');
  if (seen()) resolve(true);
  new MutationObserver(() => seen() && resolve(true))
    .observe(document.getElementById('changes'), { childList: true, subtree: true });
})";

struct Serving(Child);

impl Serving {
    fn start(folder: &Path) -> (Self, String) {
        let mut command = instep(["serve", "--listen", "127.0.0.1:0", "--json"]);
        let mut child = command.arg(folder).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            (line["type"] == "ready").then(|| line["url"].as_str().unwrap().to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        (Self(child), ready.unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn the_pages_render_and_a_change_appears_while_one_is_open() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.txt", "b.html", "c <&> d.txt"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    let (_serving, base) = Serving::start(folder.path());
    let mut page = Page::open(&chromium).await;
    for (path, text) in [
        ("resourcesync/search?q=", "c%20%3C&%3E%20d.txt"),
        ("resourcesync/set?name=", "changelist"),
        ("resourcesync/resourcelist.html", "a.txt"),
        ("resourcesync/charts", "Resources by size"),
        ("", "Keep a copy"),
    ] {
        page.go(&format!("{base}{path}")).await;
        let shown = page.evaluate("document.body.innerText").await;
        assert!(shown.as_str().unwrap().contains(text), "{path}: {shown}");
        let wide = page.evaluate("document.documentElement.scrollWidth <= 412").await;
        assert_eq!(wide, true, "{path} fits the width of a phone");
    }
    assert_eq!(page.evaluate("document.querySelectorAll('svg rect').length").await, 48);
    page.evaluate(&format!("window.live = {LIVE}; true")).await;
    fs::write(folder.path().join("later.txt"), "later").unwrap();
    assert_eq!(page.evaluate("window.live").await, true);
    let counted = "document.querySelector('[data-figure=resources]').textContent";
    assert_eq!(page.evaluate(&format!("new Promise(resolve => {{ const wait = () => {counted} === '4' ? resolve(4) : setTimeout(wait, 10); wait(); }})")).await, 4);
    assert_eq!(page.complaints(), [""; 0]);
}
