//! Sources that are added twice, or asked for what they cannot do, and a copy that cannot be read.

use std::fs;

use serde_json::json;

use crate::support::{FleetFolder, Running, as_ada, get};

#[test]
fn o172_a_url_is_added_once_by_the_api_too_unless_it_gets_a_name() {
    let fleet = FleetFolder::new();
    let run = fleet.start(&[]);
    let add = |body: serde_json::Value| as_ada(&run, "POST /api/v1/sources", &body.to_string());
    assert_eq!(add(json!({ "url": "http://127.0.0.1:1/letters/" })).status, 201);
    for again in ["http://127.0.0.1:1/letters/", "HTTP://127.0.0.1:1/letters/#top"] {
        let answer = add(json!({ "url": again }));
        assert_eq!(answer.status, 409, "{}", answer.body);
        assert!(answer.body.contains("is kept already, as 127.0.0.1-1"), "{}", answer.body);
    }
    fleet.ends(&["add", "http://127.0.0.1:1/letters/#top"], 2);
    assert_eq!(add(json!({ "url": "http://127.0.0.1:1/letters/", "name": "second" })).status, 201);
    assert_eq!(get(&run, "/api/v1/sources").json()["matching"], 2);
}

#[test]
fn o173_a_pause_ends_at_a_time_that_can_be_written() {
    let fleet = FleetFolder::new();
    let add = fleet.source(&["add", "https://a.example/", "--every", "99999999999999h"]).with_code(2);
    assert!(add.stderr.contains("every: at most 36500d"), "{}", add.stderr);
    fleet.ends(&["add", "https://a.example/", "--every", "36500d"], 0);
    for option in ["--shortest", "--longest"] {
        let run = instep_testkit::Run::of(&mut fleet.command(&["run", option, "36501d"])).with_code(2);
        assert!(run.stderr.contains(&format!("{option}: at most 36500d")), "{}", run.stderr);
    }
}

#[test]
fn o174_no_run_of_a_source_that_waits_for_approval_can_be_requested() {
    let fleet = FleetFolder::new();
    let served = Running::source(&fleet.data("data", 1));
    fleet.ends(&["add", &served.url, "--name", "a", "--approve"], 0);
    let run = fleet.start(&[]);
    fleet.wait_for("a", "waiting");
    let refused = fleet.source(&["run", "a"]).with_code(2);
    assert!(refused.stderr.contains("Source a waits for approval"), "{}", refused.stderr);
    assert_eq!(as_ada(&run, "POST /api/v1/sources/a/run", "").status, 409);
    fleet.ends(&["approve", "a"], 0);
    fleet.wait_for("a", "in-step");
}

#[test]
fn a_source_that_was_never_visited_has_pages_without_a_copy() {
    let fleet = FleetFolder::new();
    let served = Running::source(&fleet.data("data", 1));
    fleet.ends(&["add", &served.url, "--name", "a", "--every", "1h"], 0);
    fleet.ends(&["pause", "a"], 0);
    let run = fleet.start(&[]);
    for page in ["", "runs", "pending"] {
        let body = get(&run, &format!("/source/a/{page}")).body;
        assert!(body.contains("There is no copy of"), "{page}: {body}");
    }
}

#[test]
fn o198_a_copy_whose_state_cannot_be_read_is_shown_as_such_and_not_as_none() {
    let fleet = FleetFolder::new();
    let served = Running::source(&fleet.data("data", 1));
    fleet.ends(&["add", &served.url, "--name", "a", "--every", "1h"], 0);
    let run = fleet.start(&[]);
    fleet.wait_for("a", "in-step");
    fs::write(fleet.path("damaged"), "x".repeat(8_192)).unwrap();
    fs::rename(fleet.path("damaged"), fleet.path("fleet/a/.instep/state.sqlite")).unwrap();
    let shows = |part: &str| get(&run, "/source/a/").body.contains(part);
    instep_testkit::wait_until("the fault is shown", || shows("The copy cannot be read"));
    assert!(!shows("There is no copy of"));
}
