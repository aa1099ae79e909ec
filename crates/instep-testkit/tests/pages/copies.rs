//! The pages of a copy, of a run that follows and of one that is over, and the state for programs.

use std::{fs, process::Stdio, time::Duration};

use instep_testkit::{FakeSource, Fault, Run, instep};
use serde_json::Value;

use crate::{
    PROGRAM,
    serving::{PERSON, Serving, folder},
};

#[test]
fn p14_a_copy_that_follows_shows_what_it_holds_and_what_happens() {
    let folder = folder(&[("a.txt", "abc"), ("b/c.txt", "def")]);
    let source = Serving::start(folder.path(), &[]);
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("the <copy>");
    let follow = ["sync", &*source.base, "--follow", "--poll", "1s", "--listen", "127.0.0.1:0", "--json"];
    let serving = Serving::spawn(instep(follow).arg(&copy));
    let page =
        serving.wait_for("", |page| page.contains("data-figure=\"held\">2<") && page.contains("In step."));
    for part in
        ["<h1>Copy in the &lt;copy&gt;</h1>", &*source.base, "Last runs", "done", "data-events=\"events\""]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains(copies.path().to_str().unwrap()), "{page}");
    let host = source.base.trim_end_matches('/');
    serving.wait_for("", |page| page.contains(&format!("<td>{host}</td>")));
    fs::write(folder.path().join("later.txt"), "later").unwrap();
    serving.wait_for("", |page| page.contains("data-figure=\"held\">3<"));
    let state: Value = serde_json::from_str(&serving.get("status", PROGRAM).body).unwrap();
    assert_eq!((&state["held"], &state["owed"]), (&3.into(), &0.into()));
    assert!(serving.page("runs").contains("done"));
    assert!(serving.page("pending").contains("Nothing: no resource"));
    let absent = serving.get("absent", PERSON);
    assert_eq!(absent.status, 404);
    absent.assert_page("a page that is not there");
}

#[test]
fn p28_a_page_says_in_step_only_of_a_copy_that_equals_its_source() {
    let source = FakeSource::start().with_resources([("a.txt", "a"), ("b.txt", "b")]);
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy");
    let sync = |options: &[&str]| {
        let run = instep(["sync", &source.capability_list_url()]).args(options).arg(&copy).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    };
    let says = |part: &str| {
        let serving = Serving::spawn(instep(["status", "--listen", "127.0.0.1:0", "--json"]).arg(&copy));
        let page = serving.page("");
        assert!(page.contains(part), "{part}: {page}");
        assert_eq!(page.contains("In step."), part == "In step.", "{page}");
    };
    sync(&[]);
    says("In step.");
    source.delete("a.txt");
    sync(&[]);
    says("1 resource kept although gone at the Source");
    sync(&["--delete"]);
    says("In step.");
    source.gap();
    source.put("c.txt", "after the gap");
    sync(&[]);
    says("Done, not in step");
}

#[test]
fn p14_the_pages_of_a_copy_say_what_went_wrong_and_what_to_do() {
    let source = FakeSource::start();
    source.put("good.txt", "good");
    source.put("bad.txt", "bad");
    source.snapshot();
    source.fail_always("bad.txt", Fault::Status(404));
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy");
    let run = instep(["sync", &source.capability_list_url()]).arg(&copy).output().unwrap();
    assert_eq!(run.status.code(), Some(3), "{}", String::from_utf8_lossy(&run.stderr));
    let serving = Serving::spawn(instep(["status", "--listen", "127.0.0.1:0", "--json"]).arg(&copy));
    let page = serving.page("");
    for part in [
        "1 resource could not be fetched yet",
        "What to do: ",
        "tell the Source",
        "bad.txt",
        "Retried by the next run",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(serving.page("pending").contains("bad.txt"));
    assert!(serving.page("runs").contains("kind deleted"));
}

#[test]
fn p14_the_pages_of_another_process_show_the_run_under_way_and_the_lag_before_them() {
    let source = FakeSource::start();
    source.put("good.txt", "good");
    source.snapshot();
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy");
    let url = source.capability_list_url();
    let run = instep(["sync", &url]).arg(&copy).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let serving = Serving::spawn(instep(["status", "--listen", "127.0.0.1:0", "--json"]).arg(&copy));
    // This process has taken no samples, so the points are those of the state.
    let page = serving.page("?range=30d");
    assert!(page.contains("the most in the last 30 days was"), "{page}");
    assert!(!page.contains("Throughput by host"), "{page}");

    source.put("slow.bin", "x".repeat(4_000));
    source.fail_always("slow.bin", Fault::Drip(Duration::from_millis(20)));
    source.snapshot();
    let mut sync = instep(["sync", &url, "--retries", "0"]);
    let mut sync = sync.arg(&copy).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let page = serving.wait_for("", |page| page.contains("In flight") && page.contains("slow.bin"));
    assert!(page.contains("Throughput by host") && page.contains("0 of 1 resource"), "{page}");
    let status = Run::of(instep(["status"]).arg(&copy)).with_code(0).stdout;
    assert!(status.contains("Now         fetching, 0 of 1 resource, "), "{status}");
    sync.kill().unwrap();
    sync.wait().unwrap();
    // A killed process is not shown as running.
    serving.wait_for("", |page| !page.contains("In flight"));
}

#[test]
fn c8_a_page_of_another_site_cannot_read_the_pages_of_a_copy() {
    let folder = folder(&[("a.txt", "abc")]);
    let source = Serving::start(folder.path(), &[]);
    let copy = tempfile::tempdir().unwrap();
    let run = instep(["sync", &*source.base]).arg(copy.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let serving = Serving::spawn(instep(["status", "--listen", "127.0.0.1:0", "--json"]).arg(copy.path()));
    assert_eq!(serving.get("status", PROGRAM).status, 200);
    assert_eq!(serving.get_as("status", "evil.example", PROGRAM).status, 421);
}
