//! The picture of the terminal: what `instep demo` prints, drawn by the browser.

use base64::Engine;
use instep_testkit::{Run, instep, peers};

use crate::{chromium::Page, pictures::keep};

const STYLE: &str = "body { background: #14181f; color: #e6e9ef; margin: 0; padding: 22px 26px;
    font: 15px/1.55 'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace; }
    pre { font: inherit; margin: 0; white-space: pre; } b { color: #7fd18b; font-weight: 600; } i { color: #8ab4ff; font-style: normal; }";

/// The width of the picture.
const WIDTH: u32 = 1_024;

#[tokio::test]
async fn the_demo_can_be_shown_in_the_documentation() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let printed = Run::of(&mut instep(["demo"])).with_code(0).stdout;
    // Each act is a line: its name, and what happened.
    let acts: Vec<_> = printed.lines().filter_map(|line| line.trim_start().split_once("  ")).collect();
    for act in ["Published", "Copied", "Changed", "Updated", "Damaged", "Audited"] {
        assert!(acts.iter().any(|(name, _)| *name == act), "{act}: {printed}");
    }
    let line = |line: &str| match line.trim_start().split_once("  ") {
        Some((act, what)) if line.starts_with("  ") => {
            format!("  <i>{}</i>  {}\n", escaped(act), escaped(what))
        }
        _ => format!("{}\n", escaped(line)),
    };
    let lines: String = printed.lines().map(line).collect();
    let shown = format!("<style>{STYLE}</style><pre><b>$</b> instep demo\n{lines}</pre>");
    let shown = base64::engine::general_purpose::STANDARD.encode(shown);
    let mut page = Page::open(&chromium).await;
    page.show_at(WIDTH, "dark").await;
    page.go(&format!("data:text/html;charset=utf-8;base64,{shown}")).await;
    let height =
        page.evaluate("Math.ceil(document.querySelector('pre').getBoundingClientRect().bottom) + 22").await;
    let width = page.evaluate("document.documentElement.scrollWidth").await.as_u64().unwrap();
    assert!(width <= u64::from(WIDTH), "a line of the demo is too long for the picture: {width}");
    keep("terminal", &page.picture(WIDTH, u32::try_from(height.as_u64().unwrap()).unwrap()).await);
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
