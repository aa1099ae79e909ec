//! The pages of a fleet: Sources in step, failing and paused, judged and taken like those of a Source.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use instep_testkit::{Run, free_port, instep, peers};

use crate::{
    accessible::{assert_accessible, axe},
    chromium::Page,
    pictures::keep,
    sample,
    serving::Serving,
};

/// Signs an operator in, and returns the status of the page after it.
const SIGN_IN: &str = "fetch('sign-in', { method: 'POST', body: new URLSearchParams({ token: 'a token that nobody guesses' }) })
  .then(answer => answer.status)";

/// Returns the lines of the state with the most lines in the table of Sources.
const MOST_LINES: &str = "Math.max(...[...document.querySelectorAll('#sources .kind')]
  .map(state => state.getClientRects().length))";

/// Adds a Source to the fleet in a folder.
fn add(fleet: &Path, name: &str, url: &str) {
    let add = ["source", "add", url, "--name", name, "--fleet"];
    drop(Run::of(instep(add).arg(fleet)).with_code(0));
}

#[tokio::test]
async fn p14_the_pages_of_a_fleet_are_accessible_at_any_width_in_light_and_dark() {
    let Some([chromium]) = peers::find(["chromium"]) else { return };
    let (folder, home) = (sample::folder(), tempfile::tempdir().unwrap());
    let source = Serving::start(folder.path(), &[]);
    let fleet = home.path().join("fleet");
    add(&fleet, "letters", &source.base);
    add(&fleet, "papers", &format!("{}?again", source.base));
    add(&fleet, "unreachable", &format!("http://127.0.0.1:{}/", free_port().unwrap()));
    add(
        &fleet,
        "paused",
        "https://example.invalid/a/rather/long/path/to/a/capability-list-that-does-not-break.xml",
    );
    drop(Run::of(instep(["source", "pause", "paused", "--fleet"]).arg(&fleet)).with_code(0));
    let operators = home.path().join("operators");
    fs::write(&operators, "ada a token that nobody guesses\n").unwrap();
    fs::set_permissions(&operators, fs::Permissions::from_mode(0o600)).unwrap();
    let mut run = instep(["run", "--listen", "127.0.0.1:0", "--retries", "0", "--json", "--fleet"]);
    let serving = Serving::spawn(run.arg(&fleet).arg("--operators").arg(&operators));
    serving.wait_for("", |page| page.contains("in-step\">2<") && page.contains("failing\">1<"));
    let mut page = Page::open(&chromium).await;
    let axe = axe();
    for path in [
        "",
        "?state=failing&sort=-held",
        "?q=nothing",
        "hosts",
        "log",
        "sign-in",
        "source/letters/",
        "source/letters/runs",
        "source/letters/pending",
        "source/unreachable/",
        "source/paused/",
        "source/nobody/",
    ] {
        for (width, scheme) in [(320, "dark"), (768, "light"), (1440, "dark")] {
            page.show_at(width, scheme).await;
            page.go(&format!("{}{path}", serving.base)).await;
            if let Some(axe) = &axe {
                assert_accessible(&mut page, axe, width, &format!("{path:?} at {width} in {scheme}")).await;
            }
        }
    }
    page.go(&format!("{}sign-in", serving.base)).await;
    assert_eq!(page.evaluate(SIGN_IN).await, 200);
    if let Some(axe) = &axe {
        page.show_at(320, "light").await;
        page.go(&format!("{}log", serving.base)).await;
        assert_accessible(&mut page, axe, 320, "the log of operators").await;
    }
    page.show_at(1024, "light").await;
    page.go(&serving.base).await;
    assert_eq!(page.evaluate(MOST_LINES).await, 1, "a state is in one line");
    for (name, path, height) in [("fleet", "", 720), ("fleet-source", "source/letters/", 1_400)] {
        page.go(&format!("{}{path}", serving.base)).await;
        keep(name, &page.picture(1024, height).await);
    }
}
